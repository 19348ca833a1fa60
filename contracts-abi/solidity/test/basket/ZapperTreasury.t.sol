// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ZapperFixture} from "./ZapperFixture.sol";

/// Who names the treasury must not hold a switch over selling: where USDG refuses to pay it, trades go on without a fee.
contract ZapperTreasuryTest is ZapperFixture {
    function setUp() public {
        deployProtocol();
    }

    function test_a_sale_pays_the_fee_to_the_seller_while_the_treasury_is_blocked() public {
        fundSeller(tech, 10e18);
        (SwapCall[] memory swaps,) = quoteSell(tech, 10e18);
        usdg.setBlocked(treasury, true);
        (uint256 net, uint256 gross, uint256 fee) = sell(tech, 10e18, 0, swaps);
        assertEq(fee, 0);
        assertEq(net, gross);
        assertEq(usdg.balanceOf(bob), gross);
        assertZapperEmpty();
    }

    function test_a_buy_refunds_the_fee_while_the_treasury_is_blocked() public {
        (SwapCall[] memory swaps, uint256 expected) = quoteBuy(tech, 10e18);
        uint256 most = expected + zapFee(expected);
        fundBuyer(most);
        usdg.setBlocked(treasury, true);
        (uint256 gross, uint256 fee) = buyExact(tech, 10e18, most, swaps);
        assertEq(fee, 0);
        assertEq(usdg.balanceOf(carol), most - gross);
        assertZapperEmpty();
    }

    function test_a_buy_must_bring_the_fee_even_so() public {
        (SwapCall[] memory swaps, uint256 expected) = quoteBuy(tech, 10e18);
        fundBuyer(expected);
        usdg.setBlocked(treasury, true);
        vm.prank(alice);
        vm.expectRevert();
        zapper.buyExact(address(tech), 10e18, expected, swaps, bob, carol, vm.getBlockTimestamp());
    }

    /// With any gas at all the sale either fails as a whole or pays the treasury.
    function test_no_gas_limit_keeps_the_fee_from_the_treasury() public {
        (SwapCall[] memory swaps,) = quoteSell(tech, 10e18);
        fundSeller(tech, 10e18);
        uint256 id = vm.snapshotState();
        bool succeeded;
        uint256 failures;
        // Narrowed to where the sale begins to succeed, then every hundred units around it.
        (uint256 low, uint256 high) = (100_000, 3_000_000);
        while (high - low > 100) {
            uint256 middle = (low + high) / 2;
            if (_sellWith(middle, swaps, id)) high = middle;
            else low = middle;
        }
        for (uint256 gas_ = low - 60_000; gas_ < high + 60_000; gas_ += 500) {
            if (_sellWith(gas_, swaps, id)) succeeded = true;
            else ++failures;
        }
        assertTrue(succeeded && failures != 0, "both outcomes");
    }

    function _sellWith(uint256 gas_, SwapCall[] memory swaps, uint256 id) private returns (bool done) {
        vm.prank(alice);
        try zapper.sell{gas: gas_}(
            address(tech), 10e18, 0, swaps, bob, carol, vm.getBlockTimestamp()
        ) returns (
            uint256, uint256 gross, uint256 fee
        ) {
            assertEq(fee, zapFee(gross), "a fee was waived");
            assertEq(usdg.balanceOf(treasury), fee);
            done = true;
        } catch {}
        vm.revertToState(id);
    }
}
