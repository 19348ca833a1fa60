// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {SwapCall} from "../interfaces/IBasketZapper.sol";
import {IExitEscrow} from "../interfaces/IExitEscrow.sol";
import {INavOracle} from "../interfaces/INavOracle.sol";
import {FillPricing} from "./FillPricing.sol";
import {OrderEscrow} from "./OrderEscrow.sol";

/// Stop-loss, take-profit and bracket orders. A bracket is one order with two triggers, so one fill ends both legs.
contract ExitEscrow is IExitEscrow, OrderEscrow {
    using SafeERC20 for IERC20;

    /// Dollars x 1e18; zero = none.
    struct Levels {
        uint256 stopNav;
        uint256 tpNav;
        uint256 hardFloorNav;
    }

    mapping(bytes32 id => Levels) private _levels;
    mapping(address owner => mapping(address vault => uint256)) public escrowedShares;

    constructor(address usdg, address registry, address oracle, address zapper, address pause)
        OrderEscrow(usdg, registry, oracle, zapper, pause)
    {}

    /// Escrows the sender's shares, worth at least $5. The event and `orderOf` carry the tolerances as resolved.
    /// Needs no reference now: an order may rest until there is one.
    /// @inheritdoc IExitEscrow
    function create(ExitTerms calldata terms) external nonReentrant returns (bytes32 id) {
        if (terms.stopNav == 0 && terms.tpNav == 0) revert BadTerms("neither stop nor take-profit");
        if (terms.tpNav != 0 && terms.stopNav >= terms.tpNav) revert BadTerms("stop not below take-profit");

        _requireLifetime(terms.deadline);

        Order storage order;
        (id, order) = _open(
            terms.vault, IERC20(terms.vault), terms.shares, terms.slippageBps, terms.capBps, terms.deadline
        );
        uint256 value = FillPricing.valueOf(terms.shares, _navNow(terms.vault));
        if (value < Constants.MIN_ORDER) revert BelowMinimum(value, Constants.MIN_ORDER);
        _levels[id] = Levels(terms.stopNav, terms.tpNav, terms.hardFloorNav);
        escrowedShares[msg.sender][terms.vault] += terms.shares;
        emit ExitCreated(id, msg.sender, terms.vault, _termsOf(id, order));
    }

    /// All zero for an id that never existed.
    /// @inheritdoc IExitEscrow
    function orderOf(bytes32 id) external view returns (ExitOrder memory) {
        Order storage order = _orders[id];
        return ExitOrder(order.owner, _armedAt(id, order), order.state, _termsOf(id, order));
    }

    /// Reverts NoReference where there is none now.
    /// @inheritdoc IExitEscrow
    function floorOf(bytes32 id) external view returns (uint256 minGross) {
        Order storage order = _openOrder(id);
        return _floorOf(id, order, _navsOf(order.vault));
    }

    function _triggerHolds(bytes32 id, uint256 referenceNav) internal view override returns (bool) {
        Levels storage levels = _levels[id];
        return (levels.stopNav != 0 && referenceNav <= levels.stopNav)
            || (levels.tpNav != 0 && referenceNav >= levels.tpNav);
    }

    function _floorOf(bytes32 id, Order storage order, Navs memory navs)
        internal
        view
        override
        returns (uint256 minGross)
    {
        uint256 nav = Math.max(navs.reference_, navs.spot);
        return FillPricing.exitFloor(order.amount, nav, _toleranceOf(id, order), _levels[id].hardFloorNav);
    }

    function _execute(
        bytes32 id,
        Order storage order,
        uint256 shares,
        uint256 floor,
        SwapCall[] calldata swaps
    ) internal override returns (Outcome memory done) {
        done.shares = shares;
        IERC20 vault = IERC20(order.vault);
        vault.forceApprove(address(zapper), shares);
        uint256 received;
        // The floor is checked on gross below, so that missing it says BelowFloor with both figures.
        (received, done.gross, done.protocolFee) =
            zapper.sell(address(vault), shares, 0, swaps, address(this), order.owner, block.timestamp);
        if (done.gross < floor) revert BelowFloor(id, done.gross, floor);
        done.executorFee = FillPricing.executorFee(done.gross);
        done.net = received - done.executorFee;
        usdg.safeTransfer(order.owner, done.net);
    }

    function _close(bytes32 id, Order storage order, State state) internal override {
        super._close(id, order, state);
        escrowedShares[order.owner][order.vault] -= order.amount;
    }

    function _escrowed(Order storage order) internal view override returns (IERC20) {
        return IERC20(order.vault);
    }

    /// The reference where valid, else spot; reverts NoSpot where there is neither.
    function _navNow(address vault) private view returns (uint256 nav) {
        INavOracle.Invalid reason;
        (nav, reason,) = oracle.tryReferenceNav(vault);
        if (reason != INavOracle.Invalid.None) nav = oracle.spotNav(vault);
    }

    function _termsOf(bytes32 id, Order storage order) private view returns (ExitTerms memory) {
        Levels storage levels = _levels[id];
        return ExitTerms({
            vault: order.vault,
            shares: order.amount,
            stopNav: levels.stopNav,
            tpNav: levels.tpNav,
            hardFloorNav: levels.hardFloorNav,
            slippageBps: order.slippageBps,
            capBps: order.capBps,
            deadline: order.deadline
        });
    }
}
