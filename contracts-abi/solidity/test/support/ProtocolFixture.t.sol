// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketVault} from "../../src/basket/BasketVault.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {ProtocolFixture} from "./ProtocolFixture.sol";

/// The fixture itself must tell the truth.
contract ProtocolFixtureTest is ProtocolFixture {
    function setUp() public {
        deployProtocol();
    }

    function test_baskets_start_at_a_hundred_dollars_with_a_valid_reference() public view {
        BasketVault[3] memory vaults = [tech, mixed, stock];
        for (uint256 i; i < vaults.length; i++) {
            assertApproxEqRel(oracle.referenceNav(address(vaults[i])), 100e18, 0.001e18);
            assertApproxEqRel(oracle.spotNav(address(vaults[i])), 100e18, 0.001e18);
        }
        (, INavOracle.Invalid reason,) = oracle.tryReferenceNav(address(blind));
        assertEq(uint256(reason), uint256(INavOracle.Invalid.NoPool));
    }

    function test_quotes_buy_and_sell_exactly_what_they_say() public {
        BasketVault[3] memory vaults = [tech, mixed, stock];
        usdg.mint(address(this), 10_000e6);
        usdg.approve(address(zapper), type(uint256).max);
        for (uint256 i; i < vaults.length; i++) {
            (SwapCall[] memory swaps, uint256 gross) = quoteBuy(vaults[i], 7e18);
            (uint256 spent, uint256 fee) = zapper.buyExact(
                address(vaults[i]), 7e18, 1_000e6, swaps, address(this), address(this), block.timestamp
            );
            assertEq(spent, gross);
            assertEq(fee, zapFee(gross));
            vaults[i].approve(address(zapper), 7e18);
            (swaps, gross) = quoteSell(vaults[i], 7e18);
            (, uint256 got,) =
                zapper.sell(address(vaults[i]), 7e18, 0, swaps, address(this), address(this), block.timestamp);
            assertEq(got, gross);
        }
    }

    function test_the_reference_follows_a_moved_price_after_ten_minutes() public {
        movePrices(9_800);
        assertApproxEqRel(oracle.spotNav(address(stock)), 98e18, 0.001e18);
        assertApproxEqRel(oracle.referenceNav(address(stock)), 100e18, 0.001e18);
        passTime(700);
        assertApproxEqRel(oracle.referenceNav(address(stock)), 98e18, 0.001e18);
        giveShares(tech, guardian, 3e18);
        assertEq(tech.balanceOf(guardian), 3e18);
    }
}
