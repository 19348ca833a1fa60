// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {GasMeter} from "./GasMeter.sol";
import {GasWorld} from "./GasWorld.sol";

abstract contract WorldMeter is GasMeter {
    GasWorld internal world;
    GasWorld.Parts internal here;
    address internal wallet;

    function setUp() public {
        vm.pauseTracing(); // a hundred thousand calls, of no interest
        vm.pauseGasMetering(); // nor has their gas to fit into a block
        world = new GasWorld();
        world.build();
        for (uint256 i; i < 4; ++i) {
            world.trade(i);
        }
        world.settle();
        vm.resumeGasMetering();
        vm.resumeTracing();
        here = world.parts();
        wallet = world.wallet();
    }
}
