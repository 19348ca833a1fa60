// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {TestToken} from "../support/TestToken.sol";
import {CoverHandler} from "./CoverHandler.sol";

/// What must be refused, among what must not. An attack succeeds as an action when the market refused it for the reason
/// that it should.
contract CoverAttacks is CoverHandler {
    uint256 private _pausableAt;

    function meddleAsAStranger(uint256 seed) external {
        _try("stranger refused");
        (bool some, Entry storage entry) = _pick(seed, true, true, false);
        if (!some) entry = _offer(seed, seed >> 1, true);
        address stranger = _otherThan(entry.owner, seed >> 8);
        bool refused =
            _refusedTo(stranger, abi.encodeCall(market.cancel, (entry.id)), ICoverMarket.NotOwner.selector);
        refused = refused
            && _refusedTo(
                stranger, abi.encodeCall(market.stopRepeating, (entry.id)), ICoverMarket.NotOwner.selector
            );
        refused = refused && _refusesOwnership(stranger);
        if (owed[stranger] == 0) {
            refused = refused
                && _refusedTo(
                    stranger, abi.encodeCall(market.claim, (stranger)), ICoverMarket.NothingOwed.selector
                );
        }
        if (refused) _succeed("stranger refused");
    }

    function tradeOutOfTime(uint256 seed) external {
        _try("trade out of time refused");
        uint256 count = entries.length;
        if (count == 0) return;
        Entry storage entry = entries[seed % count];
        bool refused = true;
        if (market.tradingOpen(entry.terms.week)) {
            if (entry.openUsd == 0) entry = _offer(seed, seed >> 1, seed % 2 == 0);
            bytes4 still = ICoverMarket.StillTrading.selector;
            refused = _refusedTo(keeper, abi.encodeCall(market.sendBack, (entry.id)), still)
                && _refusedTo(keeper, abi.encodeCall(market.roll, (entry.id)), still);
        } else {
            bytes4 closed = ICoverMarket.TradingClosed.selector;
            address other = _otherThan(entry.owner, seed >> 8);
            ICoverMarket.Terms memory terms_ = entry.terms;
            terms_.coverUsd = 50;
            refused = _refusedTo(other, abi.encodeCall(market.offer, (terms_, true)), closed)
                && _refusedTo(other, abi.encodeCall(market.request, (terms_)), closed);
            bytes memory purchase =
                abi.encodeCall(market.take, (one(entry.id), one64(50), 0, type(uint256).max));
            refused = refused && (!entry.isOffer || _refusedTo(other, purchase, closed));
            if (!entry.isOffer && entry.openUsd != 0) {
                refused = refused && _refusedTo(other, abi.encodeCall(market.fill, (entry.id, 50)), closed);
            }
        }
        if (refused) _succeed("trade out of time refused");
    }

    function settleOutOfTime(uint256 seed) external {
        if (books.length == 0) return;
        Book storage book = books[seed % books.length];
        if (book.soldUsd == 0) return;
        _try("settle out of time refused");
        uint256 now_ = vm.getBlockTimestamp();
        bytes4 early = ICoverMarket.TooEarly.selector;
        bytes4 late = ICoverMarket.TooLate.selector;
        bytes4 wrong = ICoverMarket.WrongOutcome.selector;
        bool refused = true;
        if (book.outcome == ICoverMarket.Outcome.Open) {
            refused = _stepRefused(book, 1, wrong);
            if (now_ < closeOf(book.week)) refused = refused && _stepRefused(book, 0, early);
            if (now_ >= _missedAt(book)) refused = refused && _stepRefused(book, 0, late);
            else refused = refused && _stepRefused(book, 2, early);
        } else if (book.outcome == ICoverMarket.Outcome.Closed) {
            refused = _stepRefused(book, 0, wrong);
            if (now_ < settleOf(book.week)) refused = refused && _stepRefused(book, 1, early);
            if (now_ >= _missedAt(book)) refused = refused && _stepRefused(book, 1, late);
            else refused = refused && _stepRefused(book, 2, early);
        } else {
            for (uint256 step; step < 3; ++step) {
                refused = refused && _stepRefused(book, step, wrong);
            }
        }
        if (refused) _succeed("settle out of time refused");
    }

    /// Paid, early and invented positions, and executors of the protocol's own.
    function payOutWrongly(uint256 seed) external {
        _try("wrong payout refused");
        address[5] memory own =
            [address(market), address(usdg), address(oracle), address(registry), address(pause)];
        uint256[] memory ids = two(sold.length == 0 ? 0 : 1 + seed % sold.length, sold.length + 1);
        bool refused = _refusedTo(
            bob, abi.encodeCall(market.payout, (ids, own[seed % 5])), ICoverMarket.BadExecutor.selector
        );
        if (ids[0] == 0 || !_isDue(sold[ids[0] - 1])) {
            refused = refused
                && _refusedTo(
                    bob, abi.encodeCall(market.payout, (ids, bob)), ICoverMarket.NothingToPay.selector
                );
        } else {
            vm.prank(bob);
            (bool ok,) = address(market).call{gas: seed % 400_000}(abi.encodeCall(market.payout, (ids, bob)));
            _note(!ok, "a starved payout went through");
            refused = refused && !ok;
        }
        if (refused) _succeed("wrong payout refused");
    }

    function dealWithOneself(uint256 seed) external {
        _try("dealing with oneself refused");
        bool isOffer = seed % 2 == 0;
        (bool some, Entry storage entry) = _pickTrading(seed, isOffer);
        if (!some) entry = isOffer ? _offer(seed, seed >> 1, true) : _request(seed);
        bytes memory deal = isOffer
            ? abi.encodeCall(market.take, (one(entry.id), one64(entry.openUsd), 0, type(uint256).max))
            : abi.encodeCall(market.fill, (entry.id, entry.openUsd));
        if (_refusedTo(entry.owner, deal, ICoverMarket.OwnListing.selector)) {
            _succeed("dealing with oneself refused");
        }
    }

    /// More than there is, or at less than it costs.
    function takeTooMuch(uint256 seed) external {
        _try("unfair take refused");
        (bool some, Entry storage entry) = _pickTrading(seed, true);
        if (!some) entry = _offer(seed, seed >> 1, true);
        address buyer = _otherThan(entry.owner, seed >> 8);
        bytes memory greedy = abi.encodeCall(
            market.take,
            (one(entry.id), one64(type(uint64).max), uint256(entry.openUsd) + 1, type(uint256).max)
        );
        bool refused = _refusedTo(buyer, greedy, ICoverMarket.TooLittleCover.selector);
        if (_leftUsd(entry) >= entry.openUsd) {
            uint256 cost = costOf(entry.openUsd, entry.terms.pricePer1k);
            bytes memory cheap =
                abi.encodeCall(market.take, (one(entry.id), one64(entry.openUsd), 0, cost - 1));
            refused = refused && _refusedTo(buyer, cheap, ICoverMarket.TooDear.selector);
        }
        if (refused) _succeed("unfair take refused");
    }

    function tradeWhilePaused(uint256 seed) external {
        if (vm.getBlockTimestamp() < _pausableAt) return;
        _try("trade while paused refused");
        (bool some, Entry storage entry) = _pickTrading(seed, true);
        if (!some) entry = _offer(seed, seed >> 1, true);
        vm.prank(guardian);
        pause.pause();
        ICoverMarket.Terms memory terms_ = entry.terms;
        terms_.coverUsd = 50;
        address other = _otherThan(entry.owner, seed >> 8);
        bytes4 why = ICoverMarket.Paused.selector;
        bool refused = _refusedTo(other, abi.encodeCall(market.offer, (terms_, true)), why)
            && _refusedTo(other, abi.encodeCall(market.request, (terms_)), why)
            && _refusedTo(
                other, abi.encodeCall(market.take, (one(entry.id), one64(50), 0, type(uint256).max)), why
            );
        vm.prank(guardian);
        pause.unpause();
        _pausableAt = vm.getBlockTimestamp() + 1 days;
        if (refused) _succeed("trade while paused refused");
    }

    /// With nothing, with what the token keeps a part of, and with what it only claims to have moved.
    function fundWithoutMoney(uint256 seed) external {
        _try("empty funding refused");
        address from = actors[seed % 4];
        bool refused =
            _refusedTo(from, abi.encodeCall(market.fundFees, (0)), ICoverMarket.NothingToFund.selector);
        bytes memory gift = abi.encodeCall(market.fundFees, (bound(seed >> 8, 100, 20e6)));
        usdg.setMisbehaviour(TestToken.Misbehaviour.FeeOnTransfer);
        refused = refused && _refusedTo(from, gift, ICoverMarket.BadTerms.selector);
        usdg.setMisbehaviour(TestToken.Misbehaviour.LiesTrue);
        refused = refused && _refusedTo(from, gift, ICoverMarket.BadTerms.selector);
        usdg.setMisbehaviour(TestToken.Misbehaviour.None);
        if (refused) _succeed("empty funding refused");
    }

    /// In a world aside, since a market without an owner runs out of weeks. Whoever was offered the ownership has lost
    /// it, nobody has the owner's powers, and a week that was published is sold, settled and paid out as any other.
    function renounce(uint256 seed) external {
        _try("renounce");
        _publishAhead();
        uint256 world = vm.snapshotState();
        address next = actors[seed % 4];
        vm.prank(protocolOwner);
        market.transferOwnership(next);
        vm.prank(protocolOwner);
        market.renounceOwnership();
        _note(market.owner() == address(0), "renounced, and still owned");
        _note(market.pendingOwner() == address(0), "renounced, and still offered");
        bool done = _refusesOwnership(protocolOwner) && _refusesOwnership(next) && _outlives(seed >> 8);
        _note(this.holds() && this.agrees(), "a market without an owner holds another sum");
        string memory found = violation;
        vm.revertToStateAndDelete(world);
        _note(bytes(found).length == 0, found);
        if (done) _succeed("renounce");
    }

    // ---------------------------------------------------------------- steps

    /// Nothing here publishes weeks: those ahead are enough for one market's life.
    function _outlives(uint256 seed) private returns (bool) {
        this.fundFees(seed);
        (bool some,) = _pick(seed, true, true, true);
        if (some) this.cancel(seed);
        _take(seed);
        (bool closed, Book storage book) = _settleable(seed);
        if (!closed || !_settle(book, seed)) {
            if (book.soldUsd == 0 || book.outcome >= ICoverMarket.Outcome.Settled) return false;
            _waitFor(_missedAt(book));
            _void(book, seed);
        }
        uint256 due = _findDue(seed);
        if (due == 0) return false;
        _payout(one(due), sold[due - 1].buyer, sold[due - 1].underwriter, seed);
        this.claim(seed);
        this.collectFees(seed);
        return true;
    }

    function _refusesOwnership(address stranger) private returns (bool) {
        bytes4 why = Ownable.OwnableUnauthorizedAccount.selector;
        return _refusedTo(stranger, abi.encodeCall(market.publishWeeks, (calendar(lastWeek + 1, 1))), why)
            && _refusedTo(stranger, abi.encodeCall(market.listVault, (address(solo), 50)), why)
            && _refusedTo(stranger, abi.encodeCall(market.transferOwnership, (stranger)), why)
            && _refusedTo(stranger, abi.encodeCall(market.acceptOwnership, ()), why)
            && _refusedTo(stranger, abi.encodeCall(market.renounceOwnership, ()), why);
    }

    function _stepRefused(Book storage book, uint256 step, bytes4 why) private returns (bool) {
        bytes4 selector = step == 0
            ? market.snapshot.selector
            : step == 1 ? market.settle.selector : market.voidWeek.selector;
        return _refusedTo(bob, abi.encodeWithSelector(selector, book.week, book.vault, bob), why);
    }

    function _refusedTo(address who, bytes memory what, bytes4 expected) private returns (bool) {
        vm.prank(who);
        (bool ok, bytes memory why) = address(market).call(what);
        _note(!ok, "an attack went through");
        _note(bytes4(why) == expected, "an attack was refused for another reason");
        return !ok && bytes4(why) == expected;
    }
}
