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

    /// The least that a swap itself asks for reaches the router, whatever the bound of the whole trade is.
    function test_the_least_of_a_single_swap_is_kept() public {
        SwapCall[] memory swaps = _wholeBuy(1e30, 1);
        vm.expectRevert("Too little received");
        buyExact(stock, 1e18, 110e6, swaps);
        buyExact(stock, 1e18, 110e6, _wholeBuy(1, 1));
    }

    function test_the_least_of_a_swap_along_a_path_is_kept() public {
        SwapCall[] memory swaps = _wholeBuy(1, 1e30);
        vm.expectRevert("Too little received");
        buyExact(stock, 1e18, 110e6, swaps);
        buyExact(stock, 1e18, 110e6, _wholeBuy(1, 1));
    }

    /// Both constituents of one share, the first by exactInputSingle, the second by exactInput.
    function _wholeBuy(uint256 leastOfSingle, uint256 leastOfPath)
        private
        view
        returns (SwapCall[] memory swaps)
    {
        swaps = new SwapCall[](2);
        swaps[0] = exactInputBuy(bravo, 71e6);
        swaps[0].callData = abi.encodeWithSelector(
            0x04e45aaf,
            ExactSingle(
                address(usdg), address(bravo.token), bravo.fee, address(zapper), 71e6, leastOfSingle, 0
            )
        );
        swaps[1] = exactInputBuy(delta, 32e6);
        bytes memory path = abi.encodePacked(usdg, delta.fee, delta.token);
        swaps[1].callData =
            abi.encodeWithSelector(0xb858183f, ExactInput(path, address(zapper), 32e6, leastOfPath));
    }
}
