// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {OwnersAndStrangers} from "./OwnersAndStrangers.sol";

/// Invariants 13, 14, 15, 16, 20 and rule 21 of protocol-rules.md over both modules: two hostile keys, strangers, an
/// owner who grants, revokes, pauses and hands the Safe over, a market that moves, days that pass. An action named
/// after a refusal succeeds when it was refused, for the right reason.
contract AccountsInvariantsTest is OwnersAndStrangers {
    function setUp() public {
        foundWorld();
        bytes4[] memory selectors = new bytes4[](25);
        selectors[0] = this.act_buy.selector;
        selectors[1] = this.act_sell.selector;
        selectors[2] = this.act_trapTrade.selector;
        selectors[3] = this.act_spoiledTrade.selector;
        selectors[4] = this.act_take.selector;
        selectors[5] = this.act_request.selector;
        selectors[6] = this.act_cancel.selector;
        selectors[7] = this.act_spoiledCover.selector;
        selectors[8] = this.act_overTheLimits.selector;
        selectors[9] = this.act_replay.selector;
        selectors[10] = this.act_starve.selector;
        selectors[11] = this.act_forge.selector;
        selectors[12] = this.act_revoke.selector;
        selectors[13] = this.act_expire.selector;
        selectors[14] = this.act_handOver.selector;
        selectors[15] = this.act_pause.selector;
        selectors[16] = this.act_strangerMeddles.selector;
        selectors[17] = this.act_strangerOpens.selector;
        selectors[18] = this.act_passTime.selector;
        selectors[19] = this.act_moveMarket.selector;
        selectors[20] = this.act_holdLess.selector;
        selectors[21] = this.act_reenter.selector;
        selectors[22] = this.act_breakToken.selector;
        selectors[23] = this.act_sandwich.selector;
        selectors[24] = this.act_sandwichAfterJump.selector;
        targetContract(address(this));
        targetSelectors(address(this), selectors);
    }

    // ---------------------------------------------------------------- what the keys do

    function act_buy(uint256 seed, uint256 amount, uint256 fee) public booked("buy") {
        seed = _dice(seed);
        (bool ok,) = _send(_sign(_trade(seed, amount, true, fee)));
        if (ok) _succeed("buy");
    }

    function act_sell(uint256 seed, uint256 amount, uint256 fee) public booked("sell") {
        seed = _dice(seed);
        (bool ok,) = _send(_sign(_trade(seed, amount, false, fee)));
        if (ok) _succeed("sell");
    }

    /// The key's own pool takes from the account what the module lets through.
    function act_trapTrade(uint256 seed, uint256 amount, uint256 bps) public booked("trade through a trap") {
        seed = _dice(seed);
        ISessionModule.Action memory action = _trade(seed | 1 << 8, amount, seed >> 16 & 1 == 0, 0);
        uint256 fair = poolPrice(foxtrot.pool, address(foxtrot.token));
        movePrice(trap, address(foxtrot.token), fair * bound(bps, 9_850, 10_150) / 10_000);
        (bool ok,) = _send(_sign(_trapped(action)));
        if (ok) _succeed("trade through a trap");
    }

    /// Spot pushed to anywhere within the 3%, the trap to what the bound lets through, and both put back.
    function act_sandwich(uint256 seed, uint256 amount, uint256 slack) public booked("sandwich") {
        seed = _dice(seed);
        (bool ok,) = _sandwich(seed, amount, _within(seed >> 32, 290), bound(slack, 10, 60));
        if (ok) _succeed("sandwich");
    }

    /// The same just after the market has jumped out of the 3%: the average still stands where it was, and the key
    /// brings the pools back to it for the length of its transaction.
    function act_sandwichAfterJump(uint256 seed, uint256 amount, uint256 slack)
        public
        booked("sandwich after a jump")
    {
        seed = _dice(seed);
        bool buy = seed >> 16 & 1 == 0 || covered.balanceOf(account) < LEAST_TRADE;
        uint256 foxtrotAt = poolPrice(foxtrot.pool, address(foxtrot.token));
        uint256 golfAt = poolPrice(golf.pool, address(golf.token));
        uint256 jump = bound(seed >> 64, 400, 1_200);
        _scalePrices(buy ? 10_000 - jump : 10_000 + jump);
        (bool ok,) = _sandwich(seed, amount, _within(seed >> 32, 290), bound(slack, 10, 60));
        if (ok) _succeed("sandwich after a jump");
        movePrice(foxtrot.pool, address(foxtrot.token), foxtrotAt);
        movePrice(golf.pool, address(golf.token), golfAt);
    }

    function _within(uint256 seed, uint256 most) private pure returns (int256) {
        return int256(bound(seed, 0, 2 * most)) - int256(most);
    }

    function act_spoiledTrade(uint256 seed, uint256 amount) public booked("spoiled trade refused") {
        seed = _dice(seed);
        (ISessionModule.Action memory action, bool mayRun) =
            _spoiled(_trade(seed, amount, seed >> 16 & 1 == 0, 0), seed >> 20);
        (bool ok,) = _send(_sign(action));
        assertFalse(ok && !mayRun, "a spoiled trade ran");
        if (!ok) _succeed("spoiled trade refused");
    }

    function act_take(uint256 seed, uint256 coverUsd, uint256 fee) public booked("take") {
        seed = _dice(seed);
        (bool ok,) = _send(_sign(_take(seed, coverUsd, fee)));
        if (ok) _succeed("take");
    }

    function act_request(uint256 seed, uint256 coverUsd, uint256 fee) public booked("request") {
        seed = _dice(seed);
        vm.recordLogs();
        (bool ok,) = _send(_sign(_request(seed, coverUsd, fee)));
        if (!ok) return;
        requests.push(lastListing());
        _succeed("request");
    }

    /// Of a request, of which a stranger may have filled a part.
    function act_cancel(uint256 which, uint256 part) public {
        if (requests.length == 0) return;
        _try("cancel");
        uint256 id = requests[which % requests.length];
        ICoverMarket.Listing memory listing = market.listingOf(id);
        if (listing.openUsd > 110 && market.tradingOpen(listing.terms.week)) {
            vm.prank(underwriter);
            (bool filled,) = address(market)
                .call(abi.encodeCall(market.fill, (id, uint64(bound(part, 50, listing.openUsd - 51)))));
            if (filled) listing = market.listingOf(id);
        }
        _pick(which);
        ICoverModule.CoverAction memory action = cancelAction(id);
        action.nonce = _nextNonce();
        uint256 before = usdg.balanceOf(account);
        (bool ok,) = _send(_sign(action));
        assertEq(ok, listing.openUsd != 0, "a cancel of what is open cannot fail");
        requests[which % requests.length] = requests[requests.length - 1];
        requests.pop();
        if (ok) {
            assertEq(
                usdg.balanceOf(account), before + uint256(listing.openUsd) * listing.terms.pricePer1k / 1_000
            );
            _succeed("cancel");
        }
        _turnDay();
    }

    function act_spoiledCover(uint256 seed, uint256 coverUsd) public booked("spoiled cover refused") {
        seed = _dice(seed);
        (ICoverModule.CoverAction memory action, bytes4 why) = _spoiledCover(seed, coverUsd);
        (bool ok, bytes memory result) = _send(_sign(action));
        assertFalse(ok, "spoiled cover ran");
        assertEq(bytes4(result), why);
        _succeed("spoiled cover refused");
    }

    /// What the day has left, and a bit more.
    function act_overTheLimits(uint256 seed, uint256 amount) public booked("over a limit refused") {
        seed = _dice(seed);
        (Sent memory s, bytes4 why) = _beyond(seed, amount);
        (bool ok, bytes memory result) = _send(s);
        assertFalse(ok, "more than a limit ran");
        if (bytes4(result) == why) _succeed("over a limit refused");
    }

    /// Whatever was sent before, once more and exactly as it was.
    function act_replay(uint256 which) public {
        if (sentCount == 0) return;
        Sent storage again = sent[which % Math.min(sentCount, sent.length)];
        if (!again.succeeded) return;
        _try("replay refused");
        (bool ok,) = _submit(again, gasleft());
        assertFalse(ok, "a nonce ran twice");
        _succeed("replay refused");
        _turnDay();
    }

    /// With too little gas nothing happens, and the nonce runs later (invariant 13).
    function act_starve(uint256 seed, uint256 amount, uint256 gas_) public booked("starved call refused") {
        seed = _dice(seed);
        Sent memory s =
            seed >> 9 & 1 == 0 ? _sign(_trade(seed, amount, true, 0)) : _sign(_take(seed, amount, 0));
        (bool ok,) = _submit(s, bound(gas_, 30_000, 700_000));
        if (ok) return;
        _succeed("starved call refused");
        _send(s);
    }

    /// Signatures of others, and of the key for something else (invariant 14).
    function act_forge(uint256 seed, uint256 amount) public booked("forged signature refused") {
        seed = _dice(seed);
        ISessionModule.Action memory trade = _trade(seed, amount, true, 0);
        ICoverModule.CoverAction memory cover = _request(seed, amount, 0);
        (uint8 kind, uint256 mine) = (uint8(seed >> 64) % 5, keyKey);
        if (kind == 0) keyKey = keyKeys[1 - who]; // the other key, which has a grant of its own
        if (kind == 1) keyKey = ownerKey;
        if (kind == 2) keyKey = uint256(keccak256(abi.encode(seed)));
        bytes memory ofTrade = signature(keyKey, module.hashAction(trade));
        bytes memory ofCover = signature(keyKey, coverModule.hashAction(cover));
        keyKey = mine;
        if (kind == 3) (ofTrade, ofCover) = (ofCover, ofTrade); // of the other module
        if (kind == 4) (trade.amount, cover.deadline) = (trade.amount + 1, cover.deadline + 1); // of other terms
        bool ofModule = seed >> 72 & 1 == 0;
        (bool ok, bytes memory result) = ofModule
            ? address(module).call(abi.encodeCall(module.execute, (trade, ofTrade)))
            : address(coverModule).call(abi.encodeCall(coverModule.execute, (cover, ofCover)));
        assertFalse(ok, "a forged signature ran");
        assertEq(bytes4(result), ISessionModule.BadSignature.selector);
        assertFalse(
            ofModule ? module.nonceUsed(account, trade.nonce) : coverModule.nonceUsed(account, cover.nonce)
        );
        _succeed("forged signature refused");
    }

    // ---------------------------------------------------------------- what must hold

    /// One function: each invariant of its own would run the whole campaign again. Most of what must hold is asserted
    /// around each action, in KeyBooks.
    function invariant_a_stolen_key_stays_inside_its_grant() public view {
        _assertDaysWithinTheirLimits();
    }

    function afterInvariant() public {
        _assertIntact();
        this.report(vm, "accounts", targetSelectors());
    }
}
