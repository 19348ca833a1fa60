// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// The forge cheatcodes that the tests use. Source: the Foundry book, "Cheatcodes Reference".
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    // Caller, time, balances, code, storage
    function prank(address sender) external;
    function prank(address sender, address origin) external;
    function startPrank(address sender) external;
    function startPrank(address sender, address origin) external;
    function stopPrank() external;
    function warp(uint256 timestamp) external;
    function roll(uint256 number) external;
    function chainId(uint256 id) external;
    function fee(uint256 baseFee) external;
    function txGasPrice(uint256 price) external;
    function getBlockTimestamp() external view returns (uint256);
    function deal(address who, uint256 balance) external;
    function etch(address target, bytes calldata code) external;
    function load(address target, bytes32 slot) external view returns (bytes32);
    function store(address target, bytes32 slot, bytes32 value) external;
    function getNonce(address who) external view returns (uint64);
    function setNonce(address who, uint64 nonce) external;
    function getCode(string calldata artifact) external view returns (bytes memory);
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);
    function computeCreate2Address(bytes32 salt, bytes32 initCodeHash, address deployer)
        external
        pure
        returns (address);
    function allowCheatcodes(address who) external;

    // Keys
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function addr(uint256 key) external pure returns (address);

    // Expectations
    function expectRevert() external;
    function expectRevert(bytes4 selector) external;
    function expectRevert(bytes calldata revertData) external;
    function expectRevert(address reverter) external;
    function expectPartialRevert(bytes4 selector) external;
    function expectEmit() external;
    function expectEmit(address emitter) external;
    function expectEmit(bool topic1, bool topic2, bool topic3, bool body) external;
    function expectEmit(bool topic1, bool topic2, bool topic3, bool body, address emitter) external;
    function expectCall(address callee, bytes calldata payload) external;
    function expectCall(address callee, bytes calldata payload, uint64 count) external;

    // Records
    function record() external;
    function accesses(address target) external returns (bytes32[] memory reads, bytes32[] memory writes);
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function snapshotState() external returns (uint256 id);
    function revertToState(uint256 id) external returns (bool);
    function revertToStateAndDelete(uint256 id) external returns (bool);
    function deleteStateSnapshot(uint256 id) external returns (bool);

    // Gas
    function pauseGasMetering() external;
    function resumeGasMetering() external;

    // Fuzzing, labels, text
    function assume(bool condition) external pure;
    function assumeNoRevert() external pure;
    function label(address who, string calldata name) external;
    function toString(uint256 value) external pure returns (string memory);
    function toString(address value) external pure returns (string memory);
    function toString(bytes32 value) external pure returns (string memory);
    function readFile(string calldata path) external view returns (string memory);
    function writeLine(string calldata path, string calldata line) external;
    function exists(string calldata path) external view returns (bool);
    function projectRoot() external view returns (string memory);
    function parseJsonBytes(string calldata json, string calldata key) external pure returns (bytes memory);
    function parseJsonAddress(string calldata json, string calldata key) external pure returns (address);

    // Assertions: they revert with both sides printed
    function assertTrue(bool condition, string calldata why) external pure;
    function assertFalse(bool condition, string calldata why) external pure;
    function assertEq(bool left, bool right, string calldata why) external pure;
    function assertEq(uint256 left, uint256 right, string calldata why) external pure;
    function assertEq(int256 left, int256 right, string calldata why) external pure;
    function assertEq(address left, address right, string calldata why) external pure;
    function assertEq(bytes32 left, bytes32 right, string calldata why) external pure;
    function assertEq(string calldata left, string calldata right, string calldata why) external pure;
    function assertEq(bytes calldata left, bytes calldata right, string calldata why) external pure;
    function assertEq(uint256[] calldata left, uint256[] calldata right, string calldata why) external pure;
    function assertEq(address[] calldata left, address[] calldata right, string calldata why) external pure;
    function assertNotEq(uint256 left, uint256 right, string calldata why) external pure;
    function assertNotEq(address left, address right, string calldata why) external pure;
    function assertNotEq(bytes32 left, bytes32 right, string calldata why) external pure;
    function assertLt(uint256 left, uint256 right, string calldata why) external pure;
    function assertLe(uint256 left, uint256 right, string calldata why) external pure;
    function assertGt(uint256 left, uint256 right, string calldata why) external pure;
    function assertGe(uint256 left, uint256 right, string calldata why) external pure;
    function assertApproxEqAbs(uint256 left, uint256 right, uint256 delta, string calldata why) external pure;
    function assertApproxEqRel(uint256 left, uint256 right, uint256 share, string calldata why) external pure;
}
