// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Vm} from "./Vm.sol";

/// How often each action of an invariant handler was tried and how often it did what it is named after. Handlers
/// swallow reverts in order to judge them, so forge's own metrics would show every call as a success.
abstract contract HandlerStats {
    string[] private _names;
    mapping(bytes32 name => uint256) private _tried;
    mapping(bytes32 name => uint256) private _done;

    /// At the start of an action.
    function _try(string memory name) internal {
        bytes32 key = keccak256(bytes(name));
        if (_tried[key]++ == 0) _names.push(name);
    }

    /// Once the protocol did what the action asked.
    function _succeed(string memory name) internal {
        _done[keccak256(bytes(name))]++;
    }

    function timesDone(string calldata name) external view returns (uint256) {
        return _done[keccak256(bytes(name))];
    }

    /// One line of JSON, {"suite": …, "actions": {name: [tried, done]}}, for the file that `npm test` adds up. Call it
    /// in `afterInvariant`.
    function report(Vm vm, string calldata suite) external {
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
        vm.writeLine(string.concat("cache/handlers/", suite, ".jsonl"), string.concat(line, "}}"));
    }
}
