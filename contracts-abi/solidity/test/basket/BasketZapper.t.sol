// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketVault} from "../../src/basket/BasketVault.sol";
import {BasketZapper} from "../../src/basket/BasketZapper.sol";
import {IBasketVault} from "../../src/interfaces/IBasketVault.sol";
import {IBasketZapper, SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ZapperFixture} from "./ZapperFixture.sol";

contract BasketZapperTest is ZapperFixture {
    function setUp() public {
        deployProtocol();
    }

    function testFuzz_buysExactSharesAndReturnsTheRest(uint256 shares, uint256 choice, uint256 spare) public {
        shares = bound(shares, 0.001e18, 2_000e18);
        BasketVault vault = vaultNamed(choice);
        (SwapCall[] memory swaps, uint256 expected) = quoteBuy(vault, shares);
        uint256 most = expected + zapFee(expected) + bound(spare, 0, 1_000e6);
        fundBuyer(most);
        (uint256 gross, uint256 fee) = buyExact(vault, shares, most, swaps);
        assertEq(vault.balanceOf(bob), shares);
        assertEq(gross, expected);
        assertEq(fee, zapFee(gross));
        assertEq(usdg.balanceOf(treasury), fee);
        assertEq(usdg.balanceOf(alice), 0);
        assertEq(usdg.balanceOf(carol), most - gross - fee);
        assertZapperEmpty();
    }

    function testFuzz_buysAsManySharesAsTheBudgetBacks(uint256 amountIn, uint256 choice) public {
        amountIn = bound(amountIn, 1e6, 100_000e6);
        BasketVault vault = vaultNamed(choice);
        fundBuyer(amountIn);
        (uint256 shares, uint256 gross, uint256 fee) =
            buy(vault, amountIn, 1, spendByWeight(vault, amountIn * 10_000 / 10_020));
        assertEq(vault.balanceOf(bob), shares);
        assertLe(gross + fee, amountIn);
        assertEq(fee, zapFee(gross));
        assertEq(usdg.balanceOf(carol), amountIn - gross - fee);
        assertEq(usdg.balanceOf(treasury), fee);
        assertZapperEmpty();
        // One base unit of a share more would have needed a unit that was not bought, so carol holds less than that.
        uint256[] memory more = vault.previewMint(shares + 1e13);
        uint256[] memory used = vault.previewMint(shares);
        bool exhausted;
        IBasketVault.Constituent[] memory parts = vault.constituents();
        for (uint256 i; i < parts.length; ++i) {
            uint256 left = assetBalance(parts[i].token, carol);
            if (parts[i].token == address(usdg)) left = (amountIn * 10_000 / 10_020) - gross;
            if (left <= more[i] - used[i]) exhausted = true;
        }
        assertTrue(exhausted, "more shares were backed");
    }

    function testFuzz_sellsEverythingForUsdg(uint256 shares, uint256 choice, uint256 wait) public {
        shares = bound(shares, 0.001e18, 2_000e18);
        BasketVault vault = vaultNamed(choice);
        fundSeller(vault, shares);
        (SwapCall[] memory swaps, uint256 expected) = quoteSell(vault, shares);
        skip(bound(wait, 0, 300)); // units per share fall meanwhile: the written inputs are a little too much
        (uint256 net, uint256 gross, uint256 fee) = sell(vault, shares, 0, swaps);
        assertApproxEqAbs(gross, expected, expected / 1e6 + 20); // a base unit of delta is 8 of USDG
        assertLe(gross, expected + 1);
        assertEq(fee, zapFee(gross));
        assertEq(net, gross - fee);
        assertEq(usdg.balanceOf(bob), net);
        assertEq(usdg.balanceOf(treasury), fee);
        assertEq(usdg.balanceOf(carol), 0);
        assertEq(alfa.token.balanceOf(carol), 0);
        assertEq(bravo.token.balanceOf(carol), 0);
        assertEq(charlie.token.balanceOf(carol), 0);
        assertEq(vault.balanceOf(alice), 0);
        assertZapperEmpty();
    }

    function testFuzz_thereAndBackNeverProfits(uint256 shares, uint256 choice) public {
        shares = bound(shares, 1e12, 1_000e18);
        BasketVault vault = vaultNamed(choice);
        (SwapCall[] memory swaps, uint256 cost) = quoteBuy(vault, shares);
        cost += zapFee(cost);
        fundBuyer(cost);
        vm.startPrank(alice);
        zapper.buyExact(address(vault), shares, cost, swaps, alice, alice, WHENEVER);
        (swaps,) = quoteSell(vault, shares);
        vault.approve(address(zapper), shares);
        swaps = withoutEmpty(swaps);
        (uint256 net,,) = zapper.sell(address(vault), shares, 0, swaps, alice, alice, WHENEVER);
        vm.stopPrank();
        assertLt(net, cost);
    }

    function test_exactInputsMaySpendAllThatTheFundsAllow() public {
        fundBuyer(100.2e6);
        SwapCall[] memory swaps = new SwapCall[](2);
        swaps[0] = exactInputBuy(bravo, 70e6);
        swaps[1] = exactInputBuy(delta, 30e6);
        (, uint256 gross, uint256 fee) = buy(stock, 100.2e6, 0, swaps);
        assertEq(gross, 100e6);
        assertEq(fee, 0.2e6);
        assertEq(usdg.balanceOf(carol), 0);
    }

    function test_saysWhatHappened() public {
        (SwapCall[] memory swaps, uint256 expected) = quoteBuy(tech, 3e18);
        fundBuyer(1_000e6);
        vm.expectEmit(address(zapper));
        emit IBasketZapper.Bought(alice, bob, address(tech), 3e18, expected, zapFee(expected));
        buyExact(tech, 3e18, 1_000e6, swaps);
        fundSeller(tech, 3e18);
        (swaps, expected) = quoteSell(tech, 3e18);
        vm.expectEmit(address(zapper));
        emit IBasketZapper.Sold(alice, bob, address(tech), 3e18, expected, zapFee(expected));
        sell(tech, 3e18, 0, swaps);
    }

    function test_theLeastSharesAndTheLeastUsdgAreHonouredToTheUnit() public {
        fundBuyer(2_000e6);
        SwapCall[] memory swaps = spendByWeight(tech, 997e6);
        uint256 state = vm.snapshotState();
        (uint256 shares,,) = buy(tech, 1_000e6, 0, swaps);
        vm.revertToState(state);
        vm.expectRevert(abi.encodeWithSelector(IBasketZapper.TooFewShares.selector, shares, shares + 1));
        buy(tech, 1_000e6, shares + 1, swaps);
        buy(tech, 1_000e6, shares, swaps);

        fundSeller(tech, 5e18);
        (swaps,) = quoteSell(tech, 5e18);
        state = vm.snapshotState();
        (uint256 net,,) = sell(tech, 5e18, 0, swaps);
        vm.revertToState(state);
        vm.expectRevert(abi.encodeWithSelector(IBasketZapper.TooLittleUsdg.selector, net, net + 1));
        sell(tech, 5e18, net + 1, swaps);
        sell(tech, 5e18, net, swaps);
    }

    function test_theMostUsdgIsHonouredToTheUnitWithTheFeeInside() public {
        (SwapCall[] memory swaps, uint256 gross) = quoteBuy(mixed, 10e18);
        uint256 all = gross + zapFee(gross);
        fundBuyer(all);
        vm.expectRevert(abi.encodeWithSelector(IBasketZapper.TooMuchUsdg.selector, all, all - 1));
        buyExact(mixed, 10e18, all - 1, swaps);
        buyExact(mixed, 10e18, all, swaps);
    }

    function test_anExactInputAboveTheBudgetIsRefused() public {
        fundBuyer(100e6);
        SwapCall[] memory swaps = one(exactInputBuy(alfa, 100e6)); // leaves nothing for the fee
        vm.expectRevert(
            abi.encodeWithSelector(IBasketZapper.TooMuchUsdg.selector, 100e6 + zapFee(100e6), 100e6)
        );
        buy(tech, 100e6, 0, swaps);
    }

    function test_anExactOutputIsCappedByTheBudget() public {
        fundBuyer(500e6);
        (SwapCall[] memory swaps,) = quoteBuy(tech, 10e18); // about $1,000
        vm.expectRevert(bytes("STF")); // the router may not take more than what is left
        buyExact(tech, 10e18, 500e6, swaps);
    }

    function test_neverAPartialBuy() public {
        fundBuyer(2_000e6);
        (SwapCall[] memory swaps,) = quoteBuy(tech, 10e18);
        assembly ("memory-safe") {
            mstore(swaps, 2) // the third constituent is not bought
        }
        vm.expectRevert(abi.encodeWithSelector(IBasketZapper.TooFewShares.selector, 0, 10e18));
        buyExact(tech, 10e18, 2_000e6, swaps);
        vm.expectRevert(abi.encodeWithSelector(IBasketZapper.TooFewShares.selector, 0, 0));
        buy(tech, 2_000e6, 0, swaps);
    }

    function test_leftoverConstituentsGoToTheRefundAddress() public {
        fundBuyer(1_000e6);
        SwapCall[] memory swaps = spendByWeight(tech, 500e6);
        SwapCall[] memory more = new SwapCall[](4);
        (more[0], more[1], more[2]) = (swaps[0], swaps[1], swaps[2]);
        more[3] = exactInputBuy(bravo, 40e6); // too much of bravo
        buy(tech, 1_000e6, 0, more);
        assertApproxEqRel(bravo.token.balanceOf(carol), 1e8, 0.01e18);
        assertZapperEmpty();

        fundSeller(tech, 10e18);
        (swaps,) = quoteSell(tech, 10e18);
        swaps[1] = exactInput(bravo, swaps[1].amountIn / 4);
        uint256 before = bravo.token.balanceOf(carol);
        sell(tech, 10e18, 0, swaps);
        assertApproxEqRel(bravo.token.balanceOf(carol) - before, tech.previewRedeem(10e18)[1] * 3 / 4, 1e12);
        assertZapperEmpty();
    }

    function test_aSaleMaySplitOneConstituentOverSeveralSwaps() public {
        fundSeller(stock, 10e18);
        (SwapCall[] memory swaps,) = quoteSell(stock, 10e18);
        SwapCall[] memory split = new SwapCall[](3);
        split[0] = exactInput(bravo, swaps[0].amountIn / 2);
        split[1] = swaps[1];
        split[2] = exactInput(bravo, swaps[0].amountIn); // more than is left: all of it
        sell(stock, 10e18, 0, split);
        assertEq(bravo.token.balanceOf(carol), 0);
        assertZapperEmpty();
    }

    function test_aSaleNeverTouchesMoreThanItsOwnRedemption() public {
        bravo.token.mint(address(zapper), 1e12); // somebody's mistake
        fundSeller(tech, 1e18);
        (SwapCall[] memory swaps,) = quoteSell(tech, 1e18);
        swaps[1] = exactInput(bravo, 1e12);
        sell(tech, 1e18, 0, swaps);
        assertEq(bravo.token.balanceOf(address(zapper)), 1e12);
        SwapCall[] memory twice = new SwapCall[](2);
        (twice[0], twice[1]) = (swaps[1], swaps[1]);
        fundSeller(tech, 1e18);
        vm.expectRevert(badSwap(1, "nothing to sell"));
        sell(tech, 1e18, 0, twice);
    }

    function testFuzz_donationsToTheZapperChangeNothing(uint256 donation) public {
        donation = bound(donation, 1, 1e12);
        (SwapCall[] memory swaps, uint256 gross) = quoteBuy(mixed, 5e18);
        uint256 most = gross + zapFee(gross);
        fundBuyer(2 * most);
        uint256 state = vm.snapshotState();
        buyExact(mixed, 5e18, most, swaps);
        uint256 carolAlone = usdg.balanceOf(carol);
        vm.revertToState(state);
        usdg.mint(address(zapper), donation);
        alfa.token.mint(address(zapper), donation);
        (uint256 grossAgain,) = buyExact(mixed, 5e18, most, swaps);
        assertEq(grossAgain, gross);
        assertEq(usdg.balanceOf(carol), carolAlone);
        assertEq(usdg.balanceOf(address(zapper)), donation);
        assertEq(alfa.token.balanceOf(address(zapper)), donation);
    }

    function test_aPauseStopsBuyingAndNeverSelling() public {
        (SwapCall[] memory swaps, uint256 gross) = quoteBuy(tech, 2e18);
        fundBuyer(2 * gross);
        fundSeller(tech, 2e18);
        vm.prank(guardian);
        pause.pause();
        vm.expectRevert(IBasketZapper.Paused.selector);
        buyExact(tech, 2e18, 2 * gross, swaps);
        vm.expectRevert(IBasketZapper.Paused.selector);
        buy(tech, 2 * gross, 0, swaps);
        (swaps,) = quoteSell(tech, 2e18);
        (uint256 net,,) = sell(tech, 2e18, 0, swaps);
        assertGt(net, 190e6);
    }

    function test_aRedemptionThatFallsShortRevertsTheSale() public {
        fundSeller(tech, 2e18);
        (SwapCall[] memory swaps,) = quoteSell(tech, 2e18);
        bravo.token.setBlocked(address(zapper), true);
        vm.expectRevert(abi.encodeWithSelector(IBasketZapper.PartialRedeem.selector, address(bravo.token)));
        sell(tech, 2e18, 0, swaps);
        bravo.token.setBlocked(address(zapper), false);
        assertEq(tech.owed(address(zapper), address(bravo.token)), 0);
        sell(tech, 2e18, 0, swaps);
    }

    function test_theDeadlineIsTheLastSecondThatWorks() public {
        (SwapCall[] memory swaps, uint256 gross) = quoteBuy(tech, 1e18);
        fundBuyer(10 * gross);
        uint256 now_ = vm.getBlockTimestamp();
        vm.startPrank(alice);
        vm.expectRevert(abi.encodeWithSelector(IBasketZapper.Expired.selector, now_ - 1));
        zapper.buyExact(address(tech), 1e18, 2 * gross, swaps, bob, carol, now_ - 1);
        zapper.buyExact(address(tech), 1e18, 2 * gross, swaps, bob, carol, now_);
        vm.expectRevert(abi.encodeWithSelector(IBasketZapper.Expired.selector, now_ - 1));
        zapper.buy(address(tech), 2 * gross, 0, swaps, bob, carol, now_ - 1);
        vm.expectRevert(abi.encodeWithSelector(IBasketZapper.Expired.selector, now_ - 1));
        zapper.sell(address(tech), 1e18, 0, swaps, bob, carol, now_ - 1);
        vm.stopPrank();
    }

    function test_refusesVaultsOutsideTheRegistryAndReceiversThatCannotKeep() public {
        SwapCall[] memory none;
        vm.startPrank(alice);
        vm.expectRevert(abi.encodeWithSelector(IBasketZapper.UnknownVault.selector, alice));
        zapper.sell(alice, 1, 0, none, bob, carol, WHENEVER);
        address[2] memory useless = [address(0), address(zapper)];
        for (uint256 i; i < 2; ++i) {
            bytes memory refusal = abi.encodeWithSelector(IBasketZapper.BadReceiver.selector, useless[i]);
            vm.expectRevert(refusal);
            zapper.sell(address(tech), 1, 0, none, useless[i], carol, WHENEVER);
            vm.expectRevert(refusal);
            zapper.buy(address(tech), 1, 0, none, bob, useless[i], WHENEVER);
        }
        vm.stopPrank();
    }

    function test_theVenueIsFixedAndConsistent() public {
        assertEq(zapper.usdg(), address(usdg));
        assertEq(zapper.weth(), address(weth));
        assertEq(zapper.router(), swapRouter);
        vm.expectRevert(BasketZapper.RouterMismatch.selector);
        new BasketZapper(
            address(usdg), address(weth), swapRouter, address(this), address(registry), address(pause)
        );
        vm.expectRevert(BasketZapper.RouterMismatch.selector);
        new BasketZapper(
            address(usdg), address(usdg), swapRouter, address(uniFactory), address(registry), address(pause)
        );
    }

    function assetBalance(address token, address who) private view returns (uint256) {
        return IBasketVault(token).balanceOf(who);
    }

    /// Sales of dust have nothing to swap where a constituent rounds to no unit at all.
    function withoutEmpty(SwapCall[] memory swaps) private pure returns (SwapCall[] memory kept) {
        kept = new SwapCall[](swaps.length);
        uint256 count;
        for (uint256 i; i < swaps.length; ++i) {
            if (swaps[i].amountIn != 0) kept[count++] = swaps[i];
        }
        assembly ("memory-safe") {
            mstore(kept, count)
        }
    }
}
