// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {IBasketRegistry} from "../interfaces/IBasketRegistry.sol";
import {IBasketVault, IMintPayer} from "../interfaces/IBasketVault.sol";
import {CodeData} from "../libraries/CodeData.sol";
import {FeeIndex} from "../libraries/FeeIndex.sol";
import {GuardedTransfer} from "../libraries/GuardedTransfer.sol";
import {ShareUnits} from "../libraries/ShareUnits.sol";
import {TokenReads} from "../libraries/TokenReads.sol";
import {GenesisCheck} from "./GenesisCheck.sol";
import {VaultConfig} from "./VaultConfig.sol";

/// One basket's index token. For every constituent, always:
///   balance >= genesisUnits x feeIndex x totalSupply / (RAY x SHARE) + what is owed.
/// Amounts in round up and amounts out round down; a fee mints no more shares than the index has freed. Nobody, no
/// owner and no admin, can move a constituent other than by redeeming shares.
contract BasketVault is IBasketVault, ERC20, ERC20Permit, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;
    using TokenReads for address;

    address public immutable registry;
    uint48 public immutable genesisAt;
    uint16 public immutable managementFeeBps;
    uint256 private immutable _feeRate;
    uint256 public immutable constituentCount;
    /// abi.encode(constituents, decimals, a word for the fee index), as code: nothing of it ever changes.
    address private immutable _composition;

    uint256 private _accruedIndex = Constants.RAY; // the index that the supply already reflects
    mapping(address creditor => mapping(address token => uint256)) public owed;

    /// Pulls the constituents of `seedShares` from the deployer, who approves this address beforehand; locks one share
    /// at DEAD (rule 7) and mints the rest to `seedTo`. Reverts InvalidConstituents or PriceOffStated where the
    /// configuration does not hold against the factory and the pools (rule 3).
    constructor(VaultConfig memory config) ERC20(config.name, config.symbol) ERC20Permit(config.name) {
        uint8[] memory decimals_ = GenesisCheck.check(config);
        _composition = CodeData.write(abi.encode(config.constituents, decimals_, 0));
        constituentCount = config.constituents.length;
        registry = config.registry;
        genesisAt = uint48(block.timestamp);
        managementFeeBps = config.managementFeeBps;
        _feeRate = FeeIndex.ratePerYear(config.managementFeeBps);

        if (config.seedShares < Constants.SHARE) revert SeedTooSmall(config.seedShares);
        uint256[] memory amounts = new uint256[](config.constituents.length);
        for (uint256 i; i < amounts.length; ++i) {
            amounts[i] = ShareUnits.amountOf(
                config.constituents[i].genesisUnits, config.seedShares, Constants.RAY, Math.Rounding.Ceil
            );
            _pull(config.constituents[i].token, amounts[i]);
        }
        _mint(Constants.DEAD, Constants.SHARE);
        if (config.seedShares > Constants.SHARE) _mint(config.seedTo, config.seedShares - Constants.SHARE);
        emit Minted(msg.sender, config.seedTo, config.seedShares, amounts);
    }

    /// Mints exactly `shares` (1e18 units) to `to`; pulls `previewMint(shares)` from the sender.
    function mint(uint256 shares, address to) external nonReentrant returns (uint256[] memory amounts) {
        Constituent[] memory parts;
        (parts, amounts) = _due(shares);
        for (uint256 i; i < amounts.length; ++i) {
            _pull(parts[i].token, amounts[i]);
        }
        _issue(to, shares, amounts);
    }

    /// As `mint`, but the sender is asked to pay instead of being pulled from. Nothing of this vault can run meanwhile,
    /// so whatever has arrived by the end was paid for these shares alone.
    function mintOnPayment(uint256 shares, address to)
        external
        nonReentrant
        returns (uint256[] memory amounts)
    {
        Constituent[] memory parts;
        (parts, amounts) = _due(shares);
        address[] memory tokens = new address[](amounts.length);
        uint256[] memory held = new uint256[](amounts.length);
        for (uint256 i; i < amounts.length; ++i) {
            tokens[i] = parts[i].token;
            held[i] = tokens[i].balanceOf(address(this));
        }
        IMintPayer(msg.sender).payForMint(tokens, amounts);
        for (uint256 i; i < amounts.length; ++i) {
            if (tokens[i].balanceOf(address(this)) < held[i] + amounts[i]) revert TokenTookFee(tokens[i]);
        }
        _issue(to, shares, amounts);
    }

    /// Burns `shares` of the sender and sends the constituents to `to`, free of charge and whatever any single token
    /// does (rule 8): what a token refuses to move is credited in `owed` and reads zero in `amounts`.
    function redeem(uint256 shares, address to) external nonReentrant returns (uint256[] memory amounts) {
        if (shares == 0) revert ZeroShares();
        _refuseReceiver(to);
        uint256 index = feeIndex();
        _accrue(index);
        Constituent[] memory parts = _parts();
        amounts = _amounts(parts, shares, index, Math.Rounding.Floor);
        _burn(msg.sender, shares);
        for (uint256 i; i < amounts.length; ++i) {
            uint256 amount = amounts[i];
            address token = parts[i].token;
            if (amount == 0 || GuardedTransfer.tryTransfer(token, to, amount)) continue;
            amounts[i] = 0;
            owed[msg.sender][token] += amount;
            emit TransferOwed(msg.sender, token, amount);
        }
        emit Redeemed(msg.sender, to, shares, amounts);
    }

    /// Pays the sender's credit in `token` to any address of the sender's choice; reverts while the token refuses.
    function claimOwed(address token, address to) external nonReentrant returns (uint256 amount) {
        _refuseReceiver(to);
        amount = owed[msg.sender][token];
        if (amount == 0) revert NothingOwed();
        owed[msg.sender][token] = 0;
        IERC20(token).safeTransfer(to, amount);
        emit OwedClaimed(msg.sender, token, to, amount);
    }

    function accrueFee() external nonReentrant returns (uint256 feeShares) {
        return _accrue(feeIndex());
    }

    /// The stored answer, with the index put into its third word.
    /// @inheritdoc IBasketVault
    function composition() external view returns (Constituent[] memory, uint8[] memory, uint256) {
        uint256 index = feeIndex();
        bytes memory answer = CodeData.read(_composition);
        assembly ("memory-safe") {
            mstore(add(answer, 96), index)
            return(add(answer, 32), mload(answer))
        }
    }

    function constituents() external view returns (Constituent[] memory) {
        return _parts();
    }

    function tokenDecimals() external view returns (uint8[] memory decimals_) {
        (, decimals_,) = abi.decode(CodeData.read(_composition), (Constituent[], uint8[], uint256));
    }

    function unitsPerShare() external view returns (uint256[] memory) {
        return previewRedeem(Constants.SHARE);
    }

    function previewMint(uint256 shares) public view returns (uint256[] memory amounts) {
        return _amounts(_parts(), shares, feeIndex(), Math.Rounding.Ceil);
    }

    function previewRedeem(uint256 shares) public view returns (uint256[] memory amounts) {
        return _amounts(_parts(), shares, feeIndex(), Math.Rounding.Floor);
    }

    /// RAY at genesis, times (1 - fee) every 365 days; to the nearest 1e-27.
    function feeIndex() public view returns (uint256) {
        return feeIndexAt(block.timestamp);
    }

    function feeIndexAt(uint256 time) public view returns (uint256) {
        return FeeIndex.indexAt(_feeRate, time > genesisAt ? time - genesisAt : 0);
    }

    /// What `shares` cost now, the fee accrued.
    function _due(uint256 shares) private returns (Constituent[] memory parts, uint256[] memory amounts) {
        if (shares == 0) revert ZeroShares();
        uint256 index = feeIndex();
        _accrue(index);
        parts = _parts();
        amounts = _amounts(parts, shares, index, Math.Rounding.Ceil);
    }

    function _issue(address to, uint256 shares, uint256[] memory amounts) private {
        _mint(to, shares);
        emit Minted(msg.sender, to, shares, amounts);
    }

    /// Supply x index stays what it was, so that every other holder's claim is exactly what the index says. Rounded
    /// down; where that leaves nothing, the index stays unaccrued too, so no poke can wear the fee away.
    function _accrue(uint256 index) private returns (uint256 feeShares) {
        uint256 supply = totalSupply();
        feeShares = Math.mulDiv(supply, _accruedIndex, index) - supply;
        if (feeShares == 0) return 0;
        _accruedIndex = index;
        address recipient = IBasketRegistry(registry).treasury();
        _mint(recipient, feeShares);
        emit FeeAccrued(recipient, feeShares, index);
    }

    /// Five words each lie in the code as they do in memory; an array in memory only wants pointers to them.
    function _parts() private view returns (Constituent[] memory parts) {
        uint256 count = constituentCount;
        address store = _composition;
        assembly ("memory-safe") {
            parts := mload(0x40)
            let next := add(parts, 32)
            let part := add(next, mul(32, count))
            mstore(0x40, add(part, mul(160, count)))
            mstore(parts, count)
            // Behind STOP, the three words of the head and the array's length.
            extcodecopy(store, part, 129, mul(160, count))
            for {} lt(next, add(parts, mul(32, add(count, 1)))) { next := add(next, 32) } {
                mstore(next, part)
                part := add(part, 160)
            }
        }
    }

    function _amounts(Constituent[] memory parts, uint256 shares, uint256 index, Math.Rounding rounding)
        private
        pure
        returns (uint256[] memory amounts)
    {
        amounts = new uint256[](parts.length);
        for (uint256 i; i < amounts.length; ++i) {
            amounts[i] = ShareUnits.amountOf(parts[i].genesisUnits, shares, index, rounding);
        }
    }

    function _pull(address token, uint256 amount) private {
        uint256 before = token.balanceOf(address(this));
        IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
        if (token.balanceOf(address(this)) < before + amount) revert TokenTookFee(token);
    }

    function _refuseReceiver(address to) private view {
        if (to == address(0) || to == address(this)) revert InvalidReceiver(to);
    }
}
