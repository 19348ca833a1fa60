// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// The guardian's pause (rule 26): stops buys, fills and session actions, never an exit. Ends by itself after
/// seven days; a new one may start 24 hours after the last ended.
interface IProtocolPause {
    event Paused(address indexed by, uint48 until);
    event Unpaused(address indexed by);
    event GuardianChanged(address indexed guardian);

    error NotGuardian();
    error CoolingDown(uint48 until);
    error AlreadyPaused();
    error NotPaused();

    function paused() external view returns (bool);
    function pausedUntil() external view returns (uint48);
    function guardian() external view returns (address);
    function pause() external;
    function unpause() external;
}
