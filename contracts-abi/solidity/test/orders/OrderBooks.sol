// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {ILimitEscrow} from "../../src/interfaces/ILimitEscrow.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {IScheduleEscrow} from "../../src/interfaces/IScheduleEscrow.sol";
import {OrderEscrow} from "../../src/orders/OrderEscrow.sol";
import {HandlerStats} from "../support/HandlerStats.sol";
import {OrderFixture} from "./OrderFixture.sol";

/// What every order should be by the rules alone, kept beside the escrows and never read from them: ledgers, slots,
/// armings, tolerances, triggers. Where the two differ, `violation` keeps the first difference; nothing here reverts
/// on a finding, since a reverting action would take the finding back with it.
abstract contract OrderBooks is OrderFixture, HandlerStats {
    struct Book {
        OrderEscrow escrow;
        bytes32 id;
        address owner;
        IOrderEscrow.State state;
        uint256 left; // base units in escrow
        uint256 deadline;
        uint256 baseBps;
        uint256 capBps;
        uint256 armedAt;
        uint256 stop; // of an exit, or the trigger of a limit
        uint256 takeProfit;
        uint256 hardFloor;
        uint256 total; // this and the rest: of a schedule
        uint256 slots;
        uint256 interval;
        uint256 startAt;
        uint256 nextSlot;
        uint256 filledSlots; // one bit each
        uint256 filled;
    }

    string public violation;
    mapping(address escrow => uint256) public owed;
    mapping(address owner => uint256) public exitShares;
    mapping(bytes32 action => uint256) private _done;
    Book[] internal _books;
    Book private _nothing;
    uint256 internal _touched; // index of the book that the last action was about

    // The market as an action finds it.
    uint256 internal _reference; // zero without one
    uint256 internal _spot;
    bool internal _paused;

    // ---------------------------------------------------------------- the rules, told again

    /// Not block.timestamp: the optimiser would keep it across a warp within an action.
    function _now() internal view returns (uint256) {
        return vm.getBlockTimestamp();
    }

    function _slotOf(Book storage book) internal view returns (bool open, uint256 slot) {
        if (_now() < book.startAt) return (false, 0);
        slot = (_now() - book.startAt) / book.interval;
        return slot < book.slots ? (true, slot) : (false, book.slots);
    }

    function _budgetOf(Book storage book, uint256 slot) internal view returns (uint256) {
        uint256 slice = book.total / book.slots;
        return slot + 1 < book.slots ? slice : book.total - slice * (book.slots - 1);
    }

    /// What a fill of this moment would take.
    function _amountNow(Book storage book) internal view returns (uint256) {
        if (!_isSchedule(book)) return book.left;
        (, uint256 slot) = _slotOf(book);
        return _budgetOf(book, slot);
    }

    function _isArmed(Book storage book) internal view returns (bool) {
        if (book.armedAt == 0 || _now() >= book.armedAt + 60 minutes) return false;
        if (!_isSchedule(book)) return true;
        (, uint256 slot) = _slotOf(book);
        return book.armedAt >= book.startAt + slot * book.interval;
    }

    function _toleranceOf(Book storage book) internal view returns (uint256) {
        if (!_isArmed(book)) return book.baseBps;
        uint256 elapsed = _now() - book.armedAt;
        if (elapsed > 30 minutes) elapsed = 30 minutes;
        return book.baseBps + (book.capBps - book.baseBps) * elapsed / 30 minutes;
    }

    function _triggerHolds(Book storage book) internal view returns (bool) {
        if (_isSchedule(book)) {
            (bool open, uint256 slot) = _slotOf(book);
            return open && book.filledSlots >> slot & 1 == 0;
        }
        if (_isLimit(book)) return book.stop == 0 || _reference <= book.stop;
        return (book.stop != 0 && _reference <= book.stop)
            || (book.takeProfit != 0 && _reference >= book.takeProfit);
    }

    /// Why nothing at all may be filled or armed; zero where something may.
    function _refusal(Book storage book) internal view returns (bytes4) {
        if (book.state != IOrderEscrow.State.Open) return IOrderEscrow.NotOpen.selector;
        if (_paused) return IOrderEscrow.Paused.selector;
        if (_now() >= book.deadline) return IOrderEscrow.OrderIsExpired.selector;
        return 0;
    }

    function _fillRefusal(Book storage book) internal view returns (bytes4 why) {
        why = _refusal(book);
        if (why == 0 && _reference == 0) why = INavOracle.NoReference.selector;
        if (why == 0 && !_triggerHolds(book)) why = IOrderEscrow.NotTriggered.selector;
    }

    function _armRefusal(Book storage book) internal view returns (bytes4 why) {
        why = _refusal(book);
        if (why == 0 && _isArmed(book)) why = IOrderEscrow.AlreadyArmed.selector;
        return why == 0 ? _fillRefusal(book) : why;
    }

    function _disarmRefusal(Book storage book) internal view returns (bytes4) {
        if (book.state != IOrderEscrow.State.Open) return IOrderEscrow.NotOpen.selector;
        if (!_isArmed(book)) return IOrderEscrow.NotArmed.selector;
        if (_reference == 0) return INavOracle.NoReference.selector;
        return _triggerHolds(book) ? IOrderEscrow.StillTriggered.selector : bytes4(0);
    }

    // ---------------------------------------------------------------- changes

    function _open(Book memory book) internal {
        book.state = IOrderEscrow.State.Open;
        book.baseBps = book.baseBps == 0 ? 100 : book.baseBps;
        book.capBps = book.capBps == 0 ? 500 : book.capBps;
        _books.push(book);
        _touched = _books.length - 1;
        owed[address(book.escrow)] += book.left;
        if (address(book.escrow) == address(exits)) exitShares[book.owner] += book.left;
    }

    function _takeFilled(Book storage book) internal returns (uint256 returned) {
        book.armedAt = 0;
        if (!_isSchedule(book)) {
            _close(book, IOrderEscrow.State.Filled);
            return 0;
        }
        (, uint256 slot) = _slotOf(book);
        uint256 budget = _budgetOf(book, slot);
        book.filledSlots |= 1 << slot;
        book.filled++;
        book.nextSlot = slot + 1;
        book.left -= budget;
        owed[address(book.escrow)] -= budget;
        if (slot + 1 == book.slots) returned = _close(book, IOrderEscrow.State.Filled);
    }

    function _close(Book storage book, IOrderEscrow.State state) internal returns (uint256 rest) {
        rest = book.left;
        owed[address(book.escrow)] -= rest;
        if (_isExit(book)) exitShares[book.owner] -= rest;
        (book.state, book.left, book.armedAt) = (state, 0, 0);
        if (_isSchedule(book)) {
            (, uint256 slot) = _slotOf(book);
            if (slot > book.nextSlot) book.nextSlot = slot;
        }
    }

    // ---------------------------------------------------------------- choice of an order

    function _look() internal {
        INavOracle.Invalid reason;
        (_reference, reason,) = oracle.tryReferenceNav(address(vault));
        if (reason != INavOracle.Invalid.None) _reference = 0;
        _spot = oracle.spotNav(address(vault));
        _paused = pause.paused();
    }

    /// Seven times of eight one that the action can succeed on, where there is one, else one that is open; the eighth
    /// time any.
    function _pick(uint256 seed, function(Book storage) view returns (bool) wanted)
        internal
        returns (Book storage)
    {
        uint256 first = (seed >> 8) % _books.length;
        bool found;
        if (seed % 8 != 0) (found, _touched) = _find(first, wanted);
        if (seed % 8 != 0 && !found) (found, _touched) = _find(first, _isOpen);
        if (!found) _touched = first;
        return _books[_touched];
    }

    function _find(uint256 first, function(Book storage) view returns (bool) wanted)
        private
        view
        returns (bool, uint256)
    {
        uint256 count = _books.length;
        for (uint256 i; i < count; i++) {
            if (wanted(_books[(first + i) % count])) return (true, (first + i) % count);
        }
        return (false, 0);
    }

    function _isFillable(Book storage book) internal view returns (bool) {
        return _fillRefusal(book) == 0 && !usdg.blocked(book.owner);
    }

    function _isInAuction(Book storage book) internal view returns (bool) {
        return _isArmed(book) && _isFillable(book);
    }

    function _isArmable(Book storage book) internal view returns (bool) {
        return _armRefusal(book) == 0;
    }

    function _isDisarmable(Book storage book) internal view returns (bool) {
        return _disarmRefusal(book) == 0;
    }

    function _isOpen(Book storage book) internal view returns (bool) {
        return book.state == IOrderEscrow.State.Open;
    }

    function _isOver(Book storage book) internal view returns (bool) {
        return _isOpen(book) && _now() >= book.deadline && _canReturn(book);
    }

    /// Shares know no blocklist; USDG does.
    function _canReturn(Book storage book) internal view returns (bool) {
        return _isExit(book) || !usdg.blocked(book.owner);
    }

    function _isExit(Book storage book) internal view returns (bool) {
        return address(book.escrow) == address(exits);
    }

    function _isLimit(Book storage book) internal view returns (bool) {
        return address(book.escrow) == address(limits);
    }

    function _isSchedule(Book storage book) internal view returns (bool) {
        return address(book.escrow) == address(schedules);
    }

    /// "fill" + " exit", " limit" or " schedule".
    function _of(string memory action, Book storage book) internal view returns (string memory) {
        string memory kind = _isExit(book) ? " exit" : _isLimit(book) ? " limit" : " schedule";
        return string.concat(action, kind);
    }

    // ---------------------------------------------------------------- findings

    function _note(bool holds, string memory what) internal {
        if (!holds && bytes(violation).length == 0) violation = what;
    }

    function _did(string memory action) internal {
        _succeed(action);
        _done[keccak256(bytes(action))]++;
    }

    function times(string calldata action) external view returns (uint256) {
        return _done[keccak256(bytes(action))];
    }

    /// The order that the last action was about agrees with its book.
    function lastAgrees() external view returns (bool) {
        return _books.length == 0 || _agrees(_books[_touched]);
    }

    /// Every order does, and says rightly whether it can be filled now.
    function allAgree() external returns (bool) {
        _look();
        for (uint256 i; i < _books.length; i++) {
            Book storage book = _books[i];
            if (!_agrees(book)) return false;
            (bool triggered, uint256 nav) = book.escrow.triggered(book.id);
            if (triggered != (_fillRefusal(book) == 0) || nav != _reference) return false;
        }
        return true;
    }

    function _agrees(Book storage book) private view returns (bool) {
        if (book.escrow.stateOf(book.id) != book.state) return false;
        if (book.escrow.ownerOf(book.id) != book.owner) return false;
        if (book.escrow.toleranceBps(book.id) != _toleranceOf(book)) return false;
        if (book.escrow.armedAt(book.id) != (_isArmed(book) ? book.armedAt : 0)) return false;
        if (_isSchedule(book)) return _scheduleAgrees(book);
        if (_isExit(book)) {
            IExitEscrow.ExitOrder memory exit = exits.orderOf(book.id);
            return exit.state == book.state && (!_isOpen(book) || exit.terms.shares == book.left)
                && exits.escrowedShares(book.owner, address(vault)) == exitShares[book.owner];
        }
        ILimitEscrow.LimitOrder memory limit = limits.orderOf(book.id);
        return limit.state == book.state && (!_isOpen(book) || limit.terms.amount == book.left);
    }

    /// Invariant 12: no more fills than slots that have opened, and the total is what was spent plus what is left.
    function _scheduleAgrees(Book storage book) private view returns (bool) {
        IScheduleEscrow.Schedule memory schedule = schedules.scheduleOf(book.id);
        (bool open, uint256 slot) = _slotOf(book);
        uint256 opened = _now() < book.startAt ? 0 : open ? slot + 1 : slot;
        if (schedule.filled > opened || schedule.filled != book.filled) return false;
        if (schedule.remaining != book.left || schedule.nextSlot != book.nextSlot) return false;
        uint256 spent;
        for (uint256 i; i < book.slots; i++) {
            if (book.filledSlots >> i & 1 == 1) spent += schedules.budgetOf(book.id, uint32(i));
        }
        if (_isOpen(book) && spent + schedule.remaining != book.total) return false;
        (bool due, uint32 now_,,) = schedules.slotNow(book.id);
        return due == (_isOpen(book) && open && book.filledSlots >> slot & 1 == 0) && now_ == slot;
    }
}
