// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {SwapCall} from "../interfaces/IBasketZapper.sol";
import {ILimitEscrow} from "../interfaces/ILimitEscrow.sol";
import {FillPricing} from "./FillPricing.sol";
import {OrderEscrow} from "./OrderEscrow.sol";

/// Resting buys. The escrowed amount covers everything: swaps, mint fee and executor fee; the shares go straight to
/// the owner, and so does every base unit that is not spent.
contract LimitEscrow is ILimitEscrow, OrderEscrow {
    using SafeERC20 for IERC20;

    mapping(bytes32 id => uint256) private _triggerNav;

    constructor(address usdg, address registry, address oracle, address zapper, address pause)
        OrderEscrow(usdg, registry, oracle, zapper, pause)
    {}

    /// Escrows the sender's USDG, at least $5. The event and `orderOf` carry the tolerances as resolved.
    /// @inheritdoc ILimitEscrow
    function create(LimitTerms calldata terms) external nonReentrant returns (bytes32 id) {
        if (terms.amount < Constants.MIN_ORDER) revert BelowMinimum(terms.amount, Constants.MIN_ORDER);
        Order storage order;
        (id, order) = _open(terms.vault, usdg, terms.amount, terms.slippageBps, terms.capBps, terms.deadline);
        _triggerNav[id] = terms.triggerNav;
        emit LimitCreated(id, msg.sender, terms.vault, _termsOf(id, order));
    }

    /// All zero for an id that never existed.
    /// @inheritdoc ILimitEscrow
    function orderOf(bytes32 id) external view returns (LimitOrder memory) {
        Order storage order = _orders[id];
        return LimitOrder(order.owner, _armedAt(order), order.state, _termsOf(id, order));
    }

    /// Reverts NoReference where there is none now.
    /// @inheritdoc ILimitEscrow
    function floorOf(bytes32 id) external view returns (uint256 minShares) {
        Order storage order = _openOrder(id);
        return _floorOf(id, order, oracle.referenceNav(order.vault));
    }

    function _triggerHolds(bytes32 id, uint256 referenceNav) internal view override returns (bool) {
        uint256 triggerNav = _triggerNav[id];
        return triggerNav == 0 || referenceNav <= triggerNav;
    }

    function _floorOf(bytes32, Order storage order, uint256 referenceNav)
        internal
        view
        override
        returns (uint256 minShares)
    {
        uint256 nav = Math.min(referenceNav, oracle.spotNav(order.vault));
        return FillPricing.buyFloor(FillPricing.grossWithin(order.amount), nav, _toleranceOf(order));
    }

    function _execute(bytes32 id, Order storage order, uint256 floor, SwapCall[] calldata swaps)
        internal
        override
        returns (Outcome memory done)
    {
        address owner = order.owner;
        uint256 gross = FillPricing.grossWithin(order.amount);
        uint256 budget = gross + FillPricing.mintFee(gross);
        usdg.forceApprove(address(zapper), budget);
        // The floor is checked below, so that missing it says BelowFloor with both figures. It is owed in full
        // however little the swaps spend: a filler gains nothing by buying less.
        (done.shares, done.gross, done.protocolFee) =
            zapper.buy(order.vault, budget, 0, swaps, owner, owner, block.timestamp);
        if (done.shares < floor) revert BelowFloor(id, done.shares, floor);
        done.executorFee = FillPricing.executorFee(done.gross);
        done.net = order.amount - done.gross - done.protocolFee - done.executorFee;
        // The zapper returns what the swaps left of the budget; the rest never left this ledger.
        usdg.safeTransfer(owner, order.amount - budget - done.executorFee);
    }

    function _escrowed(Order storage) internal view override returns (IERC20) {
        return usdg;
    }

    function _termsOf(bytes32 id, Order storage order) private view returns (LimitTerms memory) {
        return LimitTerms({
            vault: order.vault,
            amount: order.amount,
            triggerNav: _triggerNav[id],
            slippageBps: order.slippageBps,
            capBps: order.capBps,
            deadline: order.deadline
        });
    }
}
