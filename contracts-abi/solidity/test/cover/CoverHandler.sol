// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {CoverSteps} from "./CoverSteps.sol";

/// Weeks of cover: four people who buy and underwrite, a keeper, a token that refuses them in turn, a market that moves
/// within the block. An action steers to where it can succeed (it waits for a cutoff, sells before it settles), so that
/// every function of the market is reached in every state.
contract CoverHandler is CoverSteps {
    uint256 private _founded;

    /// Not in the constructor: pools call back, and a contract under construction has no code to be called.
    function found() external {
        deployCover();
        actors = [writer, scribe, alice, bob];
        for (uint256 i; i < 4; ++i) {
            fund(actors[i], 1e18);
        }
    }

    // ---------------------------------------------------------------- listings

    function offer(uint256 seed) external {
        _try("offer");
        _offer(seed, seed >> 1, seed % 2 == 0);
        _succeed("offer");
    }

    function request(uint256 seed) external {
        _try("request");
        _request(seed);
        _succeed("request");
    }

    function cancel(uint256 seed) external {
        (bool some, Entry storage entry) = _pick(seed, true, true, true);
        if (!some) return;
        _try("cancel");
        bool refused = _refuse(entry.owner, seed >> 8);
        uint256 held = usdg.balanceOf(entry.owner);
        vm.prank(entry.owner);
        market.cancel(entry.id);
        _returned(entry, held, refused);
        _succeed("cancel");
    }

    function stopRepeating(uint256 seed) external {
        (bool some, Entry storage entry) = _pick(seed, true, false, true);
        if (!some) entry = _offer(seed, seed >> 1, true);
        _try("stop repeating");
        vm.prank(entry.owner);
        market.stopRepeating(entry.id);
        entry.repeats = false;
        _succeed("stop repeating");
    }

    function sendBack(uint256 seed) external {
        (bool some, Entry storage entry) = _pick(seed, false, true, false);
        if (!some) entry = _offer(seed, seed >> 1, false);
        _try("send back");
        _waitFor(cutoffOf(entry.terms.week) + seed % 3 * 1 hours);
        bool refused = _refuse(entry.owner, seed >> 8);
        uint256 held = usdg.balanceOf(entry.owner);
        vm.prank(keeper);
        market.sendBack(entry.id);
        _returned(entry, held, refused);
        _succeed("send back");
    }

    function roll(uint256 seed) external {
        (bool some, Entry storage entry) = _pick(seed, true, false, true);
        if (!some) entry = _offer(seed, seed >> 1, true);
        _try("roll");
        _waitFor(cutoffOf(entry.terms.week) + seed % 3 * 1 hours);
        _publishAhead();
        (, uint32 current) = market.currentWeek();
        vm.prank(keeper);
        uint256 next = market.roll(entry.id);
        _note(next != entry.id && current > entry.terms.week, "rolled into the past");
        ICoverMarket.Terms memory terms_ = entry.terms;
        (terms_.week, terms_.coverUsd) = (current, entry.openUsd);
        address owner = entry.owner;
        _leave(entry);
        _enter(next, owner, true, true, terms_);
        _succeed("roll");
    }

    // ---------------------------------------------------------------- sales

    function take(uint256 seed) external {
        _try("take");
        if (_take(seed)) _succeed("take");
    }

    function fill(uint256 seed) external {
        (bool some, Entry storage entry) = _pickTrading(seed, false);
        if (!some) entry = _request(seed);
        _try("fill");
        address underwriter = _otherThan(entry.owner, seed >> 8);
        uint64 part = _part(entry.openUsd, seed >> 16);
        uint256 left = _leftUsd(entry);
        uint256 held = usdg.balanceOf(underwriter);
        vm.prank(underwriter);
        try market.fill(entry.id, part) returns (uint256 id) {
            _note(part <= left, "filled over the cap");
            _note(id == sold.length + 1, "a position out of order");
            _note(
                held - usdg.balanceOf(underwriter) == uint256(part) * 1e6, "an underwriter locked another sum"
            );
            _book(entry, underwriter, part);
            _succeed("fill");
        } catch (bytes memory why) {
            _note(part > left && bytes4(why) == ICoverMarket.CapReached.selector, "a good fill failed");
        }
    }

    // ---------------------------------------------------------------- settlement

    function snapshot(uint256 seed) external {
        _try("snapshot");
        (bool some, Book storage book) = _snapshotable(seed);
        if (some && _snapshot(book, seed)) _succeed("snapshot");
    }

    function settle(uint256 seed) external {
        _try("settle");
        (bool some, Book storage book) = _settleable(seed);
        if (some && _settle(book, seed)) _succeed("settle");
    }

    function voidWeek(uint256 seed) external {
        _try("void");
        Book storage book;
        bool some;
        for (uint256 i = books.length; i > 0 && !some; --i) {
            some = books[i - 1].soldUsd != 0 && books[i - 1].outcome < ICoverMarket.Outcome.Settled
                && vm.getBlockTimestamp() >= _missedAt(books[i - 1]);
            book = books[i - 1];
            if (some) _void(book, seed);
        }
        if (some) return _succeed("void");
        (some, book) = _snapshotable(seed);
        if (!some) return;
        if (seed % 2 == 0 && _snapshot(book, seed)) seed >>= 1; // then the settlement is missed
        _waitFor(_missedAt(book) + seed % 1_000);
        _void(book, seed);
        _succeed("void");
    }

    /// Due, early, paid and invented positions in one batch, while the token refuses somebody, burns his gas, or comes
    /// back into the market.
    function payout(uint256 seed) external {
        _try("payout");
        uint256 due = _findDue(seed);
        if (due == 0) {
            (bool some, Book storage book) = _settleable(seed);
            if (some) _settle(book, seed);
            due = _findDue(seed);
            if (due == 0) return;
        }
        uint256[] memory ids = new uint256[](5);
        (ids[0], ids[1], ids[2]) = (seed >> 8, due, (seed >> 16) % (sold.length + 2));
        (ids[3], ids[4]) = (due, due > 1 ? due - 1 : due);
        _payout(ids, sold[due - 1].buyer, sold[due - 1].underwriter, seed);
        _succeed("payout");
    }

    function claim(uint256 seed) external {
        for (uint256 i; i < 5; ++i) {
            uint256 which = (seed % 5 + i) % 5;
            address creditor = which == 4 ? keeper : actors[which];
            if (owed[creditor] == 0) continue;
            _try("claim");
            address to = actors[(seed >> 8) % 4];
            uint256 held = usdg.balanceOf(to);
            vm.prank(creditor);
            uint256 amount = market.claim(to);
            _note(amount == owed[creditor], "claimed another amount");
            _note(usdg.balanceOf(to) - held == amount, "a claim was not delivered");
            owed[creditor] = 0;
            return _succeed("claim");
        }
    }

    /// A pool at or below its reserve has nothing to send: every second time it is filled above it first. Not each
    /// time, so that pools which are almost empty stay among the states.
    function collectFees(uint256 seed) external {
        _try("collect fees");
        if (pool <= 10e6) {
            if (seed % 2 == 0) return;
            _fundFees(actors[(seed >> 8) % 4], bound(seed >> 16, 10e6 - pool + 1, 20e6));
        }
        uint256 held = usdg.balanceOf(treasury);
        vm.prank(keeper);
        uint256 amount = market.collectFees();
        _note(amount == pool - 10e6, "collected another amount");
        _note(usdg.balanceOf(treasury) - held == amount, "fees went elsewhere");
        pool = 10e6;
        _succeed("collect fees");
    }

    /// Often less than a step costs, so that pools that are empty and almost empty stay among the states.
    function fundFees(uint256 seed) external {
        _try("fund fees");
        _fundFees(actors[seed % 4], bound(seed >> 8, 1, seed % 3 == 0 ? 20e6 : 100_000));
        _succeed("fund fees");
    }

    function _fundFees(address from, uint256 amount) private {
        uint256 held = usdg.balanceOf(from);
        vm.prank(from);
        market.fundFees(amount);
        _note(held - usdg.balanceOf(from) == amount, "funded with another sum");
        pool += amount;
    }

    // ---------------------------------------------------------------- the owner, the world

    function publishWeeks(uint256) external {
        _try("publish weeks");
        _publishAhead();
        if (closeOf(lastWeek + 1) > vm.getBlockTimestamp() + 200 days) return;
        vm.prank(protocolOwner);
        market.publishWeeks(calendar(++lastWeek, 1));
        _succeed("publish weeks");
    }

    /// Three more baskets at the most: each is founded anew. What the earlier ones pledged may leave too little depth.
    function listVault(uint256 seed) external {
        if (_founded == 3) return;
        moveSolo(10_000); // a vault is founded at the price that it states
        address vault = address(foundOf(vm.toString(++_founded), india));
        uint64 most = market.depthCapOf(vault);
        if (most < 50) {
            bytes memory why = abi.encodeWithSelector(ICoverMarket.CapTooHigh.selector, uint64(50), most);
            vm.expectRevert(why);
            vm.prank(protocolOwner);
            market.listVault(vault, 50);
            return;
        }
        _try("list vault");
        vm.prank(protocolOwner);
        market.listVault(vault, uint64(bound(seed, 50, most)));
        _note(market.capOf(vault) <= most, "listed over its depth");
        _succeed("list vault");
    }

    function changeOwner(uint256 seed) external {
        _try("change owner");
        address next = actors[seed % 4];
        vm.prank(protocolOwner);
        market.transferOwnership(next);
        vm.prank(next);
        market.acceptOwnership();
        vm.prank(next);
        market.transferOwnership(protocolOwner);
        _note(market.owner() == next, "owned by whom it was only offered to");
        vm.prank(protocolOwner);
        market.acceptOwnership();
        _succeed("change owner");
    }

    function moveMarket(uint256 seed) external {
        _try("move market");
        _move(seed);
        _succeed("move market");
    }

    function letTimePass(uint256 seed) external {
        _try("let time pass");
        skip(seed % 3 == 0 ? bound(seed >> 2, 1, 3 days) : bound(seed >> 2, 1, 2 hours));
        _succeed("let time pass");
    }

    function donate(uint256 amount) external {
        _try("donate");
        amount = bound(amount, 1, 1e12);
        usdg.mint(address(market), amount);
        donated += amount;
        _succeed("donate");
    }
}
