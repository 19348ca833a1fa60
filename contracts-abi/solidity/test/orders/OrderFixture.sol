// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {ILimitEscrow} from "../../src/interfaces/ILimitEscrow.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {IScheduleEscrow} from "../../src/interfaces/IScheduleEscrow.sol";
import {ExitEscrow} from "../../src/orders/ExitEscrow.sol";
import {FillPricing} from "../../src/orders/FillPricing.sol";
import {LimitEscrow} from "../../src/orders/LimitEscrow.sol";
import {ScheduleEscrow} from "../../src/orders/ScheduleEscrow.sol";
import {ProtocolFixture} from "../support/ProtocolFixture.sol";
import {TestToken} from "../support/TestToken.sol";
import {Vm} from "../support/Vm.sol";

/// The three escrows over the fixture's TECH basket (18, 8 and 18 decimals; one leg through WETH), about $100 a share.
abstract contract OrderFixture is ProtocolFixture {
    struct Told {
        bytes32 id;
        address owner;
        address vault;
        address executor;
        uint256 shares;
    }

    ExitEscrow internal exits;
    LimitEscrow internal limits;
    ScheduleEscrow internal schedules;
    BasketVault internal vault;
    Told internal told; // by the OrderFilled that `lastFill` found
    address internal alice;
    address internal bob;
    address internal keeper;

    function deployWorld() internal {
        deployProtocol();
        vault = tech;
        exits = new ExitEscrow(
            address(usdg), address(registry), address(oracle), address(zapper), address(pause)
        );
        limits = new LimitEscrow(
            address(usdg), address(registry), address(oracle), address(zapper), address(pause)
        );
        schedules = new ScheduleEscrow(
            address(usdg), address(registry), address(oracle), address(zapper), address(pause)
        );
        alice = makeAddr("alice");
        bob = makeAddr("bob");
        keeper = makeAddr("keeper");
        vm.label(address(exits), "ExitEscrow");
        vm.label(address(limits), "LimitEscrow");
        vm.label(address(schedules), "ScheduleEscrow");
    }

    function disabledVault() internal view returns (address) {
        return address(blind);
    }

    // ---------------------------------------------------------------- the market

    /// Moves the spot NAV to `bps` of the $100 it started at; the reference follows with time.
    function moveNav(uint256 bps) internal {
        setPrice(alfa, alfa.price * bps / 10_000);
        setPrice(bravo, bravo.price * bps / 10_000);
        setPrice(charlie, charlie.price * bps / 10_000);
    }

    /// Lets the reference catch up with spot.
    function settleReference() internal {
        passTime(1_000);
    }

    function warpWithReference(uint256 time) internal {
        vm.warp(time);
        refreshPools();
    }

    /// Drains a reference pool under its floor for longer than a sub-window.
    function blindOracle() internal {
        removeLiquidity(alfa.pool, alfa.pool.liquidity() * 6 / 10);
        passTime(400);
    }

    function pauseProtocol() internal {
        vm.prank(guardian);
        pause.pause();
    }

    function unpauseProtocol() internal {
        vm.prank(guardian);
        pause.unpause();
    }

    /// Exact-input swaps for `shares`, as a keeper would bring them.
    function sellSwaps(uint256 shares) internal returns (SwapCall[] memory swaps) {
        (swaps,) = quoteSell(vault, shares);
    }

    /// Exact-output swaps for as many shares as cost at most `gross` and nearly that.
    function buySwaps(uint256 gross) internal returns (SwapCall[] memory swaps) {
        uint256 shares = gross * 1e30 / oracle.spotNav(address(vault));
        for (uint256 i; i < 4; i++) {
            uint256 cost;
            (swaps, cost) = quoteBuy(vault, shares);
            if (cost <= gross && gross - cost <= 10 + gross / 1e6) break;
            shares = shares * gross / cost - shares / 1e9;
        }
    }

    // ---------------------------------------------------------------- orders

    function giveShares(address to, uint256 shares) internal {
        giveShares(vault, to, shares);
    }

    function exitTerms(uint256 shares, uint256 stop, uint256 takeProfit)
        internal
        view
        returns (IExitEscrow.ExitTerms memory)
    {
        return IExitEscrow.ExitTerms({
            vault: address(vault),
            shares: shares,
            stopNav: stop,
            tpNav: takeProfit,
            hardFloorNav: 0,
            slippageBps: 0,
            capBps: 0,
            deadline: uint48(vm.getBlockTimestamp() + 30 days)
        });
    }

    function createExit(address owner, uint256 shares, uint256 stop, uint256 takeProfit)
        internal
        returns (bytes32)
    {
        return createExit(owner, exitTerms(shares, stop, takeProfit));
    }

    function createExit(address owner, IExitEscrow.ExitTerms memory terms) internal returns (bytes32 id) {
        giveShares(owner, terms.shares);
        vm.startPrank(owner);
        vault.approve(address(exits), terms.shares);
        id = exits.create(terms);
        vm.stopPrank();
    }

    function limitTerms(uint256 amount, uint256 trigger)
        internal
        view
        returns (ILimitEscrow.LimitTerms memory)
    {
        return ILimitEscrow.LimitTerms({
            vault: address(vault),
            amount: amount,
            triggerNav: trigger,
            slippageBps: 0,
            capBps: 0,
            deadline: uint48(vm.getBlockTimestamp() + 30 days)
        });
    }

    function createLimit(address owner, uint256 amount, uint256 trigger) internal returns (bytes32) {
        return createLimit(owner, limitTerms(amount, trigger));
    }

    function createLimit(address owner, ILimitEscrow.LimitTerms memory terms) internal returns (bytes32 id) {
        usdg.mint(owner, terms.amount);
        vm.startPrank(owner);
        usdg.approve(address(limits), terms.amount);
        id = limits.create(terms);
        vm.stopPrank();
    }

    /// Daily from now on.
    function scheduleTerms(uint256 total, uint32 slots)
        internal
        view
        returns (IScheduleEscrow.ScheduleTerms memory)
    {
        return IScheduleEscrow.ScheduleTerms({
            kind: IScheduleEscrow.Kind.Subscribe,
            vault: address(vault),
            total: total,
            slots: slots,
            interval: 1 days,
            startAt: 0,
            slippageBps: 0,
            capBps: 0
        });
    }

    function createSchedule(address owner, uint256 total, uint32 slots) internal returns (bytes32) {
        return createSchedule(owner, scheduleTerms(total, slots));
    }

    function createSchedule(address owner, IScheduleEscrow.ScheduleTerms memory terms)
        internal
        returns (bytes32 id)
    {
        usdg.mint(owner, terms.total);
        vm.startPrank(owner);
        usdg.approve(address(schedules), terms.total);
        id = schedules.create(terms);
        vm.stopPrank();
    }

    /// Swaps that spend a slot's budget, as a keeper would bring them.
    function slotSwaps(bytes32 id, uint32 slot) internal returns (SwapCall[] memory) {
        return buySwaps(FillPricing.grossWithin(schedules.budgetOf(id, slot)));
    }

    // ---------------------------------------------------------------- what happened

    /// The figures of the last OrderFilled of `escrow` among the recorded logs; the rest of it into `told`.
    function lastFill(address escrow)
        internal
        returns (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 net)
    {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i = logs.length; i > 0; i--) {
            Vm.Log memory log = logs[i - 1];
            if (log.emitter != escrow || log.topics[0] != IOrderEscrow.OrderFilled.selector) continue;
            (,, gross, protocolFee, executorFee, net) =
                abi.decode(log.data, (address, uint256, uint256, uint256, uint256, uint256));
            (told.executor, told.shares) = abi.decode(log.data, (address, uint256));
            told.id = log.topics[1];
            told.owner = address(uint160(uint256(log.topics[2])));
            told.vault = address(uint160(uint256(log.topics[3])));
            return (gross, protocolFee, executorFee, net);
        }
        fail("no fill was recorded");
    }

    function assertTold(bytes32 id, address owner, address executor, uint256 shares) internal view {
        assertEq(abi.encode(told), abi.encode(Told(id, owner, address(vault), executor, shares)));
    }

    /// The figures of a BelowFloor; fails on any other revert.
    function belowFloor(bytes memory reason) internal pure returns (bytes32 id, uint256 got, uint256 floor) {
        assertEq(bytes32(bytes4(reason)), bytes32(IOrderEscrow.BelowFloor.selector), "not BelowFloor");
        assembly ("memory-safe") {
            id := mload(add(reason, 0x24))
            got := mload(add(reason, 0x44))
            floor := mload(add(reason, 0x64))
        }
    }

    function assertEscrowsEmpty() internal view {
        assertEq(vault.balanceOf(address(exits)), 0, "shares in ExitEscrow");
        assertEq(usdg.balanceOf(address(exits)), 0, "USDG in ExitEscrow");
        assertEq(vault.balanceOf(address(limits)), 0, "shares in LimitEscrow");
        assertEq(usdg.balanceOf(address(limits)), 0, "USDG in LimitEscrow");
        assertEq(vault.balanceOf(address(schedules)), 0, "shares in ScheduleEscrow");
        assertEq(usdg.balanceOf(address(schedules)), 0, "USDG in ScheduleEscrow");
        assertEq(vault.allowance(address(exits), address(zapper)), 0, "allowance of shares");
        assertEq(usdg.allowance(address(limits), address(zapper)), 0, "allowance of USDG");
        assertEq(usdg.allowance(address(schedules), address(zapper)), 0, "schedules' allowance of USDG");
    }

    /// The first constituent calls `target` in the middle of its next transfer.
    function callBackDuringTransfer(address target, bytes memory payload) internal {
        alfa.token.setMisbehaviour(TestToken.Misbehaviour.Reenters);
        alfa.token.setHook(target, payload, false);
    }

    function assertReentryRefused() internal view {
        assertEq(alfa.token.hookTarget(), address(0), "the token never called back");
        assertFalse(alfa.token.hookSucceeded(), "the call back went through");
        assertEq(
            alfa.token.hookResult(),
            abi.encodeWithSelector(ReentrancyGuard.ReentrancyGuardReentrantCall.selector)
        );
    }
}
