// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {Constants} from "../Constants.sol";
import {IBasketRegistry} from "../interfaces/IBasketRegistry.sol";
import {IBasketVault} from "../interfaces/IBasketVault.sol";

/// The list of baskets. It only ever grows, and nothing in it changes (rule 26): an entry carries no power over its
/// vault, and no owner can move one to another vault.
contract BasketRegistry is IBasketRegistry, Ownable2Step {
    struct Proposal {
        Basket basket;
        uint48 appendableAt; // zero when there is none
    }

    address public treasury;
    bool public isSealed;
    Basket[] private _baskets;
    mapping(bytes32 ticker => uint256 indexPlusOne) private _indexOfTicker;
    mapping(address vault => uint256 indexPlusOne) private _indexOfVault;
    mapping(bytes32 ticker => Proposal) private _proposals;

    constructor(address owner_, address treasury_) Ownable(owner_) {
        _setTreasury(treasury_);
    }

    /// Owner, before `seal`: appends at once.
    function appendGenesis(Basket calldata basket) external onlyOwner {
        if (isSealed) revert AlreadySealed();
        _append(basket);
    }

    /// Owner, once. From here on the timelock rules.
    function seal() external onlyOwner {
        if (isSealed) revert AlreadySealed();
        isSealed = true;
        emit Sealed();
    }

    /// Owner. Proposing a ticker again replaces what was proposed and starts the seven days anew.
    function propose(Basket calldata basket) external onlyOwner {
        if (!isSealed) revert NotSealed();
        _check(basket);
        Proposal storage proposal = _proposals[_key(basket.ticker)];
        proposal.basket = basket;
        proposal.appendableAt = uint48(block.timestamp + Constants.REGISTRY_TIMELOCK);
        emit BasketProposed(basket.ticker, basket.vault, proposal.appendableAt);
    }

    /// Owner, at or after `appendableAt`.
    function append(string calldata ticker) external onlyOwner {
        bytes32 key = _key(ticker);
        Proposal memory proposal = _proposals[key];
        if (proposal.appendableAt == 0) revert NotProposed();
        if (block.timestamp < proposal.appendableAt) revert TimelockRunning(proposal.appendableAt);
        delete _proposals[key];
        _append(proposal.basket);
    }

    /// Owner. Where fees go; never zero, so that an accrual cannot fail.
    function setTreasury(address treasury_) external onlyOwner {
        _setTreasury(treasury_);
    }

    function basketOf(string calldata ticker) external view returns (Basket memory) {
        uint256 index = _indexOfTicker[_key(ticker)];
        if (index == 0) revert UnknownTicker(ticker);
        return _baskets[index - 1];
    }

    function basketOfVault(address vault) external view returns (Basket memory) {
        uint256 index = _indexOfVault[vault];
        if (index == 0) revert UnknownVault(vault);
        return _baskets[index - 1];
    }

    function baskets() external view returns (Basket[] memory) {
        return _baskets;
    }

    function basketCount() external view returns (uint256) {
        return _baskets.length;
    }

    function isVault(address vault) external view returns (bool) {
        return _indexOfVault[vault] != 0;
    }

    function ordersEnabled(address vault) external view returns (bool) {
        uint256 index = _indexOfVault[vault];
        return index != 0 && _baskets[index - 1].ordersEnabled;
    }

    function proposalOf(string calldata ticker) external view returns (Basket memory, uint48 appendableAt) {
        Proposal storage proposal = _proposals[_key(ticker)];
        return (proposal.basket, proposal.appendableAt);
    }

    function _append(Basket memory basket) private {
        _check(basket);
        _baskets.push(basket);
        _indexOfTicker[_key(basket.ticker)] = _baskets.length;
        _indexOfVault[basket.vault] = _baskets.length;
        emit BasketAppended(basket.ticker, basket.vault, _baskets.length - 1);
    }

    function _check(Basket memory basket) private view {
        if (bytes(basket.ticker).length == 0) revert InvalidBasket("ticker");
        if (_indexOfTicker[_key(basket.ticker)] != 0 || _indexOfVault[basket.vault] != 0) {
            revert AlreadyRegistered();
        }
        // A vault that pays its fees elsewhere would belong to another protocol.
        if (basket.vault.code.length == 0 || IBasketVault(basket.vault).registry() != address(this)) {
            revert InvalidBasket("vault");
        }
    }

    function _setTreasury(address treasury_) private {
        if (treasury_ == address(0)) revert ZeroTreasury();
        treasury = treasury_;
        emit TreasuryChanged(treasury_);
    }

    function _key(string memory ticker) private pure returns (bytes32) {
        return keccak256(bytes(ticker));
    }
}
