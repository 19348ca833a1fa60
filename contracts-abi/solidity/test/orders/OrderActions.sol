// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {ILimitEscrow} from "../../src/interfaces/ILimitEscrow.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {IScheduleEscrow} from "../../src/interfaces/IScheduleEscrow.sol";
import {TestToken} from "../support/TestToken.sol";
import {OrderFills} from "./OrderFills.sol";

/// Every entry of the three escrows, by owners and keepers who play by the rules. What the rules refuse is counted
/// under a name of its own, where success is having been refused for the right reason.
abstract contract OrderActions is OrderFills {
    address[3] internal _owners;
    address internal _helper;

    // ---------------------------------------------------------------- owners

    function placeExit(uint256 who, uint256 shares, uint256 stop, uint256 takeProfit, uint256 bps) public {
        _try("create exit");
        Book memory book;
        book.stop = stop % 4 == 0 ? 0 : bound(stop, 91, 101) * 1e18;
        if (book.stop == 0 || takeProfit % 2 == 0) book.takeProfit = bound(takeProfit, 102, 110) * 1e18;
        if (bps % 4 == 0) book.hardFloor = bound(bps >> 8, 80, 99) * 1e18;
        book.left = bound(shares, 0.2e18, 50e18);
        _settle(book, who, bps);
        book.escrow = exits;
        IExitEscrow.ExitTerms memory terms = exitTerms(book.left, book.stop, book.takeProfit);
        (terms.slippageBps, terms.capBps) = (uint16(book.baseBps), uint16(book.capBps));
        (terms.hardFloorNav, terms.deadline) = (book.hardFloor, uint48(book.deadline));
        book.id = createExit(book.owner, terms);
        _open(book);
        _did("create exit");
    }

    function placeLimit(uint256 who, uint256 amount, uint256 trigger, uint256 bps) public {
        _try("create limit");
        Book memory book;
        book.stop = trigger % 4 == 0 ? 0 : bound(trigger, 91, 110) * 1e18;
        book.left = bound(amount, 5e6, 5_000e6);
        _settle(book, who, bps);
        book.escrow = limits;
        ILimitEscrow.LimitTerms memory terms = limitTerms(book.left, book.stop);
        (terms.slippageBps, terms.capBps) = (uint16(book.baseBps), uint16(book.capBps));
        terms.deadline = uint48(book.deadline);
        usdg.setBlocked(book.owner, false);
        book.id = createLimit(book.owner, terms);
        _open(book);
        _did("create limit");
    }

    function placeSchedule(uint256 who, uint256 amount, uint256 pace, uint256 bps) public {
        _try("create schedule");
        Book memory book;
        book.slots = 1 + pace % 6;
        book.interval = [uint256(10 minutes), 20 minutes, 1 hours, 9 hours][(pace >> 8) % 4];
        book.total = bound(amount, book.slots * 5e6, 5_000e6);
        book.left = book.total;
        uint256 delay = (pace >> 16) % 2 == 0 ? 0 : (pace >> 24) % 2 hours;
        book.startAt = _now() + delay;
        _settle(book, who, bps);
        book.deadline = book.startAt + book.slots * book.interval;
        book.escrow = schedules;
        IScheduleEscrow.ScheduleTerms memory terms = scheduleTerms(book.total, uint32(book.slots));
        (terms.slippageBps, terms.capBps) = (uint16(book.baseBps), uint16(book.capBps));
        (terms.interval, terms.startAt) = (uint32(book.interval), uint48(delay == 0 ? 0 : book.startAt));
        usdg.setBlocked(book.owner, false);
        book.id = createSchedule(book.owner, terms);
        _open(book);
        _did("create schedule");
    }

    /// Invariant 8: in every open state, whatever else is the matter.
    function cancel(uint256 which) external {
        Book storage book = _pick(which, _isOpen);
        bool allowed = _isOpen(book) && _canReturn(book);
        string memory action = allowed ? _of("cancel", book) : "refuse cancel";
        _try(action);
        uint256 held = _holds(book, book.owner);
        vm.prank(book.owner);
        try book.escrow.cancel(book.id) {
            _note(allowed, "cancelled a closed order");
            uint256 rest = _close(book, IOrderEscrow.State.Cancelled);
            _note(_holds(book, book.owner) - held == rest, "a cancel paid another amount");
            _did(action);
        } catch (bytes memory reason) {
            _note(!allowed, "the owner could not cancel");
            _refused(
                action, reason, _isOpen(book) ? TestToken.Blocked.selector : IOrderEscrow.NotOpen.selector
            );
        }
    }

    // ---------------------------------------------------------------- anyone

    function sendBack(uint256 which) external {
        Book storage book = _pick(which, _isOver);
        bool allowed = _isOver(book);
        string memory action = allowed ? _of("send back", book) : "refuse send back";
        _try(action);
        bytes4 why = !_isOpen(book)
            ? IOrderEscrow.NotOpen.selector
            : _now() < book.deadline ? IOrderEscrow.NotExpired.selector : TestToken.Blocked.selector;
        uint256 held = _holds(book, book.owner);
        vm.prank(keeper);
        try book.escrow.sendBack(book.id) {
            _note(allowed, "sent back too soon or twice");
            uint256 rest = _close(book, IOrderEscrow.State.Expired);
            _note(_holds(book, book.owner) - held == rest, "sent back another amount");
            _did(action);
        } catch (bytes memory reason) {
            _note(!allowed, "an expired order could not go back");
            _refused(action, reason, why);
        }
    }

    function arm(uint256 which) external {
        _look();
        Book storage book = _pick(which, _isArmable);
        if (!_isArmable(book) && which % 8 != 0 && !_paused && _reference != 0) book = _placeFillable(which);
        _arm(book);
    }

    function _arm(Book storage book) private {
        bytes4 why = _armRefusal(book);
        string memory action = why == 0 ? _of("arm", book) : "refuse arm";
        _try(action);
        vm.prank(keeper);
        try book.escrow.arm(book.id) {
            _note(why == 0, "armed against the rules");
            book.armedAt = _now();
            _did(action);
        } catch (bytes memory reason) {
            _note(why != 0, "a triggered order could not be armed");
            _refused(action, reason, why);
        }
    }

    function disarm(uint256 which) external {
        _look();
        Book storage book = _pick(which, _isDisarmable);
        if (which % 8 != 0 && _disarmRefusal(book) != 0) book = _turnTheMarket(which);
        bytes4 why = _disarmRefusal(book);
        string memory action = why == 0 ? "disarm" : "refuse disarm";
        _try(action);
        vm.prank(_helper);
        try book.escrow.disarm(book.id) {
            _note(why == 0, "disarmed against the rules");
            book.armedAt = 0;
            _did(action);
        } catch (bytes memory reason) {
            _note(why != 0, "an armed order without its trigger stayed armed");
            _refused(action, reason, why);
        }
    }

    /// Moves the reference past the trigger of an armed order, which is what disarming is for; without one, a stop is
    /// placed and armed first.
    function _turnTheMarket(uint256 seed) private returns (Book storage book) {
        book = _pick(seed, _isArmedByPrice);
        if (_reference == 0) return book;
        if (!_isArmedByPrice(book) && !_paused && _reference <= 101e18) {
            placeExit(seed >> 32, seed >> 64, 101, 1, seed >> 96);
            book = _books[_touched];
            _arm(book);
        }
        if (!_isArmedByPrice(book)) return book;
        uint256 nav = book.takeProfit * 98 / 100;
        if (book.stop != 0) {
            nav = book.takeProfit == 0 ? book.stop * 102 / 100 : (book.stop + book.takeProfit) / 2;
        }
        moveNav(nav / 1e16);
        vm.warp(_now() + 650);
        _look();
    }

    function _isArmedByPrice(Book storage book) private view returns (bool) {
        return _isArmed(book) && (book.stop != 0 || book.takeProfit != 0);
    }

    /// `to`: the sender (zero), somebody else, or the order's owner.
    function fill(uint256 which, uint256 to) external {
        Book storage book = _pickForFill(which);
        address executor = to % 3 == 0 ? address(0) : to % 3 == 1 ? _helper : book.owner;
        bytes4 why = _fillRefusal(book);
        if (why == 0 && usdg.blocked(book.owner)) why = TestToken.Blocked.selector;
        if (why != 0) return _fillRefused(_refusalName(why), book, executor, why);
        bool widened = _toleranceOf(book) > book.baseBps;
        if (_tryFill(_of("fill", book), book, executor) && widened) {
            _try("fill in an auction");
            _did("fill in an auction");
        }
    }

    /// Mostly an order that can be filled, an armed one for choice: a keeper may wait for its tolerance to widen.
    function _pickForFill(uint256 seed) internal returns (Book storage book) {
        _look();
        book = _pick(seed, _isInAuction);
        if (_isInAuction(book) && (seed >> 16) % 2 == 0) {
            vm.warp(_now() + (seed >> 24) % 40 minutes);
            _look();
        }
        if (!_isInAuction(book)) book = _pick(seed, _isFillable);
        if (_isFillable(book) || seed % 8 == 0 || _paused || _reference == 0) return book;
        return _placeFillable(seed);
    }

    /// Where no order can be filled though the market would allow it, an owner places one that can.
    function _placeFillable(uint256 seed) private returns (Book storage) {
        uint256 kind = (seed >> 16) % 3;
        if (kind == 0) placeExit(seed >> 32, seed >> 64, _reference <= 101e18 ? 101 : 0, 0, seed >> 96);
        if (kind == 1) placeLimit(seed >> 32, seed >> 64, _reference < 105e18 ? 107 : 0, seed >> 96);
        if (kind == 2) placeSchedule(seed >> 32, seed >> 64, seed >> 96 & ~uint256(1 << 16), seed >> 128);
        return _books[_touched];
    }

    function _refusalName(bytes4 why) private pure returns (string memory) {
        if (why == IOrderEscrow.NotOpen.selector) return "refuse fill of a closed order";
        if (why == IOrderEscrow.Paused.selector) return "refuse fill while paused";
        if (why == IOrderEscrow.OrderIsExpired.selector) return "refuse fill of an expired order";
        if (why == TestToken.Blocked.selector) return "refuse fill for a blocked owner";
        return "refuse fill without its trigger";
    }

    /// Owner, deadline, and one of four pairs of tolerance and cap; zero asks for the default.
    function _settle(Book memory book, uint256 who, uint256 bps) private view {
        book.owner = _owners[who % 3];
        book.deadline = _now() + [uint256(1 hours), 6 hours, 1 days, 2 days][(bps >> 144) % 4];
        uint256 pair = (bps >> 128) % 4;
        if (pair == 1) book.capBps = 300;
        if (pair == 2) book.baseBps = 200;
        if (pair == 3) (book.baseBps, book.capBps) = (60, 60);
    }
}
