// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ZapperFixture} from "./ZapperFixture.sol";

/// A budget is used to its last base unit, with the fee inside.
contract ZapperBudgetTest is ZapperFixture {
    function setUp() public {
        deployProtocol();
    }

    /// The cash part of a basket is the scarcest: what the budget leaves for it decides, and the fee still fits.
    function testFuzz_aCashPartTakesAllThatTheFeeLeaves(uint256 funds) public {
        funds = bound(funds, 100e6, 101e6);
        fundBuyer(funds);
        SwapCall[] memory swaps = new SwapCall[](2);
        swaps[0] = exactInputBuy(alfa, 62e6);
        swaps[1] = exactInputBuy(ether_, 31e6);
        (, uint256 gross, uint256 fee) = buy(mixed, funds, 0, swaps);
        assertEq(gross, funds * 10_000 / 10_020);
        assertEq(fee, zapFee(gross));
        assertEq(usdg.balanceOf(carol), funds - gross - fee);
    }
}
