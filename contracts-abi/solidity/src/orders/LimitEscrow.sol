// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Constants} from "../Constants.sol";
import {ILimitEscrow} from "../interfaces/ILimitEscrow.sol";
import {BuyEscrow} from "./BuyEscrow.sol";
import {OrderEscrow} from "./OrderEscrow.sol";

/// Resting buys, each filled once with all that it escrows.
contract LimitEscrow is ILimitEscrow, BuyEscrow {
    mapping(bytes32 id => uint256) private _triggerNav;

    constructor(address usdg, address registry, address oracle, address zapper, address pause)
        OrderEscrow(usdg, registry, oracle, zapper, pause)
    {}

    /// Escrows the sender's USDG, at least $5. The event and `orderOf` carry the tolerances as resolved.
    /// @inheritdoc ILimitEscrow
    function create(LimitTerms calldata terms) external nonReentrant returns (bytes32 id) {
        if (terms.amount < Constants.MIN_ORDER) revert BelowMinimum(terms.amount, Constants.MIN_ORDER);
        _requireLifetime(terms.deadline);
        Order storage order;
        (id, order) = _open(terms.vault, usdg, terms.amount, terms.slippageBps, terms.capBps, terms.deadline);
        _triggerNav[id] = terms.triggerNav;
        emit LimitCreated(id, msg.sender, terms.vault, _termsOf(id, order));
    }

    /// All zero for an id that never existed.
    /// @inheritdoc ILimitEscrow
    function orderOf(bytes32 id) external view returns (LimitOrder memory) {
        Order storage order = _orders[id];
        return LimitOrder(order.owner, _armedAt(id, order), order.state, _termsOf(id, order));
    }

    /// Reverts NoReference where there is none now.
    /// @inheritdoc ILimitEscrow
    function floorOf(bytes32 id) external view returns (uint256 minShares) {
        Order storage order = _openOrder(id);
        return _floorOf(id, order, _navsOf(order.vault));
    }

    function _triggerHolds(bytes32 id, uint256 referenceNav) internal view override returns (bool) {
        uint256 triggerNav = _triggerNav[id];
        return triggerNav == 0 || referenceNav <= triggerNav;
    }

    function _floorOf(bytes32 id, Order storage order, Navs memory navs)
        internal
        view
        override
        returns (uint256 minShares)
    {
        return _buyFloor(id, order, order.amount, navs);
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
