// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {TestToken} from "../support/TestToken.sol";
import {CoverBooks} from "./CoverBooks.sol";

/// The market's own functions, each called once, judged and booked; and the choice of what to call them with.
abstract contract CoverSteps is CoverBooks {
    uint32 internal lastWeek = WEEK + 4;

    function _offer(uint256 seed, uint256 who, bool repeats) internal returns (Entry storage) {
        address owner = actors[who % 4];
        ICoverMarket.Terms memory terms_ = _terms(seed);
        uint256 held = usdg.balanceOf(owner);
        vm.prank(owner);
        uint256 id = market.offer(terms_, repeats);
        _note(held - usdg.balanceOf(owner) == uint256(terms_.coverUsd) * 1e6, "an offer locked another sum");
        _enter(id, owner, true, repeats, terms_);
        return entries[entries.length - 1];
    }

    function _request(uint256 seed) internal returns (Entry storage) {
        address owner = actors[(seed >> 1) % 4];
        ICoverMarket.Terms memory terms_ = _terms(seed);
        vm.prank(owner);
        uint256 id = market.request(terms_);
        _enter(id, owner, false, false, terms_);
        return entries[entries.length - 1];
    }

    function _terms(uint256 seed) internal returns (ICoverMarket.Terms memory terms_) {
        _publishAhead();
        (, uint32 current) = market.currentWeek();
        seed >>= 8;
        terms_.week = current + (seed % 4 == 0 ? uint32(1 + seed % 2) : 0);
        terms_.vault = (seed >> 8) % 8 == 0 ? address(duo) : address(solo);
        terms_.fromBps = uint16(bound(seed >> 16, 2, 20) * 50);
        terms_.toBps = uint16(bound(seed >> 24, terms_.fromBps / 50 + 2, 40) * 50);
        terms_.coverUsd = uint64(bound(seed >> 32, 50, 12_000));
        terms_.pricePer1k = uint128(bound(seed >> 64, 1, seed % 3 == 0 ? 100_000 : 3_000) * 10_000);
    }

    /// One or two offers of one market, named once or twice, each with what it may have.
    function _take(uint256 seed) internal returns (bool) {
        (bool some, Entry storage first) = _pickTrading(seed, true);
        if (!some) first = _offer(seed, seed >> 1, seed % 2 == 0);
        Entry storage second = first;
        (some, second) = _pickTrading(seed >> 4, true);
        if (!some || second.terms.week != first.terms.week || second.terms.vault != first.terms.vault) {
            second = first;
        }
        address buyer = _otherThan(first.owner, seed >> 8);
        if (second.owner == buyer) second = first;
        uint64[] memory asked = two64(_part(first.openUsd, seed >> 16), _part(second.openUsd, seed >> 24));
        uint256 left = _leftUsd(first);
        uint64 firstPart = _within(first.openUsd, asked[0], left);
        uint64 rest = second.id == first.id ? first.openUsd - firstPart : second.openUsd;
        if (asked[1] < 50 && asked[1] < rest) asked[1] = 50;
        uint64 secondPart = _within(rest, asked[1], left - firstPart);
        uint256 held = usdg.balanceOf(buyer);
        vm.prank(buyer);
        try market.take(two(first.id, second.id), asked, firstPart + secondPart, type(uint256).max) returns (
            uint256 taken, uint256 cost
        ) {
            _note(taken == uint256(firstPart) + secondPart, "took another amount");
            uint256 expected;
            if (firstPart != 0) expected += _book(first, buyer, firstPart);
            if (secondPart != 0) expected += _book(second, buyer, secondPart);
            _note(cost == expected && held - usdg.balanceOf(buyer) == cost, "a buyer paid another sum");
            return true;
        } catch (bytes memory why) {
            _note(
                firstPart + secondPart == 0 && bytes4(why) == ICoverMarket.TooLittleCover.selector,
                "a good take failed"
            );
            return false;
        }
    }

    /// The next market whose close snapshot can still be taken; one is sold where there is none.
    function _snapshotable(uint256 seed) internal returns (bool some, Book storage book) {
        book = _bookFor(0, address(0));
        for (uint256 i = books.length; i > 0; --i) {
            if (_canSnapshot(books[i - 1]) && (!some || books[i - 1].week < book.week)) {
                (some, book) = (true, books[i - 1]);
            }
        }
        if (some) return (some, book);
        _take(seed);
        book = books[books.length - 1];
        return (_canSnapshot(book), book);
    }

    function _canSnapshot(Book storage book) internal view returns (bool) {
        return book.soldUsd != 0 && book.outcome == ICoverMarket.Outcome.Open
            && vm.getBlockTimestamp() < uint256(closeOf(book.week)) + 3_600;
    }

    function _settleable(uint256 seed) internal returns (bool some, Book storage book) {
        for (uint256 i = books.length; i > 0; --i) {
            book = books[i - 1];
            if (
                book.outcome == ICoverMarket.Outcome.Closed
                    && vm.getBlockTimestamp() < uint256(settleOf(book.week)) + 3_600
            ) return (true, book);
        }
        (some, book) = _snapshotable(seed);
        some = some && _snapshot(book, seed);
    }

    function _snapshot(Book storage book, uint256 seed) internal returns (bool) {
        (bool some, uint256 nav) = _arrive(book.vault, closeOf(book.week), seed);
        uint256 due = Math.min(100_000, book.fees / 4);
        bool refused = _refuse(keeper, seed >> 32);
        vm.prank(seed % 2 == 0 ? keeper : bob);
        try market.snapshot(book.week, book.vault, seed % 2 == 0 ? address(0) : keeper) returns (
            uint256 reward
        ) {
            book.closeReward = _reward(due);
            _note(reward == book.closeReward, "another reward for a snapshot");
            _note(some, "a snapshot of no window");
            book.outcome = ICoverMarket.Outcome.Closed;
            book.closeNav = nav;
            _paid(keeper, reward, refused);
            _accept(keeper);
            return true;
        } catch (bytes memory why) {
            _note(!some && bytes4(why) == ICoverMarket.NoValidWindow.selector, "a good snapshot failed");
            _accept(keeper);
            return false;
        }
    }

    function _settle(Book storage book, uint256 seed) internal returns (bool) {
        (bool some, uint256 nav) = _arrive(book.vault, settleOf(book.week), seed >> 4);
        uint256 due = Math.min(100_000, book.fees / 4);
        vm.prank(bob);
        try market.settle(book.week, book.vault, keeper) returns (uint256 reward) {
            _note(reward == _reward(due), "another reward for a settlement");
            _note(some, "a settlement of no window");
            book.outcome = ICoverMarket.Outcome.Settled;
            book.settleNav = nav;
            return true;
        } catch (bytes memory why) {
            _note(!some && bytes4(why) == ICoverMarket.NoValidWindow.selector, "a good settlement failed");
            return false;
        }
    }

    function _void(Book storage book, uint256 seed) internal {
        uint256 due = Math.min(100_000, book.fees / 4) - book.closeReward;
        bool refused = _refuse(keeper, seed >> 32);
        vm.prank(keeper);
        uint256 reward = market.voidWeek(book.week, book.vault, address(0));
        _note(reward == _reward(due), "another reward for a void");
        _paid(keeper, reward, refused);
        _accept(keeper);
        book.outcome = ICoverMarket.Outcome.Void;
    }

    /// Waits for a moment of which a snapshot is wanted, notes what its windows say, and lets the market and some of
    /// the hour go by: none of it may count.
    function _arrive(address vault, uint256 time, uint256 seed) internal returns (bool some, uint256 nav) {
        if (vm.getBlockTimestamp() < time) {
            if (seed % 3 == 0) {
                // something moves within the window itself, at times too far for it to be valid
                _waitFor(time - bound(seed >> 128, 1, 600));
                _move(seed >> 8);
            }
            _waitFor(time);
            _watch(vault, time);
            _move(seed >> 16);
            _waitFor(time + bound(seed >> 136, 0, 3_000));
        }
        _watch(vault, time);
        _move(seed >> 24);
        uint256 later = vm.getBlockTimestamp() + bound(seed >> 144, 0, 500);
        _waitFor(later < time + 3_600 ? later : time + 3_599);
        _watch(vault, time);
        return _expectedNav(vault, time);
    }

    function _payout(uint256[] memory ids, address buyer, address underwriter, uint256 seed) internal {
        uint256 mode = (seed >> 32) % 6;
        address refused = mode == 0 ? buyer : mode == 1 ? underwriter : mode == 2 ? keeper : address(0);
        if (refused != address(0)) {
            if (seed % 2 == 0) usdg.setBlocked(refused, true);
            else usdg.setMisbehaviourFor(TestToken.Misbehaviour.BurnsGas, refused);
        } else if (mode == 3) {
            usdg.setMisbehaviour(TestToken.Misbehaviour.Reenters);
            usdg.setHook(address(market), abi.encodeCall(ICoverMarket.payout, (ids, bob)), false);
        }
        uint256 expected;
        uint256 due;
        for (uint256 i; i < ids.length; ++i) {
            if (ids[i] == 0 || ids[i] > sold.length) continue;
            Sold storage position = sold[ids[i] - 1];
            if (!_isDue(position)) continue;
            ++expected;
            due += _payOne(position, refused);
        }
        vm.prank(bob);
        (uint256 paid, uint256 reward) = market.payout(ids, keeper);
        _note(paid == expected, "another number of payouts");
        _note(reward == _reward(due), "another reward for payouts");
        _note(!usdg.hookSucceeded(), "came back into the market");
        _paid(keeper, reward, refused == keeper);
        usdg.setMisbehaviour(TestToken.Misbehaviour.None);
        if (refused != address(0)) usdg.setBlocked(refused, false);
    }

    /// Books one payout; what the executor earned by it.
    function _payOne(Sold storage position, address refused) internal returns (uint256) {
        (uint256 toBuyer, uint256 toUnderwriter, uint256 fee) = _split(position);
        uint256 locked = uint256(position.terms.coverUsd) * 1e6 + position.premium + position.fee;
        _note(toBuyer + toUnderwriter + fee == locked, "units lost in a payout");
        _paid(position.buyer, toBuyer, position.buyer == refused);
        _paid(position.underwriter, toUnderwriter, position.underwriter == refused);
        positionsLocked -= locked;
        pool += fee;
        position.paid = true;
        return Math.min(50_000, fee / 2);
    }

    function _returned(Entry storage entry, uint256 held, bool refused) internal {
        address owner = entry.owner;
        uint256 returned = _leave(entry);
        _note(usdg.balanceOf(owner) - held == (refused ? 0 : returned), "another sum came back");
        _paid(owner, returned, refused);
        _accept(owner);
    }

    /// Once in four the token refuses to pay `who`.
    function _refuse(address who, uint256 seed) internal returns (bool refused) {
        refused = seed % 4 == 0;
        if (refused) usdg.setBlocked(who, true);
    }

    function _accept(address who) internal {
        usdg.setBlocked(who, false);
    }

    // ---------------------------------------------------------------- choices

    function _move(uint256 seed) internal {
        uint256 bps = seed % 8 == 0 ? bound(seed >> 4, 4_000, 20_000) : bound(seed >> 4, 9_300, 10_300);
        if (seed % 5 == 0) movePrice(golf.pool, address(golf.token), golf.price * bps / 10_000);
        else moveSolo(bps);
    }

    function _waitFor(uint256 time) internal {
        if (vm.getBlockTimestamp() < time) vm.warp(time);
    }

    /// Three weeks ahead are always published.
    function _publishAhead() internal {
        while (cutoffOf(lastWeek) < vm.getBlockTimestamp() + 21 days) {
            ++lastWeek;
            if (cutoffOf(lastWeek) < vm.getBlockTimestamp() + 1 days) continue;
            vm.prank(protocolOwner);
            market.publishWeeks(calendar(lastWeek, 1));
        }
    }

    function _missedAt(Book storage book) internal view returns (uint256) {
        return
            (book.outcome == ICoverMarket.Outcome.Open ? closeOf(book.week) : settleOf(book.week)) + 1 hours;
    }

    function _findDue(uint256 seed) internal view returns (uint256) {
        for (uint256 i; i < sold.length; ++i) {
            uint256 index = (seed % sold.length + i) % sold.length;
            if (_isDue(sold[index])) return index + 1;
        }
        return 0;
    }

    /// An open listing: repeating offers, others, or either.
    function _pick(uint256 seed, bool repeating, bool once, bool offersOnly)
        internal
        view
        returns (bool, Entry storage entry)
    {
        uint256 count = entries.length;
        entry = count == 0 ? _none() : entries[0];
        for (uint256 i; i < count; ++i) {
            entry = entries[(seed % count + count - i) % count];
            if (entry.openUsd == 0 || (entry.repeats ? !repeating : !once)) continue;
            if (!offersOnly || entry.isOffer || once) return (true, entry);
        }
        return (false, entry);
    }

    /// An open listing of a week that trades.
    function _pickTrading(uint256 seed, bool isOffer) internal view returns (bool, Entry storage entry) {
        uint256 count = entries.length;
        entry = count == 0 ? _none() : entries[0];
        for (uint256 i; i < count; ++i) {
            entry = entries[(seed % count + count - i) % count];
            if (entry.openUsd == 0 || entry.isOffer != isOffer) continue;
            if (cutoffOf(entry.terms.week) > vm.getBlockTimestamp() && market.tradingOpen(entry.terms.week)) {
                return (true, entry);
            }
        }
        return (false, entry);
    }

    function _none() internal pure returns (Entry storage entry) {
        assembly ("memory-safe") {
            entry.slot := not(0)
        }
    }

    function _otherThan(address owner, uint256 seed) internal view returns (address who) {
        who = actors[seed % 4];
        if (who == owner) who = actors[(seed % 4 + 1) % 4];
    }

    function _part(uint64 openUsd, uint256 seed) internal pure returns (uint64) {
        return openUsd < 50 || seed % 3 == 0 ? openUsd : uint64(bound(seed >> 8, 50, openUsd));
    }

    function _within(uint64 openUsd, uint64 asked, uint256 left) internal pure returns (uint64) {
        uint64 part = asked < openUsd ? asked : openUsd;
        if (part <= left) return part;
        return left < 50 ? 0 : uint64(left);
    }

    function _leftUsd(Entry storage entry) internal view returns (uint256) {
        return market.capOf(entry.terms.vault) - _soldOf(entry.terms.week, entry.terms.vault);
    }
}
