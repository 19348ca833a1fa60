// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {ILimitEscrow} from "../../src/interfaces/ILimitEscrow.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {IScheduleEscrow} from "../../src/interfaces/IScheduleEscrow.sol";
import {OrderEscrow} from "../../src/orders/OrderEscrow.sol";
import {TestToken} from "../support/TestToken.sol";
import {OrderActions} from "./OrderActions.sol";

/// Those who do not play by the rules: strangers, a keeper that owns the block, swaps that steal, tokens that call
/// back or break. Success of an attack's action is that it got nothing.
abstract contract OrderAttacks is OrderActions {
    function cancelAsStranger(uint256 which) external {
        Book storage book = _pick(which, _isOpen);
        _try("refuse a stranger's cancel");
        vm.prank(keeper);
        try book.escrow.cancel(book.id) {
            _note(false, "a stranger cancelled");
        } catch (bytes memory reason) {
            bytes4 why = _isOpen(book) ? IOrderEscrow.NotOwner.selector : IOrderEscrow.NotOpen.selector;
            _refused("refuse a stranger's cancel", reason, why);
        }
    }

    /// The keeper pushes the pools against the order, fills, and lets them go, in one block. The reference does not
    /// move within it: past the widest tolerance there is, nothing may be filled.
    function sandwich(uint256 which, uint256 push) external {
        Book storage book = _pickForFill(which);
        if (!_isFillable(book)) return;
        bool hopeless = push % 4 != 0 && (_isExit(book) ? _spot <= _reference : _spot >= _reference);
        push = hopeless ? bound(push, 520, 3_000) : bound(push, 0, 60);
        uint256 navBps = _spot / 1e16; // of the $100 at the start
        moveNav(_isExit(book) ? navBps * 10_000 / (10_000 + push) : navBps * (10_000 + push) / 10_000);
        if (hopeless) {
            _fillRefused("refuse fill in a sandwich", book, address(0), IOrderEscrow.BelowFloor.selector);
        } else {
            _tryFill("fill after a small push", book, address(0));
        }
        moveNav(navBps);
    }

    function fillWithHostileSwaps(uint256 which, uint256 crime) external {
        Book storage book = _pickForFill(which);
        if (!_isFillable(book)) return;
        SwapCall[] memory swaps = _corrupted(book, crime);
        _try("refuse hostile swaps");
        vm.prank(keeper);
        try book.escrow.fill(book.id, swaps, address(0)) {
            _note(false, "hostile swaps went through");
        } catch {
            _did("refuse hostile swaps");
        }
    }

    /// A receiver that cannot be paid holds up its own order alone.
    function fillForBlockedOwner(uint256 which) external {
        Book storage book = _pickForFill(which);
        if (!_isFillable(book)) return;
        usdg.setBlocked(book.owner, true);
        _fillRefused("refuse fill for a blocked owner", book, address(0), TestToken.Blocked.selector);
        usdg.setBlocked(book.owner, false);
    }

    function fillForTheProtocol(uint256 which, uint256 payee) external {
        Book storage book = _pickForFill(which);
        if (_refusal(book) != 0) return;
        address[8] memory refused = [
            address(book.escrow),
            address(vault),
            address(zapper),
            address(usdg),
            address(registry),
            address(oracle),
            swapRouter,
            address(pause)
        ];
        SwapCall[] memory swaps = _swapsFor(book);
        _try("refuse the protocol as executor");
        vm.prank(payee % 2 == 0 ? keeper : refused[(payee >> 1) % 8]);
        try book.escrow.fill(book.id, swaps, payee % 2 == 0 ? refused[(payee >> 1) % 8] : address(0)) {
            _note(false, "the protocol was paid as executor");
        } catch (bytes memory reason) {
            _refused("refuse the protocol as executor", reason, IOrderEscrow.BadExecutor.selector);
        }
    }

    /// A constituent calls the escrow, or another one, in the middle of the fill's transfers.
    function fillWithCallback(uint256 which, uint256 entry) external {
        Book storage book = _pickForFill(which);
        if (!_isFillable(book)) return;
        Book storage other = _books[(entry >> 8) % _books.length];
        bool sameEscrow = address(other.escrow) == address(book.escrow);
        callBackDuringTransfer(address(other.escrow), _entry(other, entry));
        if (_tryFill("fill with a callback", book, address(0))) {
            _note(alfa.token.hookTarget() == address(0), "the token never called back");
            _note(!alfa.token.hookSucceeded(), "a call back went through");
            _note(
                !sameEscrow
                    || bytes4(alfa.token.hookResult())
                        == ReentrancyGuard.ReentrancyGuardReentrantCall.selector,
                "a call back got past the guard"
            );
        }
        alfa.token.setMisbehaviour(TestToken.Misbehaviour.None);
    }

    /// A constituent that is broken stops fills, and neither cancels nor anybody's money.
    function fillOverBrokenToken(uint256 which, uint256 how) external {
        Book storage book = _pickForFill(which);
        if (!_isFillable(book)) return;
        SwapCall[] memory swaps = _swapsFor(book);
        TestToken.Misbehaviour[4] memory kinds = [
            TestToken.Misbehaviour.Reverts,
            TestToken.Misbehaviour.ReturnsFalse,
            TestToken.Misbehaviour.LiesTrue,
            TestToken.Misbehaviour.FeeOnTransfer
        ];
        alfa.token.setMisbehaviour(kinds[how % 4]);
        _try("refuse fill over a broken token");
        vm.prank(keeper);
        try book.escrow.fill(book.id, swaps, address(0)) {
            _note(false, "filled over a broken token");
        } catch {
            _did("refuse fill over a broken token");
        }
        if ((how >> 8) % 4 == 0) {
            _try("cancel over a broken token");
            uint256 held = _holds(book, book.owner);
            vm.prank(book.owner);
            try book.escrow.cancel(book.id) {
                uint256 rest = _close(book, IOrderEscrow.State.Cancelled);
                _note(_holds(book, book.owner) - held == rest, "a cancel paid another amount");
                _did("cancel over a broken token");
            } catch {
                _note(false, "a broken constituent held a cancel up");
            }
        }
        alfa.token.setMisbehaviour(TestToken.Misbehaviour.None);
    }

    function createAgainstTheRules(uint256 kind, uint256 flaw) external {
        _try("refuse bad terms");
        usdg.setBlocked(alice, false);
        bytes memory call =
            kind % 3 == 0 ? _badExit(flaw) : kind % 3 == 1 ? _badLimit(flaw) : _badSchedule(flaw);
        OrderEscrow escrow = [OrderEscrow(exits), OrderEscrow(limits), OrderEscrow(schedules)][kind % 3];
        uint256 count = escrow.orderCount();
        vm.startPrank(alice);
        usdg.approve(address(escrow), 1_000e6);
        vault.approve(address(escrow), 1e18);
        (bool ok, bytes memory reason) = address(escrow).call(call);
        usdg.approve(address(escrow), 0);
        vault.approve(address(escrow), 0);
        vm.stopPrank();
        bytes4 why = bytes4(reason);
        bool named = why == IOrderEscrow.BadTerms.selector || why == IOrderEscrow.BelowMinimum.selector
            || why == IOrderEscrow.OrdersDisabled.selector;
        _note(!ok && named && escrow.orderCount() == count, "bad terms were taken");
        if (!ok) _did("refuse bad terms");
    }

    // ---------------------------------------------------------------- the makings

    function _corrupted(Book storage book, uint256 crime) private view returns (SwapCall[] memory swaps) {
        swaps = _swapsFor(book);
        uint256 leg = (crime >> 8) % 3;
        uint256 kind = crime % 8;
        if (kind == 0) {
            swaps[leg].router = address(this);
        } else if (kind == 1) {
            swaps[leg].callData = _replace(swaps[leg].callData, address(zapper), keeper);
        } else if (kind == 2) {
            swaps[leg] = swaps[(leg + 1) % 3]; // one constituent twice, another not at all
        } else if (kind == 3) {
            swaps[leg].callData =
                abi.encodeWithSelector(bytes4(uint32(crime >> 16)), keeper, swaps[leg].amountIn);
        } else if (kind == 4) {
            swaps = new SwapCall[](0);
        } else if (kind == 5) {
            (swaps[leg].tokenIn, swaps[leg].tokenOut) = (swaps[leg].tokenOut, swaps[leg].tokenIn);
        } else if (kind == 6) {
            swaps[leg].callData = _replace(
                swaps[leg].callData, address(assetOf(_token(book, swaps[leg])).token), address(delta.token)
            );
        } else {
            swaps[leg].amountIn += 1 + (crime >> 16) % 1e6; // not what its calldata says
        }
    }

    function _token(Book storage book, SwapCall memory swap) private view returns (address) {
        return _isExit(book) ? swap.tokenIn : swap.tokenOut;
    }

    /// Every occurrence of an address, aligned or packed.
    function _replace(bytes memory text, address from, address to) private pure returns (bytes memory) {
        for (uint256 i; i + 20 <= text.length; i++) {
            uint256 word;
            assembly ("memory-safe") {
                word := mload(add(add(text, 0x20), i))
            }
            if (address(uint160(word >> 96)) != from) continue;
            for (uint256 j; j < 20; j++) {
                text[i + j] = bytes20(to)[j];
            }
        }
        return text;
    }

    /// Entries of another order's escrow that must refuse: by the guard where it is the same escrow, by their own
    /// rules and the zapper's guard where it is not.
    function _entry(Book storage other, uint256 entry) private view returns (bytes memory) {
        if (entry % 3 == 0) return abi.encodeCall(IOrderEscrow.cancel, (other.id));
        if (entry % 3 == 1) return abi.encodeCall(IOrderEscrow.fill, (other.id, _swapsFor(other), keeper));
        if (_isExit(other)) return abi.encodeCall(IExitEscrow.create, (exitTerms(1e18, 90e18, 0)));
        if (_isLimit(other)) return abi.encodeCall(ILimitEscrow.create, (limitTerms(1_000e6, 0)));
        return abi.encodeCall(IScheduleEscrow.create, (scheduleTerms(1_000e6, 2)));
    }

    function _badExit(uint256 flaw) private view returns (bytes memory) {
        IExitEscrow.ExitTerms memory terms = exitTerms(1e18, 90e18, 0);
        if (flaw % 7 == 0) terms.stopNav = 0;
        if (flaw % 7 == 1) terms.tpNav = bound(flaw >> 8, 1, 90e18);
        if (flaw % 7 == 2) terms.deadline = uint48(block.timestamp + (flaw >> 8) % 1 hours);
        if (flaw % 7 == 3) terms.deadline = uint48(block.timestamp + 91 days + 1 + (flaw >> 8) % 1e9);
        if (flaw % 7 == 4) terms.capBps = uint16(bound(flaw >> 8, 501, type(uint16).max));
        if (flaw % 7 == 5) terms.shares = (flaw >> 8) % 0.04e18; // under $5 at any price here
        if (flaw % 7 == 6) terms.vault = disabledVault();
        return abi.encodeCall(IExitEscrow.create, (terms));
    }

    function _badLimit(uint256 flaw) private view returns (bytes memory) {
        ILimitEscrow.LimitTerms memory terms = limitTerms(1_000e6, 90e18);
        if (flaw % 6 == 0) terms.amount = (flaw >> 8) % 5e6;
        if (flaw % 6 == 1) (terms.slippageBps, terms.capBps) = (uint16(bound(flaw >> 8, 301, 500)), 300);
        if (flaw % 6 == 2) terms.deadline = uint48((flaw >> 8) % block.timestamp);
        if (flaw % 6 == 3) terms.deadline = type(uint48).max;
        if (flaw % 6 == 4) terms.capBps = uint16(bound(flaw >> 8, 501, type(uint16).max));
        if (flaw % 6 == 5) terms.vault = disabledVault();
        return abi.encodeCall(ILimitEscrow.create, (terms));
    }

    function _badSchedule(uint256 flaw) private view returns (bytes memory) {
        IScheduleEscrow.ScheduleTerms memory terms = scheduleTerms(1_000e6, 10);
        if (flaw % 8 == 0) terms.slots = 0;
        if (flaw % 8 == 1) terms.interval = uint32((flaw >> 8) % 10 minutes);
        if (flaw % 8 == 2) terms.interval = uint32(bound(flaw >> 8, 36.5 days + 1, type(uint32).max));
        if (flaw % 8 == 3) terms.startAt = uint48(bound(flaw >> 8, 1, block.timestamp - 1));
        if (flaw % 8 == 4) {
            terms.startAt = uint48(bound(flaw >> 8, block.timestamp + 91 days + 1, type(uint48).max));
        }
        if (flaw % 8 == 5) terms.total = (flaw >> 8) % 50e6;
        if (flaw % 8 == 6) terms.capBps = uint16(bound(flaw >> 8, 501, type(uint16).max));
        if (flaw % 8 == 7) terms.slots = uint32(bound(flaw >> 8, 366, type(uint32).max));
        return abi.encodeCall(IScheduleEscrow.create, (terms));
    }
}
