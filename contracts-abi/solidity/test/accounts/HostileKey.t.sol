// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {KeyActs} from "./KeyActs.sol";

/// The worst that a stolen key can do, done on purpose: it must be possible, else the bounds of AccountsInvariants
/// hold of nothing, and it must end where the owner's limits are (invariant 15).
contract HostileKeyTest is KeyActs {
    function setUp() public {
        foundWorld();
        _pick(0); // $500 a day, 1%, $40 of cover
    }

    function test_the_worst_day_costs_slippage_fees_and_the_cover_limit_and_no_more() public {
        uint256 fair = poolPrice(foxtrot.pool, address(foxtrot.token));
        uint256 before = usdg.balanceOf(account);
        uint256 trades;
        for (uint256 i; i < 12; i++) {
            movePrice(trap, address(foxtrot.token), fair * 10_055 / 10_000);
            ISessionModule.Action memory trade = _trade(1 << 8, 0.9e18, true, 400_000);
            trade.fee = 2e6;
            (bool traded,) = _send(_sign(_trapped(trade)));
            if (traded) trades++;
        }
        uint256 covers;
        for (uint256 i; i < 8; i++) {
            // Of an underwriter who is the thief, at the highest price.
            uint256 id = placeOffer(weekTerms(300, 29_700_000));
            ICoverModule.CoverAction memory cover = takeAction(id, 300, 9e6);
            cover.nonce = _nextNonce();
            (bool bought,) = _send(_sign(cover));
            if (bought) covers++;
        }
        assertEq(trades, 5, "$500 of about $90 each");
        assertEq(covers, 4, "$40 of $8.9991 each");
        Day storage day = days_[0];
        assertLe(day.loss, 500e6 / 100 + 20e6 + 40e6);
        assertLe(day.standingLoss, 500e6 / 100 + 20e6 + 40e6, "the pools stood at the reference");
        assertGe(day.loss, 4e6 + trades * 2e6 + covers * 8_999_100, "the attack does not bite");
        assertGt(before, usdg.balanceOf(account));
        _assertIntact();
    }

    /// The module judges by the ten-minute average, so what the account loses against the prices that stand is its
    /// slippage and the gap between them and the average. Pushing the pools away from it gains a key nothing.
    function test_a_day_of_sales_while_spot_is_dearer_costs_slippage_and_the_gap_and_no_more() public {
        _scalePrices(10_290);
        _sandwichAllDay(1 << 16, 290, 290);
    }

    function test_a_day_of_buys_while_spot_is_cheaper_costs_slippage_and_the_gap_and_no_more() public {
        _scalePrices(9_710);
        _sandwichAllDay(0, -290, 290);
    }

    function test_a_day_of_sales_with_spot_pushed_away_costs_slippage_and_no_more() public {
        _sandwichAllDay(1 << 16, 290, 0);
    }

    function test_a_day_of_buys_with_spot_pushed_away_costs_slippage_and_no_more() public {
        _sandwichAllDay(0, -290, 0);
    }

    /// Rule 4 looks at spot at the moment of the trade. A market that just fell by a tenth is brought back to the
    /// average for the length of a transaction: the account pays the average for what is worth a tenth less.
    function test_a_day_of_buys_after_a_fall_costs_slippage_and_the_whole_gap_and_no_more() public {
        _scalePrices(9_000);
        _sandwichAllDay(0, 0, 1_000);
    }

    function test_a_day_of_sales_after_a_rise_costs_slippage_and_the_whole_gap_and_no_more() public {
        _scalePrices(11_000);
        _sandwichAllDay(1 << 16, 0, 1_000);
    }

    /// At `offBps` from the reference, with the prices that stand `gapBps` on the side that hurts.
    function _sandwichAllDay(uint256 direction, int256 offBps, uint256 gapBps) private {
        uint256 standing = oracle.spotNav(address(covered));
        uint256 trades;
        for (uint256 i; i < 12; i++) {
            (bool traded,) = _sandwich(direction, i < 5 ? 0.9e18 : 0.06e18, offBps, 10);
            if (traded) trades++;
            _turnDay();
        }
        assertApproxEqRel(oracle.spotNav(address(covered)), standing, 1e12, "the pools are not put back");
        Day storage day = days_[0];
        assertGe(trades, 5, "the module refused the sandwich");
        assertGe(day.turnover, 450e6, "a day's limit was left unused");
        _assertDaysWithinTheirLimits();
        // Without a fee and without cover: what is lost is lost to the pools alone.
        assertLe(day.loss, 500e6 * 100 / 10_000);
        assertLe(day.standingLoss, 500e6 * (100 + gapBps + 1) / 10_000);
        assertGe(day.standingLoss, day.turnover * (gapBps + 60) / 10_000, "the attack does not bite");
        _assertIntact();
    }

    function test_no_sandwich_runs_with_spot_further_off_than_three_percent() public {
        for (uint256 direction; direction < 2; direction++) {
            (bool ok, bytes memory result) =
                _sandwich(direction << 16, 0.9e18, direction == 0 ? -305 : int256(305), 30);
            assertFalse(ok);
            assertEq(bytes4(result), ISessionModule.SpotTooFar.selector);
        }
        assertEq(days_[0].standingLoss, 0);
    }

    /// A long campaign gets there: what a sale would be priced by is nothing then.
    function test_of_an_account_that_has_sold_all_a_sandwich_is_a_buy() public {
        ownerCalls(address(covered), abi.encodeCall(covered.transfer, (owner, covered.balanceOf(account))));
        (bool ok,) = _sandwich(1 << 16, 0.9e18, 290, 10);
        assertTrue(ok);
        assertEq(covered.balanceOf(account), 0.9e18);
    }

    /// forge-config: default.fuzz.runs = 64
    function testFuzz_random_bytes_as_data_move_nothing(bytes calldata noise, uint8 kind, uint256 amount)
        public
    {
        ISessionModule.Action memory action = _trade(1 << 8, amount, kind & 1 == 0, 0);
        action.data = noise;
        uint256 cash = usdg.balanceOf(account);
        uint256 shares = covered.balanceOf(account);
        (bool ok,) = _send(_sign(action));
        assertFalse(ok);
        assertEq(usdg.balanceOf(account), cash);
        assertEq(covered.balanceOf(account), shares);
    }
}
