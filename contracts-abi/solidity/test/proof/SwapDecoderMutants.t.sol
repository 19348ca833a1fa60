// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ZapperFixture} from "../basket/ZapperFixture.sol";

contract SwapDecoderMutantsTest is ZapperFixture {
    function setUp() public {
        deployProtocol();
        fundBuyer(1_000e6);
    }

    function test_a_known_selector_alone_is_malformed_and_less_is_no_selector() public {
        SwapCall memory swap = exactInputBuy(bravo, 100e6);
        swap.callData = hex"04e45aaf";
        SwapCall[] memory swaps = one(swap);
        vm.expectRevert(bytes(""));
        buy(stock, 200e6, 0, swaps);
        swaps[0].callData = hex"04e45a";
        vm.expectRevert(badSwap(0, "selector"));
        buy(stock, 200e6, 0, swaps);
    }
}
