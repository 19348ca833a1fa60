// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {ILimitEscrow} from "../../src/interfaces/ILimitEscrow.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {FillPricing} from "../../src/orders/FillPricing.sol";
import {OrderEscrow} from "../../src/orders/OrderEscrow.sol";
import {OrderFixture} from "./OrderFixture.sol";

/// A market, three owners, keepers and vandals in random order. Keeps its own books of what every order is owed, and
/// notes the first thing that happened against the rules; nothing here reverts on a finding, since a reverting
/// action would take the finding back with it.
contract OrderHandler is OrderFixture {
    struct Book {
        OrderEscrow escrow;
        bytes32 id;
        address owner;
        uint256 amount;
        uint256 deadline;
        bool open;
    }

    uint256 private constant LIFETIME = 2 days;

    string public violation;
    Book[] private _books;
    Book private _nothing;
    mapping(address escrow => uint256) public donatedUsdg;
    mapping(address escrow => uint256) public donatedShares;
    mapping(bytes32 what => uint256) private _times;
    address[3] private _owners;
    uint256 private _pausable;
    uint256 private _navBps = 10_000;

    /// Not in the constructor: pools call back, and a contract under construction has no code to be called.
    function found() external {
        deployWorld();
        _owners = [alice, bob, makeAddr("carol")];
    }

    // ---------------------------------------------------------------- actions

    function placeExit(uint256 who, uint256 shares, uint256 stop, uint256 takeProfit) external {
        shares = bound(shares, 0.2e18, 50e18);
        stop = stop % 4 == 0 ? 0 : bound(stop, 91, 101) * 1e18;
        takeProfit = stop == 0 || takeProfit % 2 == 0 ? bound(takeProfit, 102, 110) * 1e18 : 0;
        address owner = _owners[who % 3];
        IExitEscrow.ExitTerms memory terms = exitTerms(shares, stop, takeProfit);
        terms.deadline = uint48(vm.getBlockTimestamp() + LIFETIME);
        bytes32 id = createExit(owner, terms);
        _books.push(Book(exits, id, owner, shares, terms.deadline, true));
        _count("exit placed");
    }

    function placeLimit(uint256 who, uint256 amount, uint256 trigger) external {
        amount = bound(amount, 5e6, 5_000e6);
        trigger = trigger % 4 == 0 ? 0 : bound(trigger, 91, 110) * 1e18;
        address owner = _owners[who % 3];
        ILimitEscrow.LimitTerms memory terms = limitTerms(amount, trigger);
        terms.deadline = uint48(vm.getBlockTimestamp() + LIFETIME);
        bytes32 id = createLimit(owner, terms);
        _books.push(Book(limits, id, owner, amount, terms.deadline, true));
        _count("limit placed");
    }

    /// A new level, or a few percent off the last one: where floors are missed and auctions help.
    function movePrice(uint256 bps) external {
        uint256 jitter = bound(bps >> 8, 0, 800);
        _navBps = bps % 4 == 0 ? bound(bps >> 8, 9_000, 11_000) : bound(_navBps + jitter - 400, 9_000, 11_000);
        moveNav(_navBps);
    }

    function letTimePass(uint256 time) external {
        passTime(bound(time, 0, 1_500));
    }

    function letDaysPass(uint256 time) external {
        warpWithReference(vm.getBlockTimestamp() + bound(time, 1 hours, 3 days));
    }

    function togglePause() external {
        if (pause.paused()) {
            unpauseProtocol();
        } else if (vm.getBlockTimestamp() >= _pausable) {
            pauseProtocol();
            _pausable = vm.getBlockTimestamp() + 9 days; // past the cooldown whatever happens
            _count("paused");
        }
    }

    function donate(uint256 which, uint256 amount) external {
        address escrow = which % 2 == 0 ? address(exits) : address(limits);
        amount = bound(amount, 1, 1e18);
        giveShares(escrow, amount);
        usdg.mint(escrow, amount / 1e9);
        donatedShares[escrow] += amount;
        donatedUsdg[escrow] += amount / 1e9;
    }

    /// `executor`: the sender (zero), another address, or one that must be refused.
    function fill(uint256 which, uint256 executor) external {
        (bool some, Book storage book) = _pick(which);
        if (!some) return;
        SwapCall[] memory swaps =
            _isExit(book) ? sellSwaps(book.amount) : buySwaps(FillPricing.grossWithin(book.amount));
        address payee = executor % 3 == 0 ? address(0) : executor % 3 == 1 ? bob : address(vault);
        Before memory before = _before(book, payee == address(0) ? keeper : payee);
        vm.recordLogs();
        vm.prank(keeper);
        try book.escrow.fill(book.id, swaps, payee) returns (uint256 fee) {
            book.open = false;
            _note(before.open, "filled a closed order");
            _note(before.triggered, "filled without its trigger");
            _note(payee != address(vault), "paid the vault as executor");
            _checkFill(book, before, fee);
            _count(_isExit(book) ? "exit filled" : "limit filled");
            if (before.tolerance > 100) _count("auction filled");
        } catch (bytes memory reason) {
            _checkRefusal(book, before, reason, payee == address(vault));
        }
    }

    function cancel(uint256 which, uint256 who) external {
        (bool some, Book storage book) = _pick(which);
        if (!some) return;
        // The owner half of the time: cancelling too often would leave nothing to fill.
        address caller = who % 2 == 0 ? book.owner : keeper;
        uint256 held = _escrowToken(book, book.owner);
        vm.prank(caller);
        try book.escrow.cancel(book.id) {
            _note(book.open, "cancelled a closed order");
            _note(caller == book.owner, "a stranger cancelled");
            _note(_escrowToken(book, book.owner) - held == book.amount, "a cancel paid another amount");
            book.open = false;
            _count("cancelled");
        } catch {
            _note(!book.open || caller != book.owner, "the owner could not cancel");
        }
    }

    function sendBack(uint256 which) external {
        (bool some, Book storage book) = _pick(which);
        if (!some) return;
        bool expired = vm.getBlockTimestamp() >= book.deadline;
        uint256 held = _escrowToken(book, book.owner);
        vm.prank(keeper);
        try book.escrow.sendBack(book.id) {
            _note(book.open && expired, "sent back too soon or twice");
            _note(_escrowToken(book, book.owner) - held == book.amount, "sent back another amount");
            book.open = false;
            _count("sent back");
        } catch {
            _note(!book.open || !expired, "an expired order could not go back");
        }
    }

    function arm(uint256 which) external {
        (bool some, Book storage book) = _pick(which);
        if (!some) return;
        (bool triggered,) = book.escrow.triggered(book.id);
        bool armed = book.escrow.armedAt(book.id) != 0;
        vm.prank(keeper);
        try book.escrow.arm(book.id) {
            _note(triggered && !armed, "armed without a trigger or over another arming");
            _note(book.escrow.toleranceBps(book.id) == 100, "arming widened at once");
            _count("armed");
        } catch {
            _note(!triggered || armed, "a triggered order could not be armed");
        }
    }

    function disarm(uint256 which) external {
        (bool some, Book storage book) = _pick(which);
        if (!some) return;
        // Three times of four an armed order, where there is one.
        for (uint256 i = _books.length; i > 0 && which % 4 != 0; i--) {
            if (_books[i - 1].escrow.armedAt(_books[i - 1].id) == 0) continue;
            book = _books[i - 1];
            break;
        }
        (bool triggered, uint256 referenceNav) = book.escrow.triggered(book.id);
        bool armed = book.escrow.armedAt(book.id) != 0;
        bool decidable = !pause.paused() && vm.getBlockTimestamp() < book.deadline && referenceNav != 0;
        vm.prank(bob);
        try book.escrow.disarm(book.id) {
            _note(book.open && armed && (!triggered || !decidable), "disarmed while triggered");
            _note(book.escrow.toleranceBps(book.id) == 100, "disarming left a wide tolerance");
            _count("disarmed");
        } catch {
            _note(!armed || triggered || !decidable, "an armed order without trigger stayed armed");
        }
    }

    // ---------------------------------------------------------------- books

    function owed(address escrow) external view returns (uint256 sum) {
        for (uint256 i; i < _books.length; i++) {
            if (_books[i].open && address(_books[i].escrow) == escrow) sum += _books[i].amount;
        }
    }

    /// Every order's state, tolerance and arming agree with the books.
    function ordersAgree() external view returns (bool) {
        for (uint256 i; i < _books.length; i++) {
            Book storage book = _books[i];
            if ((book.escrow.stateOf(book.id) == IOrderEscrow.State.Open) != book.open) return false;
            if (book.escrow.ownerOf(book.id) != book.owner) return false;
            uint256 tolerance = book.escrow.toleranceBps(book.id);
            uint256 armed = book.escrow.armedAt(book.id);
            if (armed == 0 ? tolerance != 100 : tolerance < 100 || tolerance > 500) return false;
            if (armed != 0 && (!book.open || vm.getBlockTimestamp() >= armed + 60 minutes)) return false;
        }
        return true;
    }

    function isPaused() external view returns (bool) {
        return pause.paused();
    }

    function times(string calldata what) external view returns (uint256) {
        return _times[keccak256(bytes(what))];
    }

    function world() external view returns (address, address, address, address, address) {
        return (address(exits), address(limits), address(vault), address(usdg), address(zapper));
    }

    struct Before {
        bool open;
        bool triggered;
        uint256 tolerance;
        uint256 floor; // zero where there is none now
        uint256 ownerUsdg;
        uint256 ownerShares;
        uint256 payeeUsdg;
        address payee;
    }

    function _before(Book storage book, address payee) private view returns (Before memory before) {
        before.open = book.open;
        (before.triggered,) = book.escrow.triggered(book.id);
        before.tolerance = book.escrow.toleranceBps(book.id);
        if (before.triggered) {
            before.floor = _isExit(book) ? exits.floorOf(book.id) : limits.floorOf(book.id);
        }
        before.ownerUsdg = usdg.balanceOf(book.owner);
        before.ownerShares = vault.balanceOf(book.owner);
        before.payeeUsdg = usdg.balanceOf(payee);
        before.payee = payee;
    }

    function _checkFill(Book storage book, Before memory before, uint256 fee) private {
        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 net) =
            lastFill(address(book.escrow));
        _note(fee == executorFee && fee == book.escrow.executorFeeOf(gross), "executor fee off its formula");
        if (before.payee == book.owner) {
            _note(usdg.balanceOf(book.owner) - before.ownerUsdg == net + fee, "owner and executor not paid");
        } else {
            _note(usdg.balanceOf(before.payee) - before.payeeUsdg == fee, "executor not paid its fee");
            _note(usdg.balanceOf(book.owner) - before.ownerUsdg == net, "owner not paid the net");
        }
        if (_isExit(book)) {
            _note(gross >= before.floor, "an exit under its floor");
            _note(net + protocolFee + fee == gross, "an exit lost units");
        } else {
            uint256 bought = vault.balanceOf(book.owner) - before.ownerShares;
            _note(bought >= before.floor, "a buy under its floor");
            _note(gross + protocolFee + fee + net == book.amount, "a buy lost units");
        }
    }

    function _checkRefusal(Book storage book, Before memory before, bytes memory reason, bool badExecutor)
        private
    {
        bytes4 why = bytes4(reason);
        if (!before.open) {
            _note(why == IOrderEscrow.NotOpen.selector, "wrong refusal of a closed order");
        } else if (pause.paused()) {
            _note(why == IOrderEscrow.Paused.selector, "wrong refusal while paused");
        } else if (vm.getBlockTimestamp() >= book.deadline) {
            _note(why == IOrderEscrow.OrderIsExpired.selector, "wrong refusal of an expired order");
        } else if (badExecutor) {
            _note(why == IOrderEscrow.BadExecutor.selector, "wrong refusal of an executor");
        } else if (!before.triggered) {
            _note(
                why == IOrderEscrow.NotTriggered.selector || why == INavOracle.NoReference.selector,
                "wrong refusal without a trigger"
            );
        } else {
            _note(why == IOrderEscrow.BelowFloor.selector, "a due fill failed for another reason");
            _count("below floor");
        }
    }

    function _escrowToken(Book storage book, address who) private view returns (uint256) {
        return _isExit(book) ? vault.balanceOf(who) : usdg.balanceOf(who);
    }

    /// Mostly one of the four newest open orders, so that arming, waiting and filling meet on one order; else any.
    function _pick(uint256 which) private view returns (bool some, Book storage book) {
        uint256 count = _books.length;
        book = count == 0 ? _nothing : _books[which % count];
        if (which % 8 == 0) return (count != 0, book);
        uint256 skipped = (which >> 8) % 4;
        for (uint256 i = count; i > 0; i--) {
            if (!_books[i - 1].open) continue;
            book = _books[i - 1];
            if (skipped == 0) break;
            skipped--;
        }
        return (count != 0, book);
    }

    function _isExit(Book storage book) private view returns (bool) {
        return address(book.escrow) == address(exits);
    }

    function _note(bool holds, string memory what) private {
        if (!holds && bytes(violation).length == 0) violation = what;
    }

    function _count(string memory what) private {
        _times[keccak256(bytes(what))]++;
    }
}
