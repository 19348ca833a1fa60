// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {NavOracle} from "../basket/NavOracle.sol";
import {IBasketRegistry} from "../interfaces/IBasketRegistry.sol";
import {ICoverMarket} from "../interfaces/ICoverMarket.sol";
import {INavOracle} from "../interfaces/INavOracle.sol";
import {IProtocolPause} from "../interfaces/IProtocolPause.sol";
import {GuardedTransfer} from "../libraries/GuardedTransfer.sol";

/// The market's money. Every base unit of USDG that it holds, donations apart, is one of:
///   what listings have open, what unpaid positions have locked (cover, premium and fee), credits, the fee pool.
/// USDG comes in by `_pull` alone, exactly; it goes out by `_pay`, which cannot fail, or to who asked for his own.
///
/// The fee pool has two sources, fees of paid positions and `fundFees`, and keeps no account of which is which: it pays
/// rewards, and above its reserve the treasury. What is funded is a gift, and no claim on anything.
abstract contract CoverLedger is ICoverMarket, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    IERC20 public immutable usdg;
    IBasketRegistry public immutable registry;
    INavOracle public immutable oracle;
    IProtocolPause public immutable pause;

    uint256 public feePool;
    uint256 public positionCount;
    mapping(uint256 positionId => Position) internal _positions;
    mapping(uint32 week => mapping(address vault => Market)) internal _markets;
    mapping(address creditor => uint256) public credits;

    constructor(address usdg_, address registry_, address oracle_, address pause_) {
        if (NavOracle(oracle_).usdg() != usdg_) revert BadTerms("usdg");
        if (registry_.code.length == 0) revert BadTerms("registry");
        if (pause_.code.length == 0) revert BadTerms("pause");
        usdg = IERC20(usdg_);
        registry = IBasketRegistry(registry_);
        oracle = INavOracle(oracle_);
        pause = IProtocolPause(pause_);
    }

    /// @inheritdoc ICoverMarket
    function claim(address to) external nonReentrant returns (uint256 amount) {
        if (to == address(this)) revert BadReceiver(to);
        amount = credits[msg.sender];
        if (amount == 0) revert NothingOwed();
        credits[msg.sender] = 0;
        emit Claimed(msg.sender, to, amount);
        usdg.safeTransfer(to, amount);
    }

    /// @inheritdoc ICoverMarket
    function fundFees(uint256 amount) external nonReentrant {
        if (amount == 0) revert NothingToFund();
        feePool += amount;
        emit FeesFunded(msg.sender, amount);
        _pull(amount);
    }

    /// @inheritdoc ICoverMarket
    function collectFees() external nonReentrant returns (uint256 amount) {
        if (feePool <= Constants.COVER_FEE_RESERVE) revert NothingOwed();
        amount = feePool - Constants.COVER_FEE_RESERVE;
        feePool = Constants.COVER_FEE_RESERVE;
        address treasury = registry.treasury();
        emit FeesCollected(treasury, amount);
        usdg.safeTransfer(treasury, amount);
    }

    /// All zero for an id that does not exist.
    /// @inheritdoc ICoverMarket
    function positionOf(uint256 positionId) external view returns (Position memory) {
        return _positions[positionId];
    }

    /// @inheritdoc ICoverMarket
    function marketOf(uint32 week, address vault) external view returns (Market memory) {
        return _markets[week][vault];
    }

    /// Pulls exactly `amount` of the sender: a token that kept part of it would let one lock be paid out of another.
    function _pull(uint256 amount) internal {
        uint256 held = usdg.balanceOf(address(this));
        usdg.safeTransferFrom(msg.sender, address(this), amount);
        if (usdg.balanceOf(address(this)) - held != amount) revert BadTerms("transfer");
    }

    /// Rule 25: what cannot be delivered becomes a credit. Reverts for want of gas alone.
    function _pay(address to, uint256 amount) internal {
        if (amount == 0 || GuardedTransfer.tryTransfer(address(usdg), to, amount)) return;
        credits[to] += amount;
        emit Credited(to, amount);
    }

    /// What of `due` the fee pool still has, taken out of it.
    function _takeReward(uint256 due) internal returns (uint256 reward) {
        reward = Math.min(due, feePool);
        feePool -= reward;
    }

    /// Zero means the sender; none of the protocol's own addresses, where a reward would be lost or be mistaken for
    /// somebody's funds.
    function _payee(address executor) internal view returns (address payee) {
        payee = executor == address(0) ? msg.sender : executor;
        if (
            payee == address(this) || payee == address(usdg) || payee == address(oracle)
                || payee == address(registry) || payee == address(pause)
        ) revert BadExecutor(payee);
    }
}
