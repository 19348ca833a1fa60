// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {TradeBounds} from "../../src/accounts/TradeBounds.sol";
import {Constants} from "../../src/Constants.sol";
import {IBasketZapper, SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {TestToken} from "../support/TestToken.sol";
import {AccountsFixture} from "./AccountsFixture.sol";

/// What a trade inside a grant does, and every way in which it is refused.
contract SessionModuleTest is AccountsFixture {
    function setUp() public {
        deployAccounts();
    }

    function test_a_sale_is_told_as_one_with_what_the_account_received() public {
        giveShares(tech, account, 1e18);
        ISessionModule.Action memory action = sellAction(tech, 1e18);
        bytes memory sig = signed(action);
        vm.expectEmit(address(module));
        emit ISessionModule.Executed(
            account,
            key,
            module.hashAction(action),
            action.nonce,
            1,
            address(tech),
            1e18,
            action.limit,
            0,
            relayer
        );
        vm.prank(relayer);
        assertEq(module.execute(action, sig), action.limit);
    }

    function test_a_buy_mints_exactly_the_shares_and_pays_the_relayer_exactly_the_fee() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        action.fee = 120_000;
        bytes memory sig = signed(action);
        vm.expectEmit(address(module));
        emit ISessionModule.Executed(
            account,
            key,
            module.hashAction(action),
            action.nonce,
            0,
            address(tech),
            1e18,
            action.limit,
            120_000,
            relayer
        );
        vm.prank(relayer);
        uint256 spent = module.execute(action, sig);
        assertEq(spent, action.limit);
        assertEq(tech.balanceOf(account), 1e18);
        assertEq(usdg.balanceOf(account), 1_000e6 - spent - 120_000);
        assertEq(usdg.balanceOf(relayer), 120_000);
        assertTrue(module.nonceUsed(account, action.nonce));
        assertNoAllowances();
        (uint256 turnover, uint256 fees) = module.usageOf(account, key);
        assertEq(
            turnover,
            Math.max(spent, TradeBounds.value(1e18, oracle.referenceNav(address(tech)), Math.Rounding.Ceil))
        );
        assertEq(fees, 120_000);
    }

    function test_a_sale_brings_the_whole_proceeds_into_the_account() public {
        giveShares(mixed, account, 3e18);
        ISessionModule.Action memory action = sellAction(mixed, 2e18);
        action.fee = 50_000;
        uint256 net = run(action);
        assertEq(net, action.limit);
        assertEq(mixed.balanceOf(account), 1e18);
        assertEq(usdg.balanceOf(account), 1_000e6 + net - 50_000);
        assertEq(usdg.balanceOf(relayer), 50_000);
        assertNoAllowances();
    }

    /// A transfer of nothing would still ask USDG whether the relayer may be paid.
    function test_an_action_without_a_fee_moves_none_so_whoever_cannot_be_paid_can_still_run_it() public {
        giveShares(tech, account, 1e18);
        usdg.setBlocked(relayer, true);
        uint256 net = run(sellAction(tech, 1e18));
        assertEq(usdg.balanceOf(account), 1_000e6 + net);
    }

    function test_what_a_buy_does_not_need_stays_in_the_account() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        uint256 cost = action.limit;
        action.limit = 900e6;
        assertEq(run(action), cost);
        assertEq(usdg.balanceOf(account), 1_000e6 - cost);
    }

    function testFuzz_a_buy_never_spends_more_than_limit_and_bound(
        uint256 shares,
        uint256 limit,
        uint16 slippage
    ) public {
        shares = bound(shares, 0.06e18, 4.5e18);
        ISessionModule.Action memory action = buyAction(tech, shares);
        uint256 cost = action.limit;
        action.limit = bound(limit, cost / 2, cost * 2);
        action.slippageBps = uint16(bound(slippage, 0, 100));
        uint256 nav = oracle.referenceNav(address(tech));
        uint256 most = Math.min(action.limit, TradeBounds.mostSpent(shares, nav, action.slippageBps));
        bytes memory sig = signed(action);
        vm.prank(relayer);
        (bool ok,) = address(module).call(abi.encodeCall(module.execute, (action, sig)));
        assertEq(ok, cost <= most);
        uint256 spent = 1_000e6 - usdg.balanceOf(account);
        assertEq(spent, ok ? cost : 0);
        assertEq(tech.balanceOf(account), ok ? shares : 0);
        assertEq(module.nonceUsed(account, action.nonce), ok);
        assertNoAllowances();
    }

    function testFuzz_a_sale_never_brings_less_than_limit_and_bound(
        uint256 shares,
        uint256 limit,
        uint16 slippage
    ) public {
        giveShares(stock, account, 5e18);
        shares = bound(shares, 0.06e18, 4.5e18);
        ISessionModule.Action memory action = sellAction(stock, shares);
        uint256 proceeds = action.limit;
        action.limit = bound(limit, proceeds / 2, proceeds * 2);
        action.slippageBps = uint16(bound(slippage, 0, 100));
        uint256 nav = oracle.referenceNav(address(stock));
        uint256 least = Math.max(action.limit, TradeBounds.leastReceived(shares, nav, action.slippageBps));
        bytes memory sig = signed(action);
        vm.prank(relayer);
        (bool ok,) = address(module).call(abi.encodeCall(module.execute, (action, sig)));
        assertEq(ok, proceeds >= least);
        assertEq(usdg.balanceOf(account), ok ? 1_000e6 + proceeds : 1_000e6);
        assertEq(stock.balanceOf(account), ok ? 5e18 - shares : 5e18);
        assertEq(module.nonceUsed(account, action.nonce), ok);
        assertNoAllowances();
    }

    function test_a_trade_beyond_the_tolerance_is_refused_with_the_inner_error() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        uint256 cost = action.limit;
        action.slippageBps = 1;
        uint256 bound_ = TradeBounds.mostSpent(1e18, oracle.referenceNav(address(tech)), 1);
        assertLt(bound_, cost);
        bytes memory sig = signed(action);
        vm.expectPartialRevert(ISessionModule.ModuleCallFailed.selector);
        module.execute(action, sig);

        giveShares(tech, account, 1e18);
        action = sellAction(tech, 1e18);
        action.slippageBps = 1;
        uint256 least = TradeBounds.leastReceived(1e18, oracle.referenceNav(address(tech)), 1);
        bytes memory inner = abi.encodeWithSelector(IBasketZapper.TooLittleUsdg.selector, action.limit, least);
        runRefused(action, abi.encodeWithSelector(ISessionModule.ModuleCallFailed.selector, inner));
    }

    function test_the_least_trade_is_five_dollars_at_the_reference() public {
        uint256 nav = oracle.referenceNav(address(tech));
        uint256 least = Math.mulDiv(Constants.MIN_TRADE, 1e30, nav, Math.Rounding.Ceil);
        ISessionModule.Action memory action = buyAction(tech, least - 1);
        runRefused(
            action,
            abi.encodeWithSelector(ISessionModule.BelowMinimum.selector, 4_999_999, Constants.MIN_TRADE)
        );
        run(buyAction(tech, least));
        assertEq(tech.balanceOf(account), least);
    }

    function test_a_small_sale_passes_only_as_the_whole_position() public {
        giveShares(tech, account, 0.02e18);
        ISessionModule.Action memory action = sellAction(tech, 0.02e18 - 1);
        bytes memory sig = signed(action);
        vm.expectPartialRevert(ISessionModule.BelowMinimum.selector);
        module.execute(action, sig);
        run(sellAction(tech, 0.02e18));
        assertEq(tech.balanceOf(account), 0);
    }

    function test_nothing_is_not_a_whole_position() public {
        ISessionModule.Action memory action = blankAction(tech, 0);
        action.kind = 1;
        runRefused(
            action, abi.encodeWithSelector(ISessionModule.BelowMinimum.selector, 0, Constants.MIN_TRADE)
        );
    }

    function test_a_basket_without_a_reference_is_refused() public {
        ISessionModule.Action memory action = blankAction(blind, 1e18);
        runRefused(
            action,
            abi.encodeWithSelector(
                INavOracle.NoReference.selector, address(blind), INavOracle.Invalid.NoPool, address(0)
            )
        );
    }

    function test_a_spot_more_than_three_percent_off_the_reference_stops_both_sides() public {
        giveShares(stock, account, 2e18);
        ISessionModule.Action memory sale = sellAction(stock, 1e18);
        ISessionModule.Action memory purchase = buyAction(stock, 1e18);
        uint256[2] memory moves = [uint256(9_680), 10_320];
        for (uint256 i; i < 2; i++) {
            uint256 before = vm.snapshotState();
            movePrices(moves[i]);
            bytes memory refusal = abi.encodeWithSelector(
                ISessionModule.SpotTooFar.selector,
                oracle.spotNav(address(stock)),
                oracle.referenceNav(address(stock))
            );
            runRefused(sale, refusal);
            runRefused(purchase, refusal);
            vm.revertToState(before);
        }
    }

    function test_a_vault_outside_the_registry_is_refused() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        action.vault = address(alfa.token);
        runRefused(action, abi.encodeWithSelector(ISessionModule.UnknownVault.selector, address(alfa.token)));
    }

    function test_kinds_other_than_buy_and_sell_are_refused() public {
        for (uint256 kind = 2; kind < 256; kind++) {
            ISessionModule.Action memory action = blankAction(tech, 1e18);
            action.kind = uint8(kind);
            runRefused(action, abi.encodeWithSelector(ISessionModule.UnknownKind.selector, kind));
        }
    }

    function test_data_that_is_not_the_swaps_alone_is_refused() public {
        bytes memory refusal = abi.encodeWithSelector(ISessionModule.BadTerms.selector, "data");
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        bytes memory swaps = action.data;
        action.data = "";
        runRefused(action, refusal);
        // One word is an offset to nothing.
        action.data = abi.encode(uint256(32));
        runRefused(action, refusal);
        // The same swaps further on: what a decoder would follow, and the copy behind the seven words would not.
        action.data = bytes.concat(abi.encode(uint256(64), uint256(0)), _from(swaps, 32));
        runRefused(action, refusal);
        action.data = swaps;
        run(action);
    }

    function _from(bytes memory whole, uint256 start) private pure returns (bytes memory rest) {
        rest = new bytes(whole.length - start);
        for (uint256 i = 0; i < rest.length; i++) {
            rest[i] = whole[start + i];
        }
    }

    function test_the_guardian_and_the_owner_can_each_pause_every_action() public {
        giveShares(tech, account, 1e18);
        ISessionModule.Action[2] memory actions = [buyAction(tech, 1e18), sellAction(tech, 1e18)];
        vm.prank(guardian);
        pause.pause();
        runRefused(actions[0], abi.encodePacked(ISessionModule.Paused.selector));
        runRefused(actions[1], abi.encodePacked(ISessionModule.Paused.selector));
        vm.prank(guardian);
        pause.unpause();

        vm.expectEmit(address(module));
        emit ISessionModule.AccountPaused(account, true);
        ownerCalls(address(module), abi.encodeCall(ISessionModule.setPaused, (true)));
        assertTrue(module.accountPaused(account));
        runRefused(actions[0], abi.encodePacked(ISessionModule.Paused.selector));
        runRefused(actions[1], abi.encodePacked(ISessionModule.Paused.selector));
        ownerCalls(address(module), abi.encodeCall(ISessionModule.setPaused, (false)));
        run(actions[0]);
    }

    function test_the_owner_can_grant_and_revoke_while_the_protocol_is_paused() public {
        vm.prank(guardian);
        pause.pause();
        grantAgain(defaultTerms());
        assertEq(module.grantOf(account, key).epoch, 2);
        ownerCalls(address(module), abi.encodeCall(ISessionModule.revoke, (key)));
        assertFalse(module.grantOf(account, key).active);
    }

    function test_a_fee_above_ten_dollars_is_refused() public {
        ISessionModule.GrantTerms memory terms = defaultTerms();
        terms.dailyLimit = 100_000e6;
        grantAgain(terms);
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        action.fee = 10e6 + 1;
        runRefused(action, abi.encodeWithSelector(ISessionModule.FeeTooHigh.selector, 10e6 + 1, 10e6));
        action.fee = 10e6;
        run(action);
        assertEq(usdg.balanceOf(relayer), 10e6);
    }

    function test_fees_of_a_day_are_capped_and_start_again_the_next_day() public {
        ISessionModule.GrantTerms memory terms = defaultTerms();
        terms.dailyLimit = 60e6; // cap: $12
        grantAgain(terms);
        ISessionModule.Action memory action = buyAction(tech, 0.1e18);
        action.fee = 10e6;
        run(action);
        action = buyAction(tech, 0.1e18);
        action.nonce++;
        action.fee = 2e6 + 1;
        runRefused(action, abi.encodeWithSelector(ISessionModule.DailyFeesExceeded.selector, 12e6 + 1, 12e6));
        action.fee = 2e6;
        run(action);
        vm.warp((vm.getBlockTimestamp() / 1 days + 1) * 1 days);
        action = buyAction(tech, 0.1e18);
        action.nonce += 2;
        action.fee = 10e6;
        run(action);
        (, uint256 fees) = module.usageOf(account, key);
        assertEq(fees, 10e6);
    }

    function testFuzz_the_daily_fee_cap_is_a_fifth_of_the_limit_within_one_and_twenty_dollars(uint256 limit)
        public
        view
    {
        uint256 cap = module.dailyFeeCapOf(limit);
        if (limit <= 5e6) assertEq(cap, 1e6);
        else if (limit >= 100e6) assertEq(cap, 20e6);
        else assertEq(cap, limit / 5);
    }

    function test_turnover_adds_buys_and_sells_until_the_limit_and_starts_again_at_midnight_utc() public {
        vm.warp((vm.getBlockTimestamp() / 1 days + 1) * 1 days - 60);
        ISessionModule.GrantTerms memory terms = defaultTerms();
        terms.dailyLimit = 250e6;
        grantAgain(terms);
        run(buyAction(tech, 1e18));
        ISessionModule.Action memory sale = sellAction(tech, 1e18);
        sale.nonce++;
        run(sale);
        (uint256 turnover,) = module.usageOf(account, key);
        assertGt(turnover, 199e6);

        ISessionModule.Action memory third = buyAction(tech, 0.6e18);
        third.nonce += 2;
        bytes memory sig = signed(third);
        vm.expectPartialRevert(ISessionModule.DailyLimitExceeded.selector);
        module.execute(third, sig);

        skip(59); // the last second of the day still belongs to it
        (uint256 late,) = module.usageOf(account, key);
        assertEq(late, turnover);
        vm.expectPartialRevert(ISessionModule.DailyLimitExceeded.selector);
        module.execute(third, sig);

        skip(1);
        (late,) = module.usageOf(account, key);
        assertEq(late, 0);
        third = buyAction(tech, 0.6e18);
        third.nonce += 2;
        run(third);
        (late,) = module.usageOf(account, key);
        assertGt(late, 59e6);
        assertLt(late, 62e6);
    }

    function test_a_trade_exactly_at_the_daily_limit_passes_and_one_base_unit_less_does_not() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        uint256 nav = oracle.referenceNav(address(tech));
        uint256 turnover = Math.max(action.limit, TradeBounds.value(1e18, nav, Math.Rounding.Ceil));
        ISessionModule.GrantTerms memory terms = defaultTerms();
        terms.dailyLimit = uint128(turnover - 1);
        grantAgain(terms);
        action.nonce = nonceFor(key, 1);
        runRefused(
            action, abi.encodeWithSelector(ISessionModule.DailyLimitExceeded.selector, turnover, turnover - 1)
        );
        terms.dailyLimit = uint128(turnover);
        grantAgain(terms);
        action.nonce = nonceFor(key, 1);
        run(action);
    }

    function test_a_new_grant_does_not_reset_the_day() public {
        run(buyAction(tech, 1e18));
        (uint256 turnover, uint256 fees) = module.usageOf(account, key);
        grantAgain(defaultTerms());
        ownerCalls(address(module), abi.encodeCall(ISessionModule.revoke, (key)));
        grantAgain(defaultTerms());
        (uint256 after_, uint256 feesAfter) = module.usageOf(account, key);
        assertEq(after_, turnover);
        assertEq(feesAfter, fees);
    }

    function test_a_clock_that_steps_back_a_day_does_not_reset_the_day() public {
        run(buyAction(tech, 1e18));
        (uint256 turnover,) = module.usageOf(account, key);
        vm.warp(vm.getBlockTimestamp() - 1 days);
        (uint256 seen,) = module.usageOf(account, key);
        assertEq(seen, turnover);
    }

    function test_turnover_of_a_cheap_buy_is_its_value_at_the_reference() public {
        movePrices(9_800);
        ISessionModule.Action memory action = buyAction(stock, 1e18);
        uint256 nav = oracle.referenceNav(address(stock));
        uint256 value = TradeBounds.value(1e18, nav, Math.Rounding.Ceil);
        assertLt(run(action), value);
        (uint256 turnover,) = module.usageOf(account, key);
        assertEq(turnover, value);
    }

    function test_turnover_of_a_sale_is_the_dearest_of_gross_reference_and_spot() public {
        giveShares(stock, account, 10e18);
        uint256 clean = vm.snapshotState();
        movePrices(10_200);
        uint256 spotValue = TradeBounds.value(1e18, oracle.spotNav(address(stock)), Math.Rounding.Ceil);
        uint256 refValue = TradeBounds.value(1e18, oracle.referenceNav(address(stock)), Math.Rounding.Ceil);
        assertGt(spotValue, refValue);
        run(sellAction(stock, 1e18));
        (uint256 turnover,) = module.usageOf(account, key);
        assertEq(turnover, spotValue);

        vm.revertToState(clean);
        movePrices(9_970);
        refValue = TradeBounds.value(1e18, oracle.referenceNav(address(stock)), Math.Rounding.Ceil);
        ISessionModule.GrantTerms memory terms = defaultTerms();
        terms.maxSlippageBps = 1_000;
        grantAgain(terms);
        ISessionModule.Action memory sale = sellAction(stock, 1e18);
        sale.slippageBps = 1_000;
        run(sale);
        (turnover,) = module.usageOf(account, key);
        assertEq(turnover, refValue);
    }

    function test_turnover_of_a_sale_counts_the_gross_that_a_dearer_pool_pays() public {
        createPool(address(alfa.token), address(usdg), 10_000, 131e18, 1_000_000e6);
        giveShares(mixed, account, 1e18);
        ISessionModule.Action memory sale = sellAction(mixed, 1e18);
        SwapCall[] memory swaps = abi.decode(sale.data, (SwapCall[]));
        Asset memory dear = alfa;
        dear.fee = 10_000;
        swaps[0] = exactInput(dear, mixed.previewRedeem(1e18)[0]);
        sale.data = abi.encode(swaps);
        uint256 net = run(sale);
        (uint256 turnover,) = module.usageOf(account, key);
        assertGt(net, TradeBounds.value(1e18, oracle.spotNav(address(mixed)), Math.Rounding.Ceil));
        assertEq(turnover - zapFee(turnover), net);
    }

    function test_slippage_above_the_grant_is_refused() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        action.slippageBps = 101;
        runRefused(action, abi.encodeWithSelector(ISessionModule.SlippageAboveGrant.selector, 101, 100));
    }

    function test_deadlines_hold_to_the_second() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        uint256 now_ = vm.getBlockTimestamp();
        action.deadline = uint48(now_ - 1);
        runRefused(action, abi.encodeWithSelector(ISessionModule.DeadlinePast.selector, now_ - 1));
        action.deadline = uint48(now_ + 15 minutes + 1);
        runRefused(action, abi.encodeWithSelector(ISessionModule.DeadlineTooFar.selector, now_ + 901));
        action.deadline = uint48(now_);
        uint256 before = vm.snapshotState();
        run(action);
        vm.revertToState(before);
        action.deadline = uint48(now_ + 15 minutes);
        run(action);
    }

    function test_a_deadline_past_the_grant_and_an_expired_grant_are_refused() public {
        ISessionModule.GrantTerms memory terms = defaultTerms();
        terms.validUntil = uint48(vm.getBlockTimestamp() + 60);
        grantAgain(terms);
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        runRefused(action, abi.encodeWithSelector(ISessionModule.DeadlineTooFar.selector, action.deadline));
        action.deadline = terms.validUntil;
        bytes memory sig = signed(action);
        skip(60); // its last second
        uint256 before = vm.snapshotState();
        module.execute(action, sig);
        vm.revertToState(before);
        skip(1);
        action.deadline = uint48(vm.getBlockTimestamp());
        runRefused(action, abi.encodeWithSelector(ISessionModule.GrantExpired.selector, terms.validUntil));
    }

    function test_an_account_without_the_money_keeps_its_nonce() public {
        usdg.burn(account, 950e6);
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        bytes memory sig = signed(action);
        vm.expectPartialRevert(ISessionModule.ModuleCallFailed.selector);
        module.execute(action, sig);
        assertFalse(module.nonceUsed(account, action.nonce));
        usdg.mint(account, 950e6);
        run(action);
    }

    function test_a_fee_that_the_account_cannot_pay_undoes_the_trade() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        usdg.burn(account, 1_000e6 - action.limit);
        action.fee = 1;
        bytes memory sig = signed(action);
        vm.expectPartialRevert(ISessionModule.ModuleCallFailed.selector);
        module.execute(action, sig);
        assertEq(tech.balanceOf(account), 0);
        assertFalse(module.nonceUsed(account, action.nonce));
        action.fee = 0;
        run(action);
        assertEq(usdg.balanceOf(account), 0);
    }

    function test_a_fee_that_does_not_arrive_exactly_undoes_everything() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        action.fee = 1e6;
        bytes memory notReturned =
            abi.encodeWithSelector(ISessionModule.ModuleCallFailed.selector, abi.encode(false));
        usdg.setMisbehaviourFor(TestToken.Misbehaviour.ReturnsFalse, relayer);
        runRefused(action, notReturned);
        usdg.setMisbehaviourFor(TestToken.Misbehaviour.ReturnsNothing, relayer);
        runRefused(action, abi.encodeWithSelector(ISessionModule.ModuleCallFailed.selector, ""));
        bytes memory delta = abi.encodeWithSelector(ISessionModule.UnexpectedDelta.selector, address(usdg));
        usdg.setMisbehaviourFor(TestToken.Misbehaviour.LiesTrue, relayer);
        runRefused(action, delta);
        usdg.setMisbehaviourFor(TestToken.Misbehaviour.FeeOnTransfer, relayer);
        runRefused(action, delta);
        usdg.setMisbehaviour(TestToken.Misbehaviour.None);
        run(action);
    }

    function test_the_account_itself_may_send_an_action_without_a_fee_only() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        action.fee = 1;
        bytes memory payload = abi.encodeCall(ISessionModule.execute, (action, signed(action)));
        vm.expectRevert(bytes("GS013"));
        this.ownerCallsOut(payload);
        assertFalse(module.nonceUsed(account, action.nonce));
        action.fee = 0;
        ownerCalls(address(module), abi.encodeCall(ISessionModule.execute, (action, signed(action))));
        assertEq(tech.balanceOf(account), 1e18);
    }

    function ownerCallsOut(bytes calldata payload) external {
        ownerCalls(address(module), payload);
    }

    function test_a_constituent_that_calls_back_gains_nothing() public {
        ISessionModule.Action memory inner = buyAction(stock, 1e18);
        inner.nonce++;
        alfa.token.setHook(address(module), abi.encodeCall(module.execute, (inner, signed(inner))), false);
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        alfa.token.setMisbehaviour(TestToken.Misbehaviour.Reenters);
        run(action);
        assertFalse(alfa.token.hookSucceeded());
        assertEq(
            alfa.token.hookResult(), abi.encodePacked(ReentrancyGuard.ReentrancyGuardReentrantCall.selector)
        );
        assertFalse(module.nonceUsed(account, inner.nonce));
        assertEq(stock.balanceOf(account), 0);
        assertEq(tech.balanceOf(account), 1e18);
    }

    function test_a_dead_constituent_undoes_a_trade_whole() public {
        giveShares(tech, account, 1e18);
        ISessionModule.Action memory sale = sellAction(tech, 1e18);
        ISessionModule.Action memory purchase = buyAction(tech, 1e18);
        for (uint256 kind = 1; kind <= uint256(type(TestToken.Misbehaviour).max); kind++) {
            TestToken.Misbehaviour misbehaviour = TestToken.Misbehaviour(kind);
            if (misbehaviour == TestToken.Misbehaviour.ReturnsNothing) continue; // tokens such as USDT: accepted
            if (misbehaviour == TestToken.Misbehaviour.Reenters) continue; // its own test
            if (misbehaviour == TestToken.Misbehaviour.ReturnsBlob) continue; // moves what it should
            alfa.token.setMisbehaviour(misbehaviour);
            _refusedSomehow(sale);
            _refusedSomehow(purchase);
        }
        alfa.token.setMisbehaviour(TestToken.Misbehaviour.None);
        run(sale);
    }

    function _refusedSomehow(ISessionModule.Action memory action) private {
        bytes memory sig = signed(action);
        vm.prank(relayer);
        (bool ok,) = address(module).call{gas: 30_000_000}(abi.encodeCall(module.execute, (action, sig)));
        assertFalse(ok);
        assertFalse(module.nonceUsed(account, action.nonce));
        assertEq(usdg.balanceOf(account), 1_000e6);
        assertEq(tech.balanceOf(account), 1e18);
    }

    function test_too_little_gas_never_burns_a_nonce_nor_half_executes() public {
        ISessionModule.Action memory action = buyAction(mixed, 1e18);
        action.fee = 100_000;
        bytes memory payload = abi.encodeCall(module.execute, (action, signed(action)));
        uint256 clean = vm.snapshotState();
        uint256 enough = gasleft();
        run(action);
        enough -= gasleft();
        vm.revertToState(clean);

        bool everFailed;
        bool everPassed;
        // Every 2% of the way, then finely around the edge, where the last inner calls starve.
        for (uint256 i; i < 150; i++) {
            uint256 gas_ = i < 40 ? enough * i / 50 : enough * (i + 650) / 750;
            vm.prank(relayer);
            (bool ok,) = address(module).call{gas: gas_}(payload);
            assertEq(module.nonceUsed(account, action.nonce), ok);
            assertEq(mixed.balanceOf(account), ok ? 1e18 : 0);
            assertEq(usdg.balanceOf(relayer), ok ? 100_000 : 0);
            assertEq(usdg.balanceOf(account), ok ? 1_000e6 - action.limit - 100_000 : 1_000e6);
            (uint256 turnover,) = module.usageOf(account, key);
            assertEq(turnover != 0, ok);
            if (ok) {
                everPassed = true;
                vm.revertToState(clean);
            } else {
                everFailed = true;
            }
        }
        assertTrue(everFailed && everPassed);
    }
}
