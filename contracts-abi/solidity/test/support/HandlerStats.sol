// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Test} from "./Test.sol";
import {Vm} from "./Vm.sol";

/// How often each action of an invariant handler was tried and how often it did what it is named after. Handlers
/// swallow reverts in order to judge them, so forge's own metrics would show every call as a success. A revert that a
/// handler does not swallow would take its count with it: `fail_on_revert` in foundry.toml makes it a failure.
abstract contract HandlerStats {
    string[] private _names;
    mapping(bytes32 name => uint256) private _tried;
    mapping(bytes32 name => uint256) private _done;
    mapping(bytes4 selector => uint256) private _triedBy; // of the handler's function that was called

    /// At the start of an action.
    function _try(string memory name) internal {
        bytes32 key = keccak256(bytes(name));
        if (_tried[key]++ == 0) _names.push(name);
        _triedBy[msg.sig]++;
    }

    /// Once the protocol did what the action asked.
    function _succeed(string memory name) internal {
        _done[keccak256(bytes(name))]++;
    }

    /// At the end of a step of the world around the protocol, which nobody could refuse.
    function _happened(string memory name) internal {
        _try(name);
        _succeed(name);
    }

    function timesDone(string calldata name) external view returns (uint256) {
        return _done[keccak256(bytes(name))];
    }

    /// One line of JSON, {"suite": …, "actions": {name: [tried, done]}, "targets": {selector: tried}}, for the file
    /// that `npm test` adds up. Call it in `afterInvariant`; `targets` are the functions that the campaign calls.
    function report(Vm vm, string calldata suite, Test.FuzzSelector[] calldata targets) external {
        string memory line = string.concat('{"suite":"', suite, '","actions":{');
        for (uint256 i; i < _names.length; ++i) {
            bytes32 key = keccak256(bytes(_names[i]));
            line = string.concat(
                line,
                i == 0 ? '"' : ',"',
                _names[i],
                '":[',
                vm.toString(_tried[key]),
                ",",
                vm.toString(_done[key]),
                "]"
            );
        }
        line = string.concat(line, '},"targets":{', _targets(vm, targets), "}}");
        vm.writeLine(string.concat("cache/handlers/", suite, ".jsonl"), line);
    }

    function _targets(Vm vm, Test.FuzzSelector[] calldata targets) private view returns (string memory list) {
        for (uint256 i; i < targets.length; ++i) {
            for (uint256 j; j < targets[i].selectors.length; ++j) {
                bytes4 selector = targets[i].selectors[j];
                list = string.concat(
                    list,
                    bytes(list).length == 0 ? '"' : ',"',
                    vm.toString(bytes32(selector)),
                    '":',
                    vm.toString(_triedBy[selector])
                );
            }
        }
    }
}
