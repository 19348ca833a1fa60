// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

interface VmGas {
    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }

    function lastCallGas() external view returns (Gas memory);
    function prank(address sender) external;
    function warp(uint256 time) external;
    function getBlockTimestamp() external view returns (uint256);
    function etch(address target, bytes calldata code) external;
    function snapshotState() external returns (uint256);
    function revertToState(uint256 id) external returns (bool);
    function pauseGasMetering() external;
    function resumeGasMetering() external;
    function pauseTracing() external view;
    function resumeTracing() external view;
}

/// What calls cost as transactions of their own. Run with `--isolate` (`npm run gas`), or the figures mean nothing.
/// A figure is the whole transaction: intrinsic gas, calldata, cold storage, and the refunds taken off. Reads are
/// measured as transactions too.
abstract contract GasMeter {
    VmGas internal constant vm = VmGas(address(uint160(uint256(keccak256("hevm cheat code")))));
    address internal constant ANYONE = address(0xa11e);

    event log_named_uint(string name, uint256 gas);

    /// Records `name` and keeps what the call changed.
    function measure(string memory name, address sender, address target, bytes memory payload)
        internal
        returns (uint256 gas)
    {
        send(sender, target, payload);
        gas = vm.lastCallGas().gasTotalUsed;
        emit log_named_uint(name, gas);
    }

    /// Records `name` and takes everything back.
    function probe(string memory name, address sender, address target, bytes memory payload) internal {
        uint256 before = vm.snapshotState();
        uint256 gas = measure(name, sender, target, payload);
        vm.revertToState(before);
        gas;
    }

    /// A function without arguments that changes nothing.
    function read(string memory contract_, address target, string memory name) internal {
        measure(
            string.concat(contract_, ".", name),
            ANYONE,
            target,
            abi.encodeWithSignature(string.concat(name, "()"))
        );
    }

    /// Unrecorded; the answer.
    function send(address sender, address target, bytes memory payload) internal returns (bytes memory) {
        vm.prank(sender);
        (bool ok, bytes memory answer) = target.call(payload);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
        return answer;
    }

    function skip(uint256 time) internal {
        vm.warp(vm.getBlockTimestamp() + time);
    }
}
