// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {GasWorld} from "./GasWorld.sol";

interface VmGas {
    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }

    function lastCallGas() external view returns (Gas memory);
    function pauseTracing() external view;
    function resumeTracing() external view;
    function prank(address sender) external;
    function snapshotState() external returns (uint256);
    function revertToState(uint256 id) external returns (bool);
}

/// What calls cost as transactions of their own. Run with `--isolate`, or the figures mean nothing.
abstract contract GasMeter {
    VmGas internal constant vm = VmGas(address(uint160(uint256(keccak256("hevm cheat code")))));

    GasWorld internal world;

    event log_named_uint(string name, uint256 gas);

    function setUp() public virtual {
        vm.pauseTracing(); // a hundred thousand calls, of no interest
        world = new GasWorld();
        world.build();
        vm.resumeTracing();
    }

    /// Sends `payload` from `sender` and records the transaction's gas: intrinsic gas, calldata and refunds included.
    function measure(string memory name, address sender, address target, bytes memory payload)
        internal
        returns (uint256 gas)
    {
        vm.prank(sender);
        (bool ok, bytes memory answer) = target.call(payload);
        gas = vm.lastCallGas().gasTotalUsed;
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
        emit log_named_uint(name, gas);
    }
}
