// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {GasMeter} from "./GasMeter.sol";

/// Trades next to their bare swaps: the same swaps of the same amounts from a plain wallet, in one multicall of the
/// router, with approvals given beforehand.
contract OverheadTest is GasMeter {
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
        (address module,, address router,,) = world.addresses();
        uint256 before = vm.snapshotState();
        measure(string.concat(name, ", bare swaps"), world.wallet(), router, bare);
        vm.revertToState(before);
        measure(
            string.concat(name, ", session"),
            world.keeper(),
            module,
            abi.encodeCall(ISessionModule.execute, (action, sig))
        );
    }

    function _stop(bool large, string memory name) private {
        (bytes32 id, SwapCall[] memory swaps, bytes memory bare) = world.stop(large);
        (, address exits, address router,,) = world.addresses();
        uint256 before = vm.snapshotState();
        measure(string.concat(name, ", bare swaps"), world.wallet(), router, bare);
        vm.revertToState(before);
        measure(
            string.concat(name, ", fill"),
            world.keeper(),
            exits,
            abi.encodeCall(IOrderEscrow.fill, (id, swaps, address(0)))
        );
    }
}
