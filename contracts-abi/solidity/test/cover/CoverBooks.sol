// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {HandlerStats} from "../support/HandlerStats.sol";
import {CoverFixture} from "./CoverFixture.sol";

/// What the market should hold and owe, kept apart from it, and the first thing that went against the rules. Nothing
/// here reverts on a finding, since a reverting action would take the finding back with it.
abstract contract CoverBooks is CoverFixture, HandlerStats {
    struct Entry {
        uint256 id;
        address owner;
        bool isOffer;
        bool repeats;
        uint64 openUsd;
        ICoverMarket.Terms terms;
    }

    struct Sold {
        address buyer;
        address underwriter;
        ICoverMarket.Terms terms; // coverUsd: of this position
        uint256 premium;
        uint256 fee;
        bool paid;
    }

    struct Book {
        uint32 week;
        address vault;
        uint256 soldUsd;
        uint256 fees;
        ICoverMarket.Outcome outcome;
        uint256 closeNav;
        uint256 settleNav;
        uint256 closeReward;
    }

    struct Window {
        bool seen;
        bool valid;
        uint256 nav;
    }

    string public violation;
    Entry[] internal entries;
    Sold[] internal sold;
    Book[] internal books;
    mapping(uint32 week => mapping(address vault => uint256 indexPlusOne)) private _bookOf;
    mapping(address vault => mapping(uint256 endsAt => Window)) private _windows;
    address[4] internal actors;

    uint256 internal openLocked; // in listings
    uint256 internal positionsLocked; // cover, premiums and fees of unpaid positions
    uint256 internal donated;
    uint256 internal pool; // fees
    mapping(address creditor => uint256) internal owed;

    // ---------------------------------------------------------------- what must hold

    /// Invariant 17, and what the books say of every credit.
    function holds() external view returns (bool) {
        uint256 credits = owed[keeper];
        if (market.credits(keeper) != owed[keeper]) return false;
        for (uint256 i; i < 4; ++i) {
            if (market.credits(actors[i]) != owed[actors[i]]) return false;
            credits += owed[actors[i]];
        }
        return market.feePool() == pool
            && usdg.balanceOf(address(market)) == openLocked + positionsLocked + credits + pool + donated;
    }

    /// Every listing, position and market as the books have it: snapshots never change, nothing is sold past a cap.
    function agrees() external view returns (bool) {
        for (uint256 i; i < entries.length; ++i) {
            ICoverMarket.Listing memory listing = market.listingOf(entries[i].id);
            if (listing.openUsd != entries[i].openUsd || listing.owner != entries[i].owner) return false;
            if (listing.repeats != entries[i].repeats) return false;
        }
        for (uint256 i; i < sold.length; ++i) {
            ICoverMarket.Position memory position = market.positionOf(i + 1);
            if (position.paid != sold[i].paid || position.buyer == position.underwriter) return false;
            if (position.premium != sold[i].premium || position.fee != sold[i].fee) return false;
        }
        for (uint256 i; i < books.length; ++i) {
            Book storage book = books[i];
            ICoverMarket.Market memory found = market.marketOf(book.week, book.vault);
            if (found.outcome != book.outcome || found.soldUsd != book.soldUsd) return false;
            if (found.closeNav != book.closeNav || found.settleNav != book.settleNav) return false;
            if (found.fees != book.fees || found.soldUsd > market.capOf(book.vault)) return false;
        }
        return market.positionCount() == sold.length;
    }

    function _note(bool isSo, string memory what) internal {
        if (!isSo && bytes(violation).length == 0) violation = what;
    }

    // ---------------------------------------------------------------- entries

    function _enter(uint256 id, address owner, bool isOffer, bool repeats, ICoverMarket.Terms memory of_)
        internal
    {
        entries.push(Entry(id, owner, isOffer, repeats, of_.coverUsd, of_));
        openLocked += _lockOf(isOffer, of_.coverUsd, of_.pricePer1k);
    }

    function _lockOf(bool isOffer, uint256 coverUsd, uint256 price) internal pure returns (uint256) {
        return isOffer ? coverUsd * 1e6 : coverUsd * price / 1_000;
    }

    function _leave(Entry storage entry) internal returns (uint256 returned) {
        returned = _lockOf(entry.isOffer, entry.openUsd, entry.terms.pricePer1k);
        openLocked -= returned;
        entry.openUsd = 0;
    }

    /// A sale out of `entry`, by the formulas of the interface.
    function _book(Entry storage entry, address other, uint64 coverUsd) internal returns (uint256 cost) {
        Sold memory position;
        position.terms = entry.terms;
        position.terms.coverUsd = coverUsd;
        uint256 quoted = uint256(coverUsd) * entry.terms.pricePer1k / 1_000;
        position.fee = (quoted + 99) / 100;
        position.premium = entry.isOffer ? quoted : quoted - position.fee;
        (position.buyer, position.underwriter) = entry.isOffer ? (other, entry.owner) : (entry.owner, other);
        sold.push(position);
        openLocked -= _lockOf(entry.isOffer, coverUsd, entry.terms.pricePer1k);
        positionsLocked += uint256(coverUsd) * 1e6 + position.premium + position.fee;
        entry.openUsd -= coverUsd;
        Book storage book = _bookFor(entry.terms.week, entry.terms.vault);
        book.soldUsd += coverUsd;
        book.fees += position.fee;
        return position.premium + position.fee;
    }

    function _bookFor(uint32 week, address vault) internal returns (Book storage) {
        if (_bookOf[week][vault] == 0) {
            books.push();
            books[books.length - 1].week = week;
            books[books.length - 1].vault = vault;
            _bookOf[week][vault] = books.length;
        }
        return books[_bookOf[week][vault] - 1];
    }

    function _soldOf(uint32 week, address vault) internal view returns (uint256) {
        uint256 index = _bookOf[week][vault];
        return index == 0 ? 0 : books[index - 1].soldUsd;
    }

    function _isDue(Sold storage position) internal view returns (bool) {
        if (position.paid) return false;
        ICoverMarket.Outcome outcome = books[_bookOf[position.terms.week][position.terms.vault] - 1].outcome;
        return outcome == ICoverMarket.Outcome.Settled || outcome == ICoverMarket.Outcome.Void;
    }

    // ---------------------------------------------------------------- money

    /// Invariant 18: what a due position pays to whom, in whole numbers of the interface's own formula.
    function _split(Sold storage position)
        internal
        view
        returns (uint256 toBuyer, uint256 toUnderwriter, uint256 fee)
    {
        Book storage book = books[_bookOf[position.terms.week][position.terms.vault] - 1];
        uint256 cover = uint256(position.terms.coverUsd) * 1e6;
        if (book.outcome == ICoverMarket.Outcome.Void) return (position.premium + position.fee, cover, 0);
        if (book.settleNav < book.closeNav) {
            uint256 drop = (book.closeNav - book.settleNav) * 10_000;
            uint256 from = book.closeNav * position.terms.fromBps;
            uint256 width = book.closeNav * (position.terms.toBps - position.terms.fromBps);
            if (drop > from) toBuyer = Math.mulDiv(cover, Math.min(drop - from, width), width);
        }
        return (toBuyer, cover - toBuyer + position.premium, position.fee);
    }

    /// A payment that was delivered, or credited where `refused`.
    function _paid(address to, uint256 amount, bool refused) internal {
        if (refused) owed[to] += amount;
    }

    function _reward(uint256 due) internal returns (uint256 reward) {
        reward = Math.min(due, pool);
        pool -= reward;
    }

    // ---------------------------------------------------------------- windows

    /// Notes what the windows of `time` say as soon as each has ended.
    function _watch(address vault, uint256 time) internal {
        for (
            uint256 endsAt = time; endsAt <= time + 1_800 && endsAt <= vm.getBlockTimestamp(); endsAt += 600) {
            Window storage window = _windows[vault][endsAt];
            if (window.seen) continue;
            (uint256 nav, INavOracle.Invalid reason,) = oracle.tryNavAt(vault, endsAt);
            (window.seen, window.valid, window.nav) = (true, reason == INavOracle.Invalid.None, nav);
            if (window.valid) return;
        }
    }

    /// Invariant 19: the value that everyone must get, from what was noted before.
    function _expectedNav(address vault, uint256 time) internal view returns (bool some, uint256 nav) {
        for (
            uint256 endsAt = time; endsAt <= time + 1_800 && endsAt <= vm.getBlockTimestamp(); endsAt += 600) {
            Window storage window = _windows[vault][endsAt];
            if (window.valid) return (true, window.nav);
        }
    }
}
