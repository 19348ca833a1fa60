// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {BasketZapper} from "../../src/basket/BasketZapper.sol";
import {IBasketZapper} from "../../src/interfaces/IBasketZapper.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {LyingRouter} from "./LyingRouter.sol";
import {LyingRouterFixture} from "./LyingRouterFixture.sol";

/// Invariant 6 without trust in the router: whatever it says, takes, pays or calls, the trade reverts and changes
/// nothing, or the caller loses at most what he offered and gets at least what he asked for.
contract LyingRouterTest is LyingRouterFixture {
    uint256 private constant LIE_AT = 1; // the second of three swaps
    uint256 private constant HALF = 5_000;

    function setUp() public {
        deployLiar();
    }

    // ---------------------------------------------------------------- the router that tells the truth

    function test_an_honest_turn_trades_both_ways() public {
        Trade memory sale = _plan(tech, false);
        liar.arm(LyingRouter.Lie.None, 0, 0);
        assertTrue(_tradeWithin(sale, false));
        assertGe(usdg.balanceOf(bob), sale.least);
        Trade memory purchase = _plan(tech, true);
        liar.arm(LyingRouter.Lie.None, 0, 0);
        assertTrue(_tradeWithin(purchase, true));
        assertEq(tech.balanceOf(bob), purchase.shares);
        _nothingIsLeft();
    }

    // ---------------------------------------------------------------- what it says

    function test_an_exact_input_does_not_listen_to_what_the_router_says() public {
        uint256 honest = _sold(LyingRouter.Lie.None, HALF);
        assertEq(_sold(LyingRouter.Lie.SaysMore, HALF), honest);
        assertEq(_sold(LyingRouter.Lie.SaysLess, HALF), honest);
        assertEq(_sold(LyingRouter.Lie.SaysLess, type(uint256).max / 2), honest);
        assertEq(_sold(LyingRouter.Lie.ReturnsBomb, HALF), honest);
    }

    function test_an_exact_output_that_cost_something_else_than_the_router_says_reverts() public {
        _refused(tech, true, LyingRouter.Lie.SaysMore, 0, badSwap(LIE_AT, "not consumed"));
        _refused(tech, true, LyingRouter.Lie.SaysLess, 0, badSwap(LIE_AT, "not consumed"));
        _refused(tech, true, LyingRouter.Lie.OverchargesInSecret, 0, badSwap(LIE_AT, "not consumed"));
        _refused(tech, true, LyingRouter.Lie.SaysNothing, 0, "");
        _refused(tech, false, LyingRouter.Lie.SaysNothing, 0, "");
    }

    // ---------------------------------------------------------------- what it pays

    function test_a_router_that_pays_less_than_the_seller_asked_for_sells_nothing() public {
        bytes4 why = IBasketZapper.TooLittleUsdg.selector;
        _refused(tech, false, LyingRouter.Lie.PaysShort, 8_000, abi.encodePacked(why));
        _refused(tech, false, LyingRouter.Lie.PaysNothing, 0, abi.encodePacked(why));
        _refused(tech, false, LyingRouter.Lie.PaysElsewhere, 0, abi.encodePacked(why));
        _refused(tech, false, LyingRouter.Lie.PaysAnother, 0, abi.encodePacked(why));
        assertEq(usdg.balanceOf(thief), 0);
    }

    function test_a_router_that_pays_less_than_the_shares_need_mints_nothing() public {
        bytes4 why = IBasketZapper.TooFewShares.selector;
        _refused(tech, true, LyingRouter.Lie.PaysShort, 9_999, abi.encodePacked(why));
        _refused(tech, true, LyingRouter.Lie.PaysNothing, 0, abi.encodePacked(why));
        _refused(tech, true, LyingRouter.Lie.PaysElsewhere, 0, abi.encodePacked(why));
        _refused(tech, true, LyingRouter.Lie.PaysAnother, 0, abi.encodePacked(why));
    }

    /// One base unit decides: of what the seller asked for, and of what a share needs.
    function test_the_bounds_hold_to_the_base_unit() public {
        Trade memory sale = _plan(tech, false);
        uint256 id = vm.snapshotState();
        liar.arm(LyingRouter.Lie.PaysShort, LIE_AT, 9_000);
        sale.least = 0;
        vm.prank(alice);
        (uint256 net,,) = zapper.sell(address(tech), sale.shares, 0, sale.swaps, bob, carol, WHENEVER);
        vm.revertToState(id);
        liar.arm(LyingRouter.Lie.PaysShort, LIE_AT, 9_000);
        sale.least = net;
        assertTrue(_tradeWithin(sale, false), "exactly what was asked for");
        vm.revertToStateAndDelete(id);
        liar.arm(LyingRouter.Lie.PaysShort, LIE_AT, 9_000);
        sale.least = net + 1;
        assertFalse(_tradeWithin(sale, false), "one base unit less than asked for");
    }

    function test_whatever_the_router_pays_too_much_is_the_traders() public {
        uint256 honest = _sold(LyingRouter.Lie.None, 0);
        assertGt(_sold(LyingRouter.Lie.PaysMore, HALF), honest);
        Trade memory trade = _plan(tech, true);
        liar.arm(LyingRouter.Lie.PaysMore, LIE_AT, HALF);
        assertTrue(_tradeWithin(trade, true));
        assertApproxEqRel(bravo.token.balanceOf(carol), tech.previewMint(trade.shares)[1] / 2, 1e12);
        _nothingIsLeft();
    }

    /// Who asks for nothing gets what the router pays, and still loses no more than he brought.
    function test_without_a_least_the_router_decides_what_is_paid_and_nothing_else() public {
        Trade memory trade = _plan(tech, false);
        trade.least = 0;
        liar.arm(LyingRouter.Lie.PaysElsewhere, LIE_AT, 0);
        assertTrue(_tradeWithin(trade, false));
        assertGt(usdg.balanceOf(thief), 0);
        assertEq(tech.balanceOf(alice), 0);
        _nothingIsLeft();
    }

    /// What was slipped in, of whatever token, is in no ledger: it helps no leg and stays where it was put.
    function test_a_token_that_nobody_asked_for_counts_for_nothing() public {
        Trade memory trade = _plan(tech, false);
        trade.least = 0;
        liar.arm(LyingRouter.Lie.PaysAnother, 0, 7e8);
        assertTrue(_tradeWithin(trade, false));
        address strayed = liar.strayed();
        assertEq(strayed, address(bravo.token));
        assertEq(bravo.token.balanceOf(address(zapper)), liar.strayAmount());
        assertEq(bravo.token.balanceOf(carol), 0);
        _grabNothing();
    }

    // ---------------------------------------------------------------- what it takes

    function test_an_exact_input_is_consumed_whole_or_not_at_all() public {
        bytes memory why = badSwap(LIE_AT, "not consumed");
        for (uint256 i; i < 2; ++i) {
            bool buying = i == 1;
            _refused(tech, buying, LyingRouter.Lie.TakesShort, 9_999, why);
            _refused(tech, buying, LyingRouter.Lie.TakesShort, 0, why);
            _refused(tech, buying, LyingRouter.Lie.TakesNothing, 0, why);
            _refused(tech, buying, LyingRouter.Lie.GivesBack, 9_999, why);
            _refused(tech, buying, LyingRouter.Lie.GivesBack, 0, why);
        }
    }

    function test_no_more_than_the_allowance_is_ever_taken() public {
        bytes memory underflow = abi.encodeWithSignature("Panic(uint256)", 0x11);
        _refused(tech, false, LyingRouter.Lie.TakesMore, 0, underflow);
        _refused(tech, true, LyingRouter.Lie.TakesMore, 0, underflow);
    }

    function test_an_exact_output_may_cost_less_and_the_rest_of_the_allowance_is_withdrawn() public {
        Trade memory trade = _plan(tech, true);
        liar.arm(LyingRouter.Lie.Undercharges, LIE_AT, 0);
        assertTrue(_tradeWithin(trade, true));
        usdg.mint(address(zapper), 5e6); // something to take
        _grabNothing();
        usdg.burn(address(zapper), 5e6);
        _nothingIsLeft();
    }

    function test_an_exact_output_may_cost_all_that_the_swap_allows_and_no_more() public {
        Trade memory trade = _plan(tech, true);
        uint256 before = usdg.balanceOf(address(liar));
        liar.arm(LyingRouter.Lie.None, 0, 0);
        uint256 id = vm.snapshotState();
        assertTrue(_tradeWithin(trade, true));
        uint256 honest = usdg.balanceOf(address(liar)) - before;
        vm.revertToState(id);
        liar.arm(LyingRouter.Lie.Overcharges, LIE_AT, 0);
        assertTrue(_tradeWithin(trade, true));
        uint256 dear = usdg.balanceOf(address(liar)) - before;
        assertGt(dear, honest);
        uint256 most;
        for (uint256 i; i < trade.swaps.length; ++i) {
            most += trade.swaps[i].amountIn;
        }
        assertLe(dear, most);
        assertLe(usdg.balanceOf(address(liar)) - before, trade.cash);
        _nothingIsLeft();
    }

    /// The genuine router may pay a WETH input with ether of its own; a lying one can use that to take nothing, which
    /// costs the seller nothing: the WETH is his.
    function test_weth_that_the_router_did_not_take_goes_back() public {
        Trade memory trade = _plan(mixed, false);
        uint256 due = mixed.previewRedeem(trade.shares)[1];
        liar.arm(LyingRouter.Lie.TakesNothing, LIE_AT, 0);
        assertTrue(_tradeWithin(trade, false));
        assertEq(weth.balanceOf(carol), due);
        _nothingIsLeft();
        // Half of it is neither.
        _refused(mixed, false, LyingRouter.Lie.TakesShort, HALF, badSwap(LIE_AT, "not consumed"));
    }

    // ---------------------------------------------------------------- reverts and bombs

    function test_a_router_that_reverts_stops_the_trade_with_its_own_words() public {
        bytes memory junk = hex"deadbeef00ff";
        liar.setJunk(junk);
        _refused(tech, false, LyingRouter.Lie.RevertsJunk, 0, junk);
        _refused(tech, true, LyingRouter.Lie.RevertsJunk, 0, junk);
        _refused(tech, false, LyingRouter.Lie.RevertsBomb, 0, new bytes(100_000));
        _refused(tech, false, LyingRouter.Lie.BurnsGas, 0, "");
        _refused(tech, true, LyingRouter.Lie.BurnsGas, 0, "");
    }

    function test_a_bomb_of_return_data_does_not_reach_the_trade() public {
        Trade memory trade = _plan(tech, true);
        liar.arm(LyingRouter.Lie.ReturnsBomb, LIE_AT, 0);
        assertTrue(_tradeWithin(trade, true));
        _nothingIsLeft();
    }

    // ---------------------------------------------------------------- calling back

    function test_a_router_that_calls_back_finds_the_zapper_shut() public {
        bytes memory shut = abi.encodePacked(ReentrancyGuard.ReentrancyGuardReentrantCall.selector);
        for (uint256 i; i < 2; ++i) {
            bool buying = i == 1;
            Trade memory own = _plan(tech, buying);
            _callsBack(
                own,
                buying,
                address(zapper),
                abi.encodeCall(zapper.buy, (address(tech), 1e6, 0, own.swaps, thief, thief, WHENEVER)),
                shut
            );
            _callsBack(
                own,
                buying,
                address(zapper),
                abi.encodeCall(zapper.buyExact, (address(tech), 1, 1e6, own.swaps, thief, thief, WHENEVER)),
                shut
            );
            _callsBack(
                own,
                buying,
                address(zapper),
                abi.encodeCall(zapper.sell, (address(tech), 1, 0, own.swaps, thief, thief, WHENEVER)),
                shut
            );
            address[] memory tokens = new address[](1);
            uint256[] memory amounts = new uint256[](1);
            (tokens[0], amounts[0]) = (address(usdg), 1);
            _callsBack(
                own,
                buying,
                address(zapper),
                abi.encodeCall(zapper.payForMint, (tokens, amounts)),
                abi.encodePacked(BasketZapper.NotMinting.selector)
            );
        }
        assertEq(tech.balanceOf(thief) + usdg.balanceOf(thief), 0);
    }

    /// The vault is open meanwhile, as it always is: for whom brings his own tokens and his own shares.
    function test_a_router_that_calls_the_vault_gets_what_anybody_gets() public {
        giveShares(tech, address(liar), 1e18);
        for (uint256 i; i < 2; ++i) {
            Trade memory trade = _plan(tech, i == 1);
            _armCall(address(tech), abi.encodeCall(tech.redeem, (0.5e18, thief)));
            assertTrue(_tradeWithin(trade, i == 1));
            assertTrue(liar.callSucceeded());
        }
        assertEq(tech.balanceOf(address(liar)), 0);
        // Without shares nothing, and nothing of what lies in the zapper or of the traders' allowances.
        bytes[3] memory calls = [
            abi.encodeCall(tech.redeem, (1, thief)),
            abi.encodeCall(tech.transferFrom, (alice, thief, 1)),
            abi.encodeCall(tech.mintOnPayment, (1e18, thief))
        ];
        for (uint256 i; i < calls.length; ++i) {
            Trade memory trade = _plan(tech, i == 1);
            _armCall(address(tech), calls[i]);
            assertTrue(_tradeWithin(trade, i == 1));
            assertTrue(liar.calledBack());
            assertFalse(liar.callSucceeded());
        }
        assertEq(tech.balanceOf(thief), 0);
        _nothingIsLeft();
    }

    // ---------------------------------------------------------------- steps

    /// Alice trades ten shares, bob receives, carol gets what is left over; bounds 3% off the fair price.
    function _plan(BasketVault vault, bool buying) private returns (Trade memory trade) {
        trade.vault = vault;
        (trade.payer, trade.to, trade.refundTo) = (alice, bob, carol);
        _prepare(trade, buying);
    }

    function _sold(LyingRouter.Lie lie, uint256 size) private returns (uint256 net) {
        Trade memory trade = _plan(tech, false);
        uint256 before = usdg.balanceOf(bob);
        liar.arm(lie, LIE_AT, size);
        assertTrue(_tradeWithin(trade, false));
        _nothingIsLeft();
        return usdg.balanceOf(bob) - before;
    }

    /// The trade reverts with `why` (its selector where `why` is four bytes) and changes nothing.
    function _refused(BasketVault vault, bool buying, LyingRouter.Lie lie, uint256 size, bytes memory why)
        private
    {
        Trade memory trade = _plan(vault, buying);
        liar.arm(lie, LIE_AT, size);
        Before memory before = _before(trade);
        bytes memory call_ = buying
            ? abi.encodeCall(
                zapper.buyExact, (address(vault), trade.shares, trade.cash, trade.swaps, bob, carol, WHENEVER)
            )
            : abi.encodeCall(
                zapper.sell, (address(vault), trade.shares, trade.least, trade.swaps, bob, carol, WHENEVER)
            );
        vm.prank(alice);
        (bool ok, bytes memory reason) = address(zapper).call{gas: 30_000_000}(call_);
        assertFalse(ok, "the lie went through");
        if (why.length == 4) assertEq(abi.encodePacked(bytes4(reason)), why);
        else assertEq(reason, why);
        _assertUnchanged(trade, before);
        liar.arm(LyingRouter.Lie.None, 0, 0);
        assertTrue(_tradeWithin(trade, buying), "the same trade passes without the lie");
        _nothingIsLeft();
    }

    function _callsBack(
        Trade memory trade,
        bool buying,
        address target,
        bytes memory payload,
        bytes memory why
    ) private {
        if (buying) _fundBuy(trade);
        else _fundSale(trade);
        _armCall(target, payload);
        assertTrue(_tradeWithin(trade, buying));
        assertTrue(liar.calledBack(), "it never called back");
        assertFalse(liar.callSucceeded(), "a door was open");
        assertEq(liar.callResult(), why);
        _nothingIsLeft();
    }

    function _armCall(address target, bytes memory payload) private {
        liar.setCall(target, payload);
        liar.arm(LyingRouter.Lie.CallsBack, LIE_AT, 0);
    }

    function _nothingIsLeft() private {
        this.assertZapperKeepsNothing();
        _grabNothing();
    }
}
