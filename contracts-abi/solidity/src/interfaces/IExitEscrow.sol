// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IOrderEscrow} from "./IOrderEscrow.sol";

/// Stop-loss, take-profit and bracket orders over escrowed shares.
interface IExitEscrow is IOrderEscrow {
    /// stopNav, tpNav, hardFloorNav: zero = none; at least one of stop and tp. slippageBps zero = 100, capBps zero = 500.
    struct ExitTerms {
        address vault;
        uint256 shares;
        uint256 stopNav;
        uint256 tpNav;
        uint256 hardFloorNav;
        uint16 slippageBps;
        uint16 capBps;
        uint48 deadline;
    }

    struct ExitOrder {
        address owner;
        uint48 armedAt;
        State state;
        ExitTerms terms;
    }

    event ExitCreated(bytes32 indexed id, address indexed owner, address indexed vault, ExitTerms terms);

    function create(ExitTerms calldata terms) external returns (bytes32 id);
    function orderOf(bytes32 id) external view returns (ExitOrder memory);
    /// Shares of the vault that the owner's open orders hold: still the owner's, for cover (protocol.md, Holder).
    function escrowedShares(address owner, address vault) external view returns (uint256);
    /// Least gross USDG that a fill must yield now: shares x max(reference, spot) less the tolerance,
    /// never below shares x hardFloorNav.
    function floorOf(bytes32 id) external view returns (uint256 minGross);
}
