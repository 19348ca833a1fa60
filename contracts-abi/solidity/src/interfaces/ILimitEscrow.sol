// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IOrderEscrow} from "./IOrderEscrow.sol";

/// Resting buys over escrowed USDG. `amount` is all-in: swaps + mint fee + executor fee; what is left goes back.
interface ILimitEscrow is IOrderEscrow {
    /// triggerNav zero = fills at once. slippageBps zero = 100, capBps zero = 500.
    struct LimitTerms {
        address vault;
        uint256 amount;
        uint256 triggerNav;
        uint16 slippageBps;
        uint16 capBps;
        uint48 deadline;
    }

    struct LimitOrder {
        address owner;
        uint48 armedAt;
        State state;
        LimitTerms terms;
    }

    event LimitCreated(bytes32 indexed id, address indexed owner, address indexed vault, LimitTerms terms);

    function create(LimitTerms calldata terms) external returns (bytes32 id);
    function orderOf(bytes32 id) external view returns (LimitOrder memory);
    /// Least shares that a fill of the whole amount must mint now: (amount less both fees) over
    /// min(reference, spot) x (1 + tolerance). A fill that spends less than the amount still owes these shares.
    function floorOf(bytes32 id) external view returns (uint256 minShares);
}
