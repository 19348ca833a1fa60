// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {ILimitEscrow} from "../../src/interfaces/ILimitEscrow.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {IScheduleEscrow} from "../../src/interfaces/IScheduleEscrow.sol";
import {FillPricing} from "../../src/orders/FillPricing.sol";
import {TestToken} from "../support/TestToken.sol";
import {OrderBooks} from "./OrderBooks.sol";

/// Every entry of the three escrows, by owners and keepers who play by the rules. What the rules refuse is counted
/// under a name of its own, where success is having been refused for the right reason.
abstract contract OrderActions is OrderBooks {
    uint256 private constant LIFETIME = 2 days;

    address[3] internal _owners;
    address internal _helper;

    struct Before {
        uint256 amount;
        uint256 tolerance;
        uint256 nav; // what the floor stands on
        uint256 ownerUsdg;
        uint256 ownerShares;
        uint256 payeeUsdg;
        uint256 treasuryUsdg;
    }

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
        book.startAt = block.timestamp + delay;
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
            : block.timestamp < book.deadline ? IOrderEscrow.NotExpired.selector : TestToken.Blocked.selector;
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
        bytes4 why = _armRefusal(book);
        string memory action = why == 0 ? _of("arm", book) : "refuse arm";
        _try(action);
        vm.prank(keeper);
        try book.escrow.arm(book.id) {
            _note(why == 0, "armed against the rules");
            book.armedAt = block.timestamp;
            _did(action);
        } catch (bytes memory reason) {
            _note(why != 0, "a triggered order could not be armed");
            _refused(action, reason, why);
        }
    }

    function disarm(uint256 which) external {
        _look();
        Book storage book = _pick(which, _isDisarmable);
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

    /// `to`: the sender (zero), somebody else, or the order's owner.
    function fill(uint256 which, uint256 to) external {
        _look();
        Book storage book = _pick(which, _isFillable);
        address executor = to % 3 == 0 ? address(0) : to % 3 == 1 ? _helper : book.owner;
        bytes4 why = _fillRefusal(book);
        if (why == 0 && usdg.blocked(book.owner)) why = TestToken.Blocked.selector;
        if (why != 0) return _fillRefused(book, executor, why);
        bool widened = _toleranceOf(book) > book.baseBps;
        if (_tryFill(_of("fill", book), book, executor) && widened) {
            _try("fill in an auction");
            _did("fill in an auction");
        }
    }

    function _fillRefused(Book storage book, address executor, bytes4 why) private {
        string memory action = why == IOrderEscrow.NotOpen.selector
            ? "refuse fill of a closed order"
            : why == IOrderEscrow.Paused.selector
                ? "refuse fill while paused"
                : why == IOrderEscrow.OrderIsExpired.selector
                    ? "refuse fill of an expired order"
                    : why == TestToken.Blocked.selector
                        ? "refuse fill for a blocked owner"
                        : "refuse fill without its trigger";
        _try(action);
        SwapCall[] memory swaps = _swapsFor(book);
        vm.prank(keeper);
        try book.escrow.fill(book.id, swaps, executor) {
            _note(false, "filled against the rules");
        } catch (bytes memory reason) {
            // The floor is looked at before anybody is paid.
            bool early =
                why == TestToken.Blocked.selector && bytes4(reason) == IOrderEscrow.BelowFloor.selector;
            _refused(action, reason, early ? IOrderEscrow.BelowFloor.selector : why);
        }
    }

    // ---------------------------------------------------------------- a fill and what it must keep to

    /// A fill that only the floor may refuse.
    function _tryFill(string memory action, Book storage book, address executor) internal returns (bool) {
        _try(action);
        SwapCall[] memory swaps = _swapsFor(book);
        address payee = executor == address(0) ? keeper : executor;
        Before memory before = _before(book, payee);
        vm.recordLogs();
        vm.prank(keeper);
        try book.escrow.fill(book.id, swaps, executor) returns (uint256 fee) {
            _checkFill(book, before, payee, fee);
            _did(action);
            return true;
        } catch (bytes memory reason) {
            _note(bytes4(reason) == IOrderEscrow.BelowFloor.selector, "a due fill failed for another reason");
            return false;
        }
    }

    function _before(Book storage book, address payee) internal view returns (Before memory before) {
        before.amount = _amountNow(book);
        before.tolerance = _toleranceOf(book);
        uint256 spot = oracle.spotNav(address(vault));
        before.nav = (_reference > spot) == _isExit(book) ? _reference : spot;
        before.ownerUsdg = usdg.balanceOf(book.owner);
        before.ownerShares = vault.balanceOf(book.owner);
        before.payeeUsdg = usdg.balanceOf(payee);
        before.treasuryUsdg = usdg.balanceOf(treasury);
    }

    /// Invariants 9, 10 and 12 in figures of their own, then the books.
    function _checkFill(Book storage book, Before memory before, address payee, uint256 fee) internal {
        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 net) =
            lastFill(address(book.escrow));
        _note(fee == executorFee && fee == _executorFee(gross), "executor fee off its formula");
        _note(protocolFee == (gross * 20 + 9_999) / 10_000, "protocol fee off its formula");
        _note(usdg.balanceOf(treasury) - before.treasuryUsdg == protocolFee, "treasury not paid");
        if (_isExit(book)) {
            _note(net + protocolFee + fee == gross, "an exit lost units");
            _checkSale(book, before, gross);
        } else {
            _note(gross + protocolFee + fee + net == before.amount, "a buy lost units");
            _checkPurchase(book, before);
        }
        uint256 toOwner = net + _takeFilled(book);
        if (payee == book.owner) {
            _note(usdg.balanceOf(payee) - before.ownerUsdg == toOwner + fee, "owner and executor not paid");
        } else {
            _note(usdg.balanceOf(payee) - before.payeeUsdg == fee, "executor not paid its fee");
            _note(usdg.balanceOf(book.owner) - before.ownerUsdg == toOwner, "owner not paid the net");
        }
    }

    function _checkSale(Book storage book, Before memory before, uint256 gross) private {
        bool tolerated = gross * 1e34 >= before.amount * before.nav * (10_000 - before.tolerance);
        _note(tolerated && gross * 1e30 >= before.amount * book.hardFloor, "an exit under its floor");
    }

    function _checkPurchase(Book storage book, Before memory before) private {
        uint256 bought = vault.balanceOf(book.owner) - before.ownerShares;
        uint256 paid = bought * before.nav * (10_000 + before.tolerance);
        _note(paid >= FillPricing.grossWithin(before.amount) * 1e34, "a buy under its floor");
    }

    function _executorFee(uint256 gross) private pure returns (uint256) {
        uint256 share = gross * 15 / 10_000;
        uint256 most = gross / 100;
        if (share < 0.25e6) share = 0.25e6;
        return share < most ? share : most;
    }

    function _refused(string memory action, bytes memory reason, bytes4 why) internal {
        bool right = bytes4(reason) == why;
        _note(right, string.concat("wrong refusal: ", action));
        if (right) _did(action);
    }

    // ---------------------------------------------------------------- swaps, without a quote

    function _swapsFor(Book storage book) internal view returns (SwapCall[] memory) {
        uint256 amount = _amountNow(book);
        return _isExit(book) ? _sales(amount) : _purchases(FillPricing.grossWithin(amount));
    }

    function _sales(uint256 shares) internal view returns (SwapCall[] memory swaps) {
        uint256[] memory amounts = vault.previewRedeem(shares);
        swaps = new SwapCall[](3);
        swaps[0] = exactInput(alfa, amounts[0]);
        swaps[1] = exactInput(bravo, amounts[1]);
        swaps[2] = exactInput(charlie, amounts[2]);
    }

    /// As many shares as `gross` buys when the pools take 0.45% of it: their fees are 0.27%, the rest is impact.
    function _purchases(uint256 gross) internal view returns (SwapCall[] memory swaps) {
        uint256[] memory amounts =
            vault.previewMint(gross * 1e30 / oracle.spotNav(address(vault)) * 9_955 / 10_000);
        swaps = new SwapCall[](3);
        swaps[0] = _purchase(alfa, amounts[0], gross);
        swaps[1] = _purchase(bravo, amounts[1], gross);
        swaps[2] = _purchase(charlie, amounts[2], gross);
    }

    /// Exact output; the zapper itself stops at what is left of the budget.
    function _purchase(Asset memory asset, uint256 amountOut, uint256 most)
        private
        view
        returns (SwapCall memory)
    {
        return SwapCall(
            swapRouter,
            address(usdg),
            address(asset.token),
            most,
            abi.encodeWithSelector(0x09b81346, ExactOutput(_path(asset), address(zapper), amountOut, most))
        );
    }

    function _holds(Book storage book, address who) internal view returns (uint256) {
        return _isExit(book) ? vault.balanceOf(who) : usdg.balanceOf(who);
    }

    /// Owner, deadline, and one of four pairs of tolerance and cap; zero asks for the default.
    function _settle(Book memory book, uint256 who, uint256 bps) private view {
        book.owner = _owners[who % 3];
        book.deadline = block.timestamp + LIFETIME;
        uint256 pair = (bps >> 128) % 4;
        if (pair == 1) book.capBps = 300;
        if (pair == 2) book.baseBps = 200;
        if (pair == 3) (book.baseBps, book.capBps) = (60, 60);
    }
}
