// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// A token transfer that cannot take its caller down (rule 8): a token that reverts, returns false, has no code, eats
/// its gas or returns megabytes yields `false` and nothing else.
library GuardedTransfer {
    /// Ample for a proxied token with a blocklist (about 70,000).
    uint256 internal constant GAS = 400_000;

    error NotEnoughGas();

    /// Reverts when the transfer could not be given its full gas: too little gas must undo everything, never pass for
    /// a token that refuses.
    function tryTransfer(address token, address to, uint256 amount) internal returns (bool delivered) {
        bytes memory call_ = abi.encodeCall(IERC20.transfer, (to, amount));
        uint256 stipend = GAS;
        if (gasleft() < stipend + stipend / 32 + 10_000) revert NotEnoughGas();
        assembly ("memory-safe") {
            mstore(0, 0)
            delivered := call(stipend, token, 0, add(call_, 32), mload(call_), 0, 32)
            if delivered {
                switch returndatasize()
                case 0 { delivered := iszero(iszero(extcodesize(token))) }
                default { delivered := and(gt(returndatasize(), 31), eq(mload(0), 1)) }
            }
        }
    }
}
