// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "./IBasketZapper.sol";

/// What exits, limits and schedules share. Ids are keccak256(abi.encode(chainid, escrow, owner, counter)), the counter
/// the escrow's own. NAVs are dollars x 1e18. The tolerance is `slippageBps` until armed, then widens linearly to
/// `capBps` over 30 minutes; 60 minutes after arming it is the base again (rule 11).
interface IOrderEscrow {
    enum State {
        None,
        Open,
        Filled,
        Cancelled,
        Expired
    }

    /// `net`: USDG paid to an exit's owner; USDG refunded to a buy's owner. A schedule tells one for each slot that is
    /// filled, and is over only when `stateOf` says so.
    event OrderFilled(
        bytes32 indexed id,
        address indexed owner,
        address indexed vault,
        address executor,
        uint256 shares,
        uint256 gross,
        uint256 protocolFee,
        uint256 executorFee,
        uint256 net
    );
    event OrderCancelled(bytes32 indexed id, address indexed owner);
    event OrderExpired(bytes32 indexed id, address indexed owner);
    event OrderArmed(bytes32 indexed id, uint48 armedAt);
    event OrderDisarmed(bytes32 indexed id);

    error UnknownOrder(bytes32 id);
    error NotOpen(bytes32 id, State state);
    error NotOwner(bytes32 id);
    error NotExpired(bytes32 id);
    error OrderIsExpired(bytes32 id);
    error NotTriggered(bytes32 id, uint256 referenceNav);
    error StillTriggered(bytes32 id, uint256 referenceNav);
    error BelowFloor(bytes32 id, uint256 got, uint256 floor);
    error AlreadyArmed(bytes32 id, uint48 armedAt);
    error NotArmed(bytes32 id);
    error BadExecutor(address executor);
    error BadTerms(string what);
    error BelowMinimum(uint256 value, uint256 minimum);
    error OrdersDisabled(address vault);
    error Paused();

    /// Fills a triggered order through the zapper with the caller's swaps. `executor` zero means the sender.
    /// Reverts NotTriggered before its trigger holds and BelowFloor when the swaps miss the floor.
    function fill(bytes32 id, SwapCall[] calldata swaps, address executor)
        external
        returns (uint256 executorFee);
    function arm(bytes32 id) external;
    function disarm(bytes32 id) external;
    /// Owner, in every open state; also when paused, expired, armed or without a reference.
    function cancel(bytes32 id) external;
    /// Anyone, after the deadline: everything back to the owner, unpaid.
    function sendBack(bytes32 id) external;

    function stateOf(bytes32 id) external view returns (State);
    function ownerOf(bytes32 id) external view returns (address);
    /// True when a fill is allowed now as far as trigger, expiry and pause go; the reference seen (0 = none).
    function triggered(bytes32 id) external view returns (bool isTriggered, uint256 referenceNav);
    function toleranceBps(bytes32 id) external view returns (uint16);
    function armedAt(bytes32 id) external view returns (uint48);
    /// Fee that a fill of `gross` USDG pays: min(max($0.25, 0.15%), 1%).
    function executorFeeOf(uint256 gross) external pure returns (uint256);
}
