// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ISafe} from "../interfaces/ISafe.sol";
import {ISessionModule} from "../interfaces/ISessionModule.sol";
import {TokenReads} from "../libraries/TokenReads.sol";

/// Calls that a module makes as the Safe: operation CALL, value 0 (rule 16). A module call returns false instead of
/// reverting, and a call to an address without code succeeds with nothing, so success and the returned words are
/// both required. A failure reverts with the inner revert data inside ModuleCallFailed, where it cannot pass for an
/// error of the module itself.
library SafeCalls {
    uint8 private constant CALL = 0;

    /// Calls `target` as `account`; the answer must be at least `words` 32-byte words.
    function call(address account, address target, bytes memory payload, uint256 words)
        internal
        returns (bytes memory result)
    {
        bool success;
        (success, result) = ISafe(account).execTransactionFromModuleReturnData(target, 0, payload, CALL);
        if (!success || result.length < words * 32) revert ISessionModule.ModuleCallFailed(result);
    }

    /// For functions that answer one bool, which must be true.
    function callTrue(address account, address target, bytes memory payload) internal {
        bytes memory result = call(account, target, payload, 1);
        if (abi.decode(result, (uint256)) != 1) revert ISessionModule.ModuleCallFailed(result);
    }

    function approve(address account, address token, address spender, uint256 amount) internal {
        callTrue(account, token, abi.encodeCall(IERC20.approve, (spender, amount)));
    }

    /// Takes back what the spender left of its allowance.
    function clearAllowance(address account, address token, address spender) internal {
        if (TokenReads.allowance(token, account, spender) == 0) return;
        approve(account, token, spender, 0);
        if (TokenReads.allowance(token, account, spender) != 0) revert ISessionModule.UnexpectedDelta(token);
    }
}
