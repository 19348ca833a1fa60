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
        assertGe(day.loss, 4e6 + trades * 2e6 + covers * 8_999_100, "the attack does not bite");
        assertGt(before, usdg.balanceOf(account));
        _assertIntact();
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
