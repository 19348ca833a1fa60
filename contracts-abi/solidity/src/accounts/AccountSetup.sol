// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISafe} from "../interfaces/ISafe.sol";

/// Runs once inside a new Safe (by delegatecall from `Safe.setup`) and enables the modules. It holds no state and
/// refuses to run as itself, so nothing can be done with it but what an initializer says (rule 14).
contract AccountSetup {
    address private immutable self = address(this);

    error OnlyDelegateCall();

    /// Here `this` is the Safe, and a Safe lets only itself enable modules.
    function enableModules(address[] calldata modules) external {
        if (address(this) == self) revert OnlyDelegateCall();
        for (uint256 i; i < modules.length; ++i) {
            ISafe(address(this)).enableModule(modules[i]);
        }
    }
}
