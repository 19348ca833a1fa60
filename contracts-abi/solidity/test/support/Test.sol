// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Vm} from "./Vm.sol";

/// Cheatcodes, assertions and the target lists that forge's invariant runner looks up by name.
/// Source: the Foundry book, "Invariant Testing".
abstract contract Test {
    /// address(uint160(uint256(keccak256("hevm cheat code")))), fixed by forge.
    Vm internal constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    address[] private _targetContracts;
    address[] private _excludeContracts;
    address[] private _targetSenders;
    address[] private _excludeSenders;
    FuzzSelector[] private _targetSelectors;

    function targetContract(address target) internal {
        _targetContracts.push(target);
    }

    function excludeContract(address target) internal {
        _excludeContracts.push(target);
    }

    function targetSender(address sender) internal {
        _targetSenders.push(sender);
    }

    function excludeSender(address sender) internal {
        _excludeSenders.push(sender);
    }

    function targetSelector(FuzzSelector memory selector) internal {
        _targetSelectors.push(selector);
    }

    function targetSelectors(address target, bytes4[] memory selectors) internal {
        _targetSelectors.push(FuzzSelector(target, selectors));
    }

    function targetContracts() public view returns (address[] memory) {
        return _targetContracts;
    }

    function excludeContracts() public view returns (address[] memory) {
        return _excludeContracts;
    }

    function targetSenders() public view returns (address[] memory) {
        return _targetSenders;
    }

    function excludeSenders() public view returns (address[] memory) {
        return _excludeSenders;
    }

    function targetSelectors() public view returns (FuzzSelector[] memory) {
        return _targetSelectors;
    }

    /// Maps any `value` into [low, high], keeping values already inside and the two ends likely.
    function bound(uint256 value, uint256 low, uint256 high) internal pure returns (uint256) {
        require(low <= high, "bound: low above high");
        if (value >= low && value <= high) return value;
        uint256 size = high - low + 1; // zero when the range is all of uint256, which the line above has answered
        if (value <= 3 && size > value) return low + value;
        if (value >= type(uint256).max - 3 && size > type(uint256).max - value) {
            return high - (type(uint256).max - value);
        }
        return low + value % size;
    }

    /// A labelled address that nobody holds a key for by accident.
    function makeAddr(string memory name) internal returns (address who) {
        (who,) = makeAddrAndKey(name);
    }

    function makeAddrAndKey(string memory name) internal returns (address who, uint256 key) {
        key = uint256(keccak256(bytes(name)));
        who = vm.addr(key);
        vm.label(who, name);
    }

    /// 65-byte r,s,v signature of `digest`.
    function signature(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    function skip(uint256 secondsAhead) internal {
        // Not block.timestamp: the optimiser caches it across a warp inside one function.
        vm.warp(vm.getBlockTimestamp() + secondsAhead);
    }

    function fail(string memory why) internal pure {
        vm.assertTrue(false, why);
    }

    function assertTrue(bool condition) internal pure {
        vm.assertTrue(condition, "expected true");
    }

    function assertTrue(bool condition, string memory why) internal pure {
        vm.assertTrue(condition, why);
    }

    function assertFalse(bool condition) internal pure {
        vm.assertFalse(condition, "expected false");
    }

    function assertFalse(bool condition, string memory why) internal pure {
        vm.assertFalse(condition, why);
    }

    function assertEq(bool left, bool right) internal pure {
        vm.assertEq(left, right, "");
    }

    function assertEq(bool left, bool right, string memory why) internal pure {
        vm.assertEq(left, right, why);
    }

    function assertEq(uint256 left, uint256 right) internal pure {
        vm.assertEq(left, right, "");
    }

    function assertEq(uint256 left, uint256 right, string memory why) internal pure {
        vm.assertEq(left, right, why);
    }

    function assertEq(int256 left, int256 right) internal pure {
        vm.assertEq(left, right, "");
    }

    function assertEq(address left, address right) internal pure {
        vm.assertEq(left, right, "");
    }

    function assertEq(address left, address right, string memory why) internal pure {
        vm.assertEq(left, right, why);
    }

    function assertEq(bytes32 left, bytes32 right) internal pure {
        vm.assertEq(left, right, "");
    }

    function assertEq(bytes32 left, bytes32 right, string memory why) internal pure {
        vm.assertEq(left, right, why);
    }

    function assertEq(string memory left, string memory right) internal pure {
        vm.assertEq(left, right, "");
    }

    function assertEq(bytes memory left, bytes memory right) internal pure {
        vm.assertEq(left, right, "");
    }

    function assertEq(uint256[] memory left, uint256[] memory right) internal pure {
        vm.assertEq(left, right, "");
    }

    function assertEq(uint256[] memory left, uint256[] memory right, string memory why) internal pure {
        vm.assertEq(left, right, why);
    }

    function assertEq(address[] memory left, address[] memory right) internal pure {
        vm.assertEq(left, right, "");
    }

    function assertNotEq(uint256 left, uint256 right) internal pure {
        vm.assertNotEq(left, right, "");
    }

    function assertNotEq(address left, address right) internal pure {
        vm.assertNotEq(left, right, "");
    }

    function assertNotEq(bytes32 left, bytes32 right) internal pure {
        vm.assertNotEq(left, right, "");
    }

    function assertLt(uint256 left, uint256 right) internal pure {
        vm.assertLt(left, right, "");
    }

    function assertLt(uint256 left, uint256 right, string memory why) internal pure {
        vm.assertLt(left, right, why);
    }

    function assertLe(uint256 left, uint256 right) internal pure {
        vm.assertLe(left, right, "");
    }

    function assertLe(uint256 left, uint256 right, string memory why) internal pure {
        vm.assertLe(left, right, why);
    }

    function assertGt(uint256 left, uint256 right) internal pure {
        vm.assertGt(left, right, "");
    }

    function assertGt(uint256 left, uint256 right, string memory why) internal pure {
        vm.assertGt(left, right, why);
    }

    function assertGe(uint256 left, uint256 right) internal pure {
        vm.assertGe(left, right, "");
    }

    function assertGe(uint256 left, uint256 right, string memory why) internal pure {
        vm.assertGe(left, right, why);
    }

    function assertApproxEqAbs(uint256 left, uint256 right, uint256 delta) internal pure {
        vm.assertApproxEqAbs(left, right, delta, "");
    }

    function assertApproxEqAbs(uint256 left, uint256 right, uint256 delta, string memory why) internal pure {
        vm.assertApproxEqAbs(left, right, delta, why);
    }

    /// `share` scaled by 1e18: 0.01e18 is one percent.
    function assertApproxEqRel(uint256 left, uint256 right, uint256 share) internal pure {
        vm.assertApproxEqRel(left, right, share, "");
    }

    function assertApproxEqRel(uint256 left, uint256 right, uint256 share, string memory why) internal pure {
        vm.assertApproxEqRel(left, right, share, why);
    }
}
