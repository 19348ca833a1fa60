// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Constants} from "../Constants.sol";
import {IBasketRegistry} from "../interfaces/IBasketRegistry.sol";
import {IBasketZapper, SwapCall} from "../interfaces/IBasketZapper.sol";
import {INavOracle} from "../interfaces/INavOracle.sol";
import {IOrderEscrow} from "../interfaces/IOrderEscrow.sol";
import {IProtocolPause} from "../interfaces/IProtocolPause.sol";
import {FillPricing} from "./FillPricing.sol";
import {PriceAuction} from "./PriceAuction.sol";

/// The life of an order that escrows one amount of one token: filled once, or in the parts that its kind decides.
///
/// What must hold:
/// - Every base unit of the ledger leaves exactly once: into a fill of its own order, or to its owner.
/// - Amounts come from the order's own ledger and from the zapper's return values, never from a balance, so
///   donations and other orders' troubles change nothing (rule 9).
/// - `cancel` and `sendBack` read no oracle, registry, zapper or pause: nothing can hold an order back.
/// - State is final before any token moves.
///
/// Time (rule 27): an order can be filled while now < deadline and sent back once now >= deadline. A transaction
/// forced through the parent chain may carry a timestamp up to a day old: it can then fill or arm an order that has
/// just expired, at the prices of that block and never below the floor; it can never bring a closed order back.
abstract contract OrderEscrow is IOrderEscrow, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// What every order has. `amount` is the escrowed ledger: live while `state` is Open.
    struct Order {
        address owner;
        uint48 armedAt;
        State state;
        uint16 slippageBps;
        uint16 capBps;
        address vault;
        uint48 deadline;
        uint256 amount;
    }

    /// Dollars x 1e18 a share, from one look at the pools.
    struct Navs {
        uint256 reference_;
        uint256 spot;
    }

    /// What a fill did; as in OrderFilled.
    struct Outcome {
        uint256 shares;
        uint256 gross;
        uint256 protocolFee;
        uint256 executorFee;
        uint256 net;
    }

    IERC20 public immutable usdg;
    IBasketRegistry public immutable registry;
    INavOracle public immutable oracle;
    IBasketZapper public immutable zapper;
    IProtocolPause public immutable pause;
    address public immutable router;

    uint256 public orderCount;
    mapping(bytes32 id => Order) internal _orders;

    constructor(address usdg_, address registry_, address oracle_, address zapper_, address pause_) {
        usdg = IERC20(usdg_);
        registry = IBasketRegistry(registry_);
        oracle = INavOracle(oracle_);
        zapper = IBasketZapper(zapper_);
        pause = IProtocolPause(pause_);
        router = IBasketZapper(zapper_).router();
        if (IBasketZapper(zapper_).usdg() != usdg_) revert BadTerms("usdg");
    }

    // ---------------------------------------------------------------- the life of an order

    /// @inheritdoc IOrderEscrow
    function fill(bytes32 id, SwapCall[] calldata swaps, address executor)
        external
        nonReentrant
        returns (uint256 executorFee)
    {
        Order storage order = _openOrder(id);
        if (pause.paused()) revert Paused();
        if (_isExpired(order)) revert OrderIsExpired(id);
        address payee = _payee(order.vault, executor);
        // Before the swaps move the spot price, and with the tolerance that the arming below is about to clear.
        uint256 floor = _floorOf(id, order, _requireTrigger(id, _navsOnce(order.vault)));
        uint256 amount = _take(id, order);

        Outcome memory done = _execute(id, order, amount, floor, swaps);
        usdg.safeTransfer(payee, done.executorFee);
        emit OrderFilled(
            id,
            order.owner,
            order.vault,
            payee,
            done.shares,
            done.gross,
            done.protocolFee,
            done.executorFee,
            done.net
        );
        return done.executorFee;
    }

    /// @inheritdoc IOrderEscrow
    function arm(bytes32 id) external nonReentrant {
        Order storage order = _openOrder(id);
        if (pause.paused()) revert Paused();
        if (_isExpired(order)) revert OrderIsExpired(id);
        if (_armedAt(id, order) != 0) revert AlreadyArmed(id, order.armedAt);
        _requireTrigger(id, _navsOnce(order.vault));
        order.armedAt = uint48(block.timestamp);
        emit OrderArmed(id, uint48(block.timestamp));
    }

    /// Reverts NoReference where the trigger cannot be known: nobody may stop an auction by blinding the oracle.
    /// @inheritdoc IOrderEscrow
    function disarm(bytes32 id) external nonReentrant {
        Order storage order = _openOrder(id);
        if (_armedAt(id, order) == 0) revert NotArmed(id);
        uint256 referenceNav = oracle.referenceNav(order.vault);
        if (_triggerHolds(id, referenceNav)) revert StillTriggered(id, referenceNav);
        order.armedAt = 0;
        emit OrderDisarmed(id);
    }

    /// @inheritdoc IOrderEscrow
    function cancel(bytes32 id) external nonReentrant {
        Order storage order = _openOrder(id);
        if (msg.sender != order.owner) revert NotOwner(id);
        emit OrderCancelled(id, order.owner);
        _sendHome(id, order, State.Cancelled);
    }

    /// @inheritdoc IOrderEscrow
    function sendBack(bytes32 id) external nonReentrant {
        Order storage order = _openOrder(id);
        if (!_isExpired(order)) revert NotExpired(id);
        emit OrderExpired(id, order.owner);
        _sendHome(id, order, State.Expired);
    }

    // ---------------------------------------------------------------- reads

    /// None for an id that never existed.
    /// @inheritdoc IOrderEscrow
    function stateOf(bytes32 id) external view returns (State) {
        return _orders[id].state;
    }

    /// Zero for an id that never existed.
    /// @inheritdoc IOrderEscrow
    function ownerOf(bytes32 id) external view returns (address) {
        return _orders[id].owner;
    }

    /// @inheritdoc IOrderEscrow
    function triggered(bytes32 id) external view returns (bool isTriggered, uint256 referenceNav) {
        Order storage order = _knownOrder(id);
        INavOracle.Invalid reason;
        (referenceNav, reason,) = oracle.tryReferenceNav(order.vault);
        isTriggered = reason == INavOracle.Invalid.None && order.state == State.Open && !_isExpired(order)
            && !pause.paused() && _triggerHolds(id, referenceNav);
    }

    /// @inheritdoc IOrderEscrow
    function toleranceBps(bytes32 id) external view returns (uint16) {
        return uint16(_toleranceOf(id, _knownOrder(id)));
    }

    /// Zero once the arming has run out.
    /// @inheritdoc IOrderEscrow
    function armedAt(bytes32 id) external view returns (uint48) {
        return _armedAt(id, _orders[id]);
    }

    /// @inheritdoc IOrderEscrow
    function executorFeeOf(uint256 gross) external pure returns (uint256) {
        return FillPricing.executorFee(gross);
    }

    // ---------------------------------------------------------------- what a kind of order decides

    /// Whether the order's trigger holds at a valid reference.
    function _triggerHolds(bytes32 id, uint256 referenceNav) internal view virtual returns (bool);

    /// Least result of a fill at these NAVs and the tolerance now (rule 10).
    function _floorOf(bytes32 id, Order storage order, Navs memory navs)
        internal
        view
        virtual
        returns (uint256);

    /// Runs the fill of `amount` through the zapper, pays the owner, and leaves exactly `executorFee` for the caller
    /// to pay. The order is in its final state by then.
    function _execute(
        bytes32 id,
        Order storage order,
        uint256 amount,
        uint256 floor,
        SwapCall[] calldata swaps
    ) internal virtual returns (Outcome memory);

    /// The token that the order escrows.
    function _escrowed(Order storage order) internal view virtual returns (IERC20);

    /// Takes out of the ledger what the fill of this moment may use, clears the arming, and closes the order where
    /// that ends it.
    function _take(bytes32 id, Order storage order) internal virtual returns (uint256 amount) {
        amount = order.amount;
        _close(id, order, State.Filled);
    }

    /// Every way in which an order ends comes through here, once, before any token moves.
    function _close(bytes32, Order storage order, State state) internal virtual {
        order.state = state;
        order.armedAt = 0;
    }

    /// When the arming that counts now happened, whether it has run out or not; zero for none.
    function _armingOf(bytes32, Order storage order) internal view virtual returns (uint48) {
        return order.armedAt;
    }

    // ---------------------------------------------------------------- shared steps

    /// Opens an order of the sender (rule 9) and pulls exactly `amount`. The id exists before the token moves.
    function _open(
        address vault,
        IERC20 token,
        uint256 amount,
        uint16 slippageBps,
        uint16 capBps,
        uint48 deadline
    ) internal returns (bytes32 id, Order storage order) {
        if (!registry.ordersEnabled(vault)) revert OrdersDisabled(vault);
        id = keccak256(abi.encode(block.chainid, address(this), msg.sender, orderCount++));
        order = _orders[id];
        order.owner = msg.sender;
        order.state = State.Open;
        (order.slippageBps, order.capBps) = _tolerances(slippageBps, capBps);
        order.vault = vault;
        order.deadline = deadline;
        order.amount = amount;

        uint256 held = token.balanceOf(address(this));
        token.safeTransferFrom(msg.sender, address(this), amount);
        // A token that keeps part of a transfer would let one order be paid out of another's escrow.
        if (token.balanceOf(address(this)) - held != amount) revert BadTerms("transfer");
    }

    /// Of orders whose owner names a deadline.
    function _requireLifetime(uint48 deadline) internal view {
        if (deadline < block.timestamp + Constants.MIN_ORDER_LIFETIME) revert BadTerms("deadline too soon");
        if (deadline > block.timestamp + Constants.MAX_ORDER_LIFETIME + Constants.ORDER_LIFETIME_SLACK) {
            revert BadTerms("deadline too far");
        }
    }

    /// Zero asks for the default; base <= cap <= 500 bps (rule 11).
    function _tolerances(uint16 slippageBps, uint16 capBps) private pure returns (uint16 base, uint16 cap) {
        base = slippageBps == 0 ? uint16(Constants.ORDER_TOLERANCE_BPS) : slippageBps;
        cap = capBps == 0 ? uint16(Constants.MAX_ORDER_TOLERANCE_BPS) : capBps;
        if (cap > Constants.MAX_ORDER_TOLERANCE_BPS) revert BadTerms("cap above 500 bps");
        if (base > cap) revert BadTerms("slippage above cap");
    }

    function _sendHome(bytes32 id, Order storage order, State state) private {
        _close(id, order, state);
        _escrowed(order).safeTransfer(order.owner, order.amount);
    }

    /// The same NAVs, when the reference triggers the order; reverts NotTriggered.
    function _requireTrigger(bytes32 id, Navs memory navs) internal view returns (Navs memory) {
        if (!_triggerHolds(id, navs.reference_)) revert NotTriggered(id, navs.reference_);
        return navs;
    }

    /// Of a transaction that may fill more orders of this vault. Reverts NoReference or NoSpot, as `_navsOf`.
    function _navsOnce(address vault) private returns (Navs memory navs) {
        (navs.reference_, navs.spot) = oracle.navsOnce(vault);
    }

    function _navsOf(address vault) internal view returns (Navs memory navs) {
        (navs.reference_, navs.spot) = oracle.navs(vault);
    }

    /// Rule 12: zero means the sender; none of the protocol's own addresses, where a fee would be lost or be
    /// mistaken for somebody's funds.
    function _payee(address vault, address executor) private view returns (address payee) {
        payee = executor == address(0) ? msg.sender : executor;
        if (
            payee == address(this) || payee == vault || payee == address(zapper) || payee == address(usdg)
                || payee == address(registry) || payee == address(oracle) || payee == router
                || payee == address(pause)
        ) revert BadExecutor(payee);
    }

    function _knownOrder(bytes32 id) internal view returns (Order storage order) {
        order = _orders[id];
        if (order.state == State.None) revert UnknownOrder(id);
    }

    function _openOrder(bytes32 id) internal view returns (Order storage order) {
        order = _knownOrder(id);
        if (order.state != State.Open) revert NotOpen(id, order.state);
    }

    function _toleranceOf(bytes32 id, Order storage order) internal view returns (uint256) {
        return
            PriceAuction.toleranceBps(order.slippageBps, order.capBps, _armingOf(id, order), block.timestamp);
    }

    /// Zero unless armed now.
    function _armedAt(bytes32 id, Order storage order) internal view returns (uint48) {
        uint48 arming = _armingOf(id, order);
        return PriceAuction.isArmed(arming, block.timestamp) ? arming : 0;
    }

    function _isExpired(Order storage order) private view returns (bool) {
        return block.timestamp >= order.deadline;
    }
}
