// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// balanceOf and allowance, which a trade reads some ten times a constituent, at a third of what the compiler's own
/// call costs. Reverts as that would: with the token's reason, or without one where it answers less than a word.
library TokenReads {
    function balanceOf(address token, address who) internal view returns (uint256) {
        return _read(token, IERC20.balanceOf.selector, who, address(0), 36);
    }

    function allowance(address token, address owner, address spender) internal view returns (uint256) {
        return _read(token, IERC20.allowance.selector, owner, spender, 68);
    }

    function _read(address token, bytes4 selector, address first, address second, uint256 length)
        private
        view
        returns (uint256 answer)
    {
        assembly ("memory-safe") {
            let call_ := mload(0x40)
            mstore(call_, selector)
            mstore(add(call_, 4), first)
            mstore(add(call_, 36), second)
            if iszero(staticcall(gas(), token, call_, length, 0, 32)) {
                returndatacopy(call_, 0, returndatasize())
                revert(call_, returndatasize())
            }
            if lt(returndatasize(), 32) { revert(0, 0) }
            answer := mload(0)
        }
    }
}
