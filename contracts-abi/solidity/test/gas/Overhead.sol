// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {WorldMeter} from "./WorldMeter.sol";

/// Trades next to their bare swaps: the same swaps of the same amounts from a plain wallet, in one multicall of the
/// router, with approvals given beforehand.
abstract contract Overhead is WorldMeter {
    function test_buy_of_three() public {
        _buy(false, "buy of 3");
    }

    function test_buy_of_seven() public {
        _buy(true, "buy of 7");
    }

    function test_sale_of_three() public {
        _sell(false, "sale of 3");
    }

    function test_sale_of_seven() public {
        _sell(true, "sale of 7");
    }

    function test_stop_of_three() public {
        _stop(false, "stop of 3");
    }

    function test_stop_of_seven() public {
        _stop(true, "stop of 7");
    }

    function _buy(bool large, string memory name) private {
        (ISessionModule.Action memory action, bytes memory sig, bytes memory bare) = world.buy(large);
        _execute(name, action, sig, bare);
    }

    function _sell(bool large, string memory name) private {
        (ISessionModule.Action memory action, bytes memory sig, bytes memory bare) = world.sell(large);
        _execute(name, action, sig, bare);
    }

    function _execute(
        string memory name,
        ISessionModule.Action memory action,
        bytes memory sig,
        bytes memory bare
    ) private {
        (address module, address router) = (world.parts().module, world.parts().router);
        _both(name, router, bare, ", session", module, abi.encodeCall(ISessionModule.execute, (action, sig)));
    }

    function _stop(bool large, string memory name) private {
        (bytes32 id, SwapCall[] memory swaps, bytes memory bare) = world.stop(large);
        (address exits, address router) = (world.parts().exits, world.parts().router);
        bytes memory payload = abi.encodeCall(IOrderEscrow.fill, (id, swaps, address(0)));
        _both(name, router, bare, ", fill", exits, payload);
    }

    function _both(
        string memory name,
        address router,
        bytes memory bare,
        string memory kind,
        address target,
        bytes memory payload
    ) private {
        uint256 before = vm.snapshotState();
        _measure(string.concat(name, ", bare swaps"), wallet, router, bare);
        vm.revertToState(before);
        _measure(string.concat(name, kind), world.keeper(), target, payload);
    }

    /// With what the trace does not tell: the refund that was taken off, and what was paid before the first opcode.
    function _measure(string memory name, address sender, address target, bytes memory payload) private {
        measure(name, sender, target, payload);
        emit log_named_uint(string.concat(name, ", refunded"), uint256(int256(vm.lastCallGas().gasRefunded)));
        uint256 intrinsic = 21_000;
        for (uint256 i; i < payload.length; ++i) {
            intrinsic += payload[i] == 0 ? 4 : 16;
        }
        emit log_named_uint(string.concat(name, ", intrinsic"), intrinsic);
    }
}
