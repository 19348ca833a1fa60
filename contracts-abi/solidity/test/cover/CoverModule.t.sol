// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Constants} from "../../src/Constants.sol";
import {CoverModule} from "../../src/cover/CoverModule.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {ISafe} from "../../src/interfaces/ISafe.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {ISafeOwner} from "../accounts/AccountsFixture.sol";
import {CoverActions} from "../accounts/CoverActions.sol";
import {TestToken} from "../support/TestToken.sol";

/// Cover from a session key on the genuine market: what runs, what it costs, and what is refused (rules 16 to 21).
contract CoverModuleTest is CoverActions {
    uint128 private constant PRICE = 20e6; // per $1,000

    function setUp() public {
        deployAccounts();
        openCover();
        grantAgain(coverTerms());
        giveShares(covered, account, 1e18); // $100
    }

    // ---------------------------------------------------------------- take

    function test_a_take_buys_all_of_it_and_costs_premium_and_fee_exactly() public {
        uint256 id = _offer(300, PRICE);
        ICoverModule.CoverAction memory action = takeAction(id, 200, costOf(200, PRICE));
        action.fee = 0.3e6;
        bytes32 digest = coverModule.hashAction(action);
        vm.expectEmit(address(coverModule));
        emit ICoverModule.CoverExecuted(account, key, digest, action.nonce, TAKE, 4_040_000, 0.3e6, relayer);
        assertEq(runCover(action), 4_040_000); // $4.00 and 1%
        assertEq(usdg.balanceOf(account), 1_000e6 - 4_040_000 - 0.3e6);
        assertEq(usdg.balanceOf(relayer), 0.3e6);
        assertEq(usdg.allowance(account, address(market)), 0);
        assertEq(covered.balanceOf(account), 1e18);
        ICoverMarket.Position memory position = market.positionOf(1);
        assertEq(position.buyer, account);
        assertEq(position.underwriter, underwriter);
        assertEq(position.coverUsd, 200);
        assertEq(coverModule.usageOf(account, key), 4_040_000);
        assertTrue(coverModule.nonceUsed(account, action.nonce));
        assertFalse(module.nonceUsed(account, action.nonce), "nonces are per module");
        (uint256 turnover, uint256 fees) = module.usageOf(account, key);
        assertEq(turnover, 0);
        assertEq(fees, 0.3e6);
    }

    function test_an_allowance_above_the_cost_is_taken_back() public {
        uint256 id = _offer(200, PRICE);
        runCover(takeAction(id, 200, 6e6)); // exactly 3% of $200
        assertEq(usdg.balanceOf(account), 1_000e6 - 4_040_000);
        assertEq(usdg.allowance(account, address(market)), 0);
    }

    function test_a_take_over_several_offers_adds_them_up() public {
        (uint256[] memory ids, uint64[] memory amounts) = _lists(3);
        for (uint256 i; i < 3; i++) {
            (ids[i], amounts[i]) = (_offer(100, PRICE), 60);
        }
        uint256 spent = runCover(_takeMany(ids, amounts, 180, 3 * costOf(60, PRICE)));
        assertEq(spent, 3 * costOf(60, PRICE));
        assertEq(market.positionCount(), 3);
    }

    function test_a_take_of_less_than_it_asks_is_refused() public {
        uint256 id = _offer(100, PRICE);
        _refusedInside(
            takeAction(id, 101, 3e6), abi.encodeWithSelector(ICoverMarket.TooLittleCover.selector, 100, 101)
        );
        ICoverModule.CoverAction memory action = takeAction(id, 100, costOf(100, PRICE) - 1);
        _refusedInside(
            action,
            abi.encodeWithSelector(ICoverMarket.TooDear.selector, costOf(100, PRICE), costOf(100, PRICE) - 1)
        );
    }

    function test_the_least_cover_must_be_the_sum() public {
        (uint256[] memory ids, uint64[] memory amounts) = _lists(2);
        (ids[0], ids[1]) = (_offer(100, PRICE), _offer(100, PRICE));
        (amounts[0], amounts[1]) = (60, 60);
        bytes memory refusal = abi.encodeWithSelector(ISessionModule.BadTerms.selector, "minCoverUsd");
        runCoverRefused(_takeMany(ids, amounts, 119, 3e6), refusal);
        runCoverRefused(_takeMany(ids, amounts, 121, 3e6), refusal);
        amounts[0] = type(uint64).max;
        runCoverRefused(_takeMany(ids, amounts, 59, 1e6), refusal); // no sum wraps
        amounts[0] = 60;
        runCover(_takeMany(ids, amounts, 120, 3e6));
    }

    function test_lists_of_different_or_wrong_lengths_are_refused() public {
        (uint256[] memory ids, uint64[] memory amounts) = _lists(2);
        bytes memory refusal = abi.encodeWithSelector(ISessionModule.BadTerms.selector, "lengths");
        runCoverRefused(_takeMany(ids, new uint64[](1), 0, 0), refusal);
        runCoverRefused(_takeMany(new uint256[](1), amounts, 0, 0), refusal);
        refusal = abi.encodeWithSelector(ISessionModule.BadTerms.selector, "ids");
        runCoverRefused(_takeMany(new uint256[](0), new uint64[](0), 0, 0), refusal);
        uint256 most = Constants.MAX_SESSION_COVER_OFFERS;
        runCoverRefused(_takeMany(new uint256[](most + 1), new uint64[](most + 1), 0, 0), refusal);
    }

    function test_as_many_offers_as_one_action_may_take_are_taken() public {
        ISessionModule.GrantTerms memory terms = coverTerms();
        terms.coverDailyLimit = 100e6;
        grantAgain(terms);
        uint256 most = Constants.MAX_SESSION_COVER_OFFERS;
        (uint256[] memory ids, uint64[] memory amounts) = _lists(most);
        for (uint256 i; i < most; i++) {
            (ids[i], amounts[i]) = (_offer(50, PRICE), 50);
        }
        assertEq(
            runCover(_takeMany(ids, amounts, 50 * most, most * costOf(50, PRICE))), most * costOf(50, PRICE)
        );
    }

    function test_three_percent_of_the_cover_is_the_ceiling_of_a_take() public {
        uint256 id = _offer(100, 29_700_000);
        runCoverRefused(
            takeAction(id, 100, 3e6 + 1),
            abi.encodeWithSelector(ICoverModule.CostAboveCeiling.selector, 3e6 + 1, 3e6)
        );
        // $29.70 per $1,000 is the most that fits: 2.97 + 1% = 2.9997.
        assertEq(runCover(takeAction(id, 100, 3e6)), 2_999_700);
        id = _offer(100, 29_710_000);
        ICoverModule.CoverAction memory action = takeAction(id, 100, 3e6);
        action.nonce++;
        _refusedInside(action, abi.encodeWithSelector(ICoverMarket.TooDear.selector, 3_000_710, 3e6));
    }

    function test_offers_of_two_weeks_cannot_hide_behind_the_first() public {
        ICoverMarket.Terms memory terms = weekTerms(100, PRICE);
        terms.week = coverWeeks[1];
        (uint256[] memory ids, uint64[] memory amounts) = _lists(2);
        (ids[0], ids[1]) = (_offer(100, PRICE), placeOffer(terms));
        (amounts[0], amounts[1]) = (60, 60);
        _refusedInside(
            _takeMany(ids, amounts, 120, 3.6e6), abi.encodeWithSelector(ICoverMarket.MixedListings.selector)
        );
    }

    function test_an_account_cannot_buy_its_own_offer() public {
        uint256 id = _ownersOffer();
        _refusedInside(takeAction(id, 100, 3e6), abi.encodeWithSelector(ICoverMarket.OwnListing.selector, id));
    }

    function test_an_offer_that_never_was_is_of_no_basket() public {
        runCoverRefused(
            takeAction(7, 100, 3e6), abi.encodeWithSelector(ISessionModule.UnknownVault.selector, address(0))
        );
    }

    // ---------------------------------------------------------------- request and cancel

    function test_a_request_locks_its_premium_exactly() public {
        ICoverModule.CoverAction memory action = requestAction(weekTerms(500, 30e6));
        action.fee = 0.2e6;
        vm.recordLogs();
        assertEq(runCover(action), 15e6);
        uint256 id = lastListing();
        assertEq(usdg.balanceOf(account), 985e6 - 0.2e6);
        assertEq(usdg.balanceOf(address(market)), 15e6);
        assertEq(usdg.allowance(account, address(market)), 0);
        assertEq(coverModule.usageOf(account, key), 15e6);
        ICoverMarket.Listing memory listing = market.listingOf(id);
        assertEq(listing.owner, account);
        assertTrue(listing.side == ICoverMarket.Side.Request);
    }

    /// A transfer of nothing would still ask USDG whether the relayer may be paid.
    function test_a_request_without_a_fee_moves_none_so_whoever_cannot_be_paid_can_still_run_it() public {
        usdg.setBlocked(relayer, true);
        uint256 id = runRequest(requestAction(weekTerms(500, PRICE)));
        assertGt(id, 0);
    }

    function test_thirty_dollars_per_thousand_are_the_most_of_a_request() public {
        runCoverRefused(
            requestAction(weekTerms(500, 30_010_000)),
            abi.encodeWithSelector(ICoverModule.CostAboveCeiling.selector, 30_010_000, 30e6)
        );
    }

    function test_a_price_in_parts_of_a_cent_is_refused() public {
        runCoverRefused(
            requestAction(weekTerms(500, 29_999_999)),
            abi.encodeWithSelector(ISessionModule.BadTerms.selector, "pricePer1k")
        );
    }

    function test_a_cancel_returns_what_is_open_and_restores_no_limit() public {
        uint256 id = runRequest(requestAction(weekTerms(500, PRICE)));
        usdg.mint(underwriter, 500e6);
        vm.prank(underwriter);
        market.fill(id, 200);
        ICoverModule.CoverAction memory action = cancelAction(id);
        action.nonce++;
        assertEq(runCover(action), 0);
        assertEq(usdg.balanceOf(account), 1_000e6 - 4e6); // the filled $200 keep their premium locked
        assertEq(coverModule.usageOf(account, key), 10e6);
        action.nonce++;
        _refusedInside(action, abi.encodeWithSelector(ICoverMarket.NotOpen.selector, id));
    }

    function test_a_cancel_carries_no_fee() public {
        ICoverModule.CoverAction memory action =
            cancelAction(runRequest(requestAction(weekTerms(500, PRICE))));
        action.nonce++;
        action.fee = 1;
        runCoverRefused(action, abi.encodeWithSelector(ISessionModule.FeeTooHigh.selector, 1, 0));
    }

    function test_a_cancel_passes_though_the_day_is_used_up_or_the_limits_were_lowered() public {
        ICoverModule.CoverAction memory action = requestAction(weekTerms(500, PRICE));
        action.fee = 10e6;
        uint256 id = runRequest(action);
        ISessionModule.GrantTerms memory terms = coverTerms();
        (terms.dailyLimit, terms.coverDailyLimit) = (0, 0);
        grantAgain(terms);
        runCover(cancelAction(id));
        assertEq(coverModule.usageOf(account, key), 10e6);
    }

    function test_only_the_requests_of_the_account_can_be_cancelled() public {
        uint256 offered = _ownersOffer();
        runCoverRefused(
            cancelAction(offered), abi.encodeWithSelector(ICoverModule.NotARequest.selector, offered)
        );
        ICoverMarket.Terms memory terms = weekTerms(100, PRICE);
        vm.prank(underwriter);
        uint256 foreign = market.request(terms);
        runCoverRefused(
            cancelAction(foreign), abi.encodeWithSelector(ICoverModule.NotARequest.selector, foreign)
        );
        runCoverRefused(cancelAction(7), abi.encodeWithSelector(ICoverModule.NotARequest.selector, 7));
    }

    // ---------------------------------------------------------------- kinds

    function test_a_request_and_its_cancel_are_told_as_what_they_are() public {
        ICoverModule.CoverAction memory action = requestAction(weekTerms(500, PRICE));
        bytes32 digest = coverModule.hashAction(action);
        vm.expectEmit(address(coverModule));
        emit ICoverModule.CoverExecuted(account, key, digest, action.nonce, REQUEST, 10e6, 0, relayer);
        action = cancelAction(runRequest(action));
        action.nonce++;
        digest = coverModule.hashAction(action);
        vm.expectEmit(address(coverModule));
        emit ICoverModule.CoverExecuted(account, key, digest, action.nonce, CANCEL, 0, 0, relayer);
        runCover(action);
    }

    function test_what_underwrites_belongs_to_the_owner() public {
        uint8[3] memory kinds = [2, 3, 5];
        for (uint256 i; i < kinds.length; i++) {
            runCoverRefused(
                coverAction(kinds[i], ""), abi.encodeWithSelector(ICoverModule.OwnerOnly.selector, kinds[i])
            );
        }
    }

    function testFuzz_unknown_kinds_are_refused(uint8 kind) public {
        kind = uint8(bound(kind, 6, 255));
        runCoverRefused(
            coverAction(kind, ""), abi.encodeWithSelector(ISessionModule.UnknownKind.selector, kind)
        );
    }

    function testFuzz_random_bytes_as_data_move_nothing(bytes memory noise, uint8 kind) public {
        ICoverModule.CoverAction memory action = coverAction([TAKE, REQUEST, CANCEL][kind % 3], noise);
        bytes memory sig = signedCover(action);
        vm.prank(relayer);
        (bool ok,) = address(coverModule).call(abi.encodeCall(coverModule.execute, (action, sig)));
        assertFalse(ok);
        assertEq(usdg.balanceOf(account), 1_000e6);
    }

    // ---------------------------------------------------------------- grant

    function test_cover_off_refuses_every_kind() public {
        uint256 requested = runRequest(requestAction(weekTerms(500, PRICE)));
        ISessionModule.GrantTerms memory terms = coverTerms();
        terms.coverEnabled = false;
        grantAgain(terms);
        bytes memory refusal = abi.encodeWithSelector(ICoverModule.CoverDisabled.selector);
        uint256 id = _offer(100, PRICE);
        runCoverRefused(takeAction(id, 100, 3e6), refusal);
        runCoverRefused(requestAction(weekTerms(100, PRICE)), refusal);
        runCoverRefused(cancelAction(requested), refusal);
    }

    function test_a_pause_refuses_the_cancel_of_a_key_and_never_the_owners() public {
        uint256 id = runRequest(requestAction(weekTerms(500, PRICE)));
        bytes memory refusal = abi.encodeWithSelector(ISessionModule.Paused.selector);
        ICoverModule.CoverAction memory action = cancelAction(id);
        action.nonce++;
        ownerCalls(address(module), abi.encodeCall(ISessionModule.setPaused, (true)));
        runCoverRefused(action, refusal);
        ownerCalls(address(module), abi.encodeCall(ISessionModule.setPaused, (false)));
        vm.prank(guardian);
        pause.pause();
        runCoverRefused(action, refusal);
        ownerCalls(address(market), abi.encodeCall(ICoverMarket.cancel, (id)));
        assertEq(usdg.balanceOf(account), 1_000e6);
    }

    function test_revoked_expired_and_old_grants_are_dead() public {
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        grantAgain(coverTerms());
        runCoverRefused(
            action,
            abi.encodeWithSelector(
                ISessionModule.WrongNonceSpace.selector, coverModule.nonceSpaceOf(account, key)
            )
        );
        ownerCalls(address(module), abi.encodeCall(ISessionModule.revoke, (key)));
        runCoverRefused(
            requestAction(weekTerms(100, PRICE)),
            abi.encodeWithSelector(ISessionModule.GrantInactive.selector)
        );
        ISessionModule.GrantTerms memory terms = coverTerms();
        terms.validUntil = uint48(vm.getBlockTimestamp() + 1 minutes);
        grantAgain(terms);
        action = requestAction(weekTerms(100, PRICE));
        runCoverRefused(
            action, abi.encodeWithSelector(ISessionModule.DeadlineTooFar.selector, action.deadline)
        );
        skip(1 minutes + 1);
        runCoverRefused(
            action, abi.encodeWithSelector(ISessionModule.GrantExpired.selector, terms.validUntil)
        );
    }

    function test_a_deadline_is_good_up_to_its_second_and_fifteen_minutes_ahead() public {
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        action.deadline = uint48(vm.getBlockTimestamp() + 15 minutes + 1);
        runCoverRefused(
            action, abi.encodeWithSelector(ISessionModule.DeadlineTooFar.selector, action.deadline)
        );
        skip(15 minutes + 2);
        runCoverRefused(action, abi.encodeWithSelector(ISessionModule.DeadlinePast.selector, action.deadline));
        action.deadline = uint48(vm.getBlockTimestamp());
        runCover(action);
        action.nonce++;
        action.deadline = uint48(vm.getBlockTimestamp() + 15 minutes);
        runCover(action);
    }

    function test_a_grant_dies_with_its_owner_and_without_the_module() public {
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        address buyer = makeAddr("buyer");
        ownerCalls(account, abi.encodeCall(ISafeOwner.swapOwner, (SENTINEL, owner, buyer)));
        runCoverRefused(action, abi.encodeWithSelector(ISessionModule.OwnerChanged.selector));
        ownerCallsAs(buyer, account, abi.encodeCall(ISafeOwner.swapOwner, (SENTINEL, buyer, owner)));
        ownerCalls(account, abi.encodeCall(ISafeOwner.disableModule, (SENTINEL, address(coverModule))));
        bytes memory sig = signedCover(action);
        vm.expectRevert(bytes("GS104"));
        coverModule.execute(action, sig);
    }

    function test_nonces_live_in_the_space_of_key_and_epoch_and_run_once() public {
        assertEq(coverModule.nonceSpaceOf(account, key), module.nonceSpaceOf(account, key));
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        runCover(action);
        runCoverRefused(action, abi.encodeWithSelector(ISessionModule.NonceUsed.selector, action.nonce));
        action.nonce = 2;
        runCoverRefused(
            action,
            abi.encodeWithSelector(ISessionModule.WrongNonceSpace.selector, module.nonceSpaceOf(account, key))
        );
    }

    // ---------------------------------------------------------------- limits

    function test_the_cover_limit_counts_premium_and_fee_for_a_utc_day() public {
        ISessionModule.GrantTerms memory terms = coverTerms();
        terms.coverDailyLimit = 5e6;
        grantAgain(terms);
        runCover(requestAction(weekTerms(100, 29_990_000))); // $2.999
        uint256 id = _offer(100, PRICE); // $2.02
        ICoverModule.CoverAction memory action = takeAction(id, 100, 3e6);
        action.nonce++;
        runCoverRefused(
            action, abi.encodeWithSelector(ICoverModule.CoverLimitExceeded.selector, 5_019_000, 5e6)
        );
        terms.coverDailyLimit = 5_019_000;
        grantAgain(terms); // a new grant does not reset the day, and exactly the limit fits
        runCover(takeAction(id, 100, 3e6));
        assertEq(coverModule.usageOf(account, key), 5_019_000);

        uint256 nextDay = (vm.getBlockTimestamp() / 1 days + 1) * 1 days;
        vm.warp(nextDay - 1);
        assertEq(coverModule.usageOf(account, key), 5_019_000);
        vm.warp(nextDay);
        assertEq(coverModule.usageOf(account, key), 0);
        action = requestAction(weekTerms(100, 30e6));
        action.nonce++;
        runCover(action);
        assertEq(coverModule.usageOf(account, key), 3e6);
        vm.warp(nextDay - 1); // a forced transaction with yesterday's clock
        assertEq(coverModule.usageOf(account, key), 3e6);
        action.nonce++;
        action.deadline = uint48(nextDay);
        runCoverRefused(
            action, abi.encodeWithSelector(ICoverModule.CoverLimitExceeded.selector, 6e6, 5_019_000)
        );
    }

    function test_the_network_fee_is_at_most_ten_dollars() public {
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        action.fee = 10e6 + 1;
        runCoverRefused(action, abi.encodeWithSelector(ISessionModule.FeeTooHigh.selector, 10e6 + 1, 10e6));
        action.fee = 10e6;
        runCover(action);
    }

    function test_one_daily_cap_of_fees_counts_both_modules() public {
        ISessionModule.GrantTerms memory terms = coverTerms();
        terms.dailyLimit = 150e6; // fees of a day: $30, capped at $20
        grantAgain(terms);
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        action.fee = 10e6;
        runCover(action);
        ISessionModule.Action memory trade = buyAction(tech, 1e18);
        trade.fee = 10e6;
        run(trade);
        action.nonce++;
        action.fee = 1;
        runCoverRefused(
            action, abi.encodeWithSelector(ISessionModule.DailyFeesExceeded.selector, 20e6 + 1, 20e6)
        );
        action.fee = 0;
        runCover(action);
    }

    function test_only_the_cover_module_counts_fees() public {
        vm.expectRevert(ISessionModule.NotCoverModule.selector);
        module.countFee(account, key, 1);
    }

    // ---------------------------------------------------------------- holder

    function test_five_dollars_of_shares_make_a_holder_and_less_do_not() public {
        uint256 nav = oracle.referenceNav(address(covered));
        uint256 enough = (5e6 * 1e30 + nav - 1) / nav; // the least shares that are worth $5
        _leave(enough - 1);
        bytes memory refusal =
            abi.encodeWithSelector(ICoverModule.NotAHolder.selector, address(covered), 5e6 - 1, 5e6);
        uint256 id = _offer(100, PRICE);
        runCoverRefused(takeAction(id, 100, 3e6), refusal);
        runCoverRefused(requestAction(weekTerms(100, PRICE)), refusal);
        giveShares(covered, account, 1);
        runCover(takeAction(id, 100, 3e6));
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        action.nonce++;
        runCover(action);
    }

    function test_shares_in_an_exit_order_are_still_held_and_those_of_another_basket_are_not() public {
        giveShares(tech, account, 10e18);
        IExitEscrow.ExitTerms memory terms;
        (terms.vault, terms.shares, terms.stopNav) = (address(covered), 1e18, 50e18);
        terms.deadline = uint48(vm.getBlockTimestamp() + 30 days);
        vm.startPrank(account);
        covered.approve(address(exits), 1e18);
        bytes32 order = exits.create(terms);
        vm.stopPrank();
        assertEq(covered.balanceOf(account), 0);
        runCover(requestAction(weekTerms(100, PRICE)));
        vm.prank(account);
        exits.cancel(order);
        _leave(0);
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        action.nonce++;
        runCoverRefused(
            action, abi.encodeWithSelector(ICoverModule.NotAHolder.selector, address(covered), 0, 5e6)
        );
    }

    function test_a_holding_is_measured_at_the_reference_and_not_at_a_pushed_spot() public {
        _leave(0.04e18); // $4
        setPrice(foxtrot, foxtrot.price * 2);
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        bytes memory sig = signedCover(action);
        vm.expectPartialRevert(ICoverModule.NotAHolder.selector);
        coverModule.execute(action, sig);
    }

    function test_without_a_reference_nothing_is_bought_and_a_request_can_be_taken_back() public {
        uint256 id = runRequest(requestAction(weekTerms(100, PRICE)));
        removeLiquidity(golf.pool, golf.pool.liquidity() * 9 / 10);
        skip(400);
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        action.nonce++;
        runCoverRefused(
            action,
            abi.encodeWithSelector(
                INavOracle.NoReference.selector, address(covered), INavOracle.Invalid.Thin, address(golf.pool)
            )
        );
        action = cancelAction(id);
        action.nonce++;
        runCover(action);
    }

    function test_baskets_without_cover_are_refused_before_they_are_asked() public {
        ICoverMarket.Terms memory terms = weekTerms(100, PRICE);
        address[3] memory others = [address(tech), address(usdg), makeAddr("nothing")];
        for (uint256 i; i < others.length; i++) {
            terms.vault = others[i];
            runCoverRefused(
                requestAction(terms), abi.encodeWithSelector(ISessionModule.UnknownVault.selector, others[i])
            );
        }
    }

    // ---------------------------------------------------------------- failure

    function test_every_refusal_of_the_market_reaches_the_sender() public {
        ICoverMarket.Terms memory terms = weekTerms(100, PRICE);
        terms.fromBps = 101;
        _refusedInside(
            requestAction(terms), abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "range off the grid")
        );
        ICoverMarket.WeekTimes memory times = market.weekOf(coverWeeks[0]);
        vm.warp(times.close - 1 hours - 1);
        terms = weekTerms(100, PRICE);
        runCover(requestAction(terms));
        vm.warp(times.close - 1 hours);
        ICoverModule.CoverAction memory action = requestAction(terms);
        action.nonce++;
        _refusedInside(action, abi.encodeWithSelector(ICoverMarket.TradingClosed.selector, coverWeeks[0]));
    }

    function test_an_account_without_the_money_is_refused_and_keeps_its_nonce() public {
        usdg.burn(account, usdg.balanceOf(account) - 2e6);
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        action.fee = 1;
        runCoverRefused(action, _failed(abi.encodeWithSignature("Panic(uint256)", 0x11)));
        action.fee = 0;
        runCover(action);
    }

    /// USDG calls back from within the take, with a request of the same key.
    function test_no_action_runs_inside_another() public {
        uint256 id = _offer(100, PRICE);
        ICoverModule.CoverAction memory inner = requestAction(weekTerms(100, PRICE));
        inner.nonce++;
        bytes memory payload = abi.encodeCall(coverModule.execute, (inner, signedCover(inner)));
        usdg.setHook(address(coverModule), payload, false);
        usdg.setMisbehaviourFor(TestToken.Misbehaviour.Reenters, account);
        runCover(takeAction(id, 100, 3e6));
        assertFalse(usdg.hookSucceeded());
        assertEq(
            usdg.hookResult(),
            abi.encodePacked(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector)
        );
        assertFalse(coverModule.nonceUsed(account, inner.nonce));
        usdg.setMisbehaviour(TestToken.Misbehaviour.None);
        runCover(inner);
    }

    /// Whatever gas it is given: all of it happens, or none (invariant 13).
    function test_starved_calls_leave_the_nonce_unused() public {
        ICoverModule.CoverAction memory action = requestAction(weekTerms(100, PRICE));
        action.fee = 0.1e6;
        bytes memory payload = abi.encodeCall(coverModule.execute, (action, signedCover(action)));
        uint256 refused;
        bool ok;
        for (uint256 gas_ = 20_000; !ok; gas_ += 10_000) {
            vm.prank(relayer);
            (ok,) = address(coverModule).call{gas: gas_}(payload);
            assertEq(coverModule.nonceUsed(account, action.nonce), ok);
            assertEq(usdg.balanceOf(account), ok ? 997_900_000 : 1_000e6);
            if (!ok) refused++;
        }
        assertGt(refused, 20);
    }

    function test_a_module_over_missing_contracts_cannot_be_deployed() public {
        address none = makeAddr("no code");
        string[6] memory names = ["usdg", "oracle", "pause", "session module", "cover market", "exit escrow"];
        for (uint256 i; i < 6; i++) {
            address[6] memory parts = [
                address(usdg),
                address(oracle),
                address(pause),
                address(module),
                address(market),
                address(exits)
            ];
            parts[i] = none;
            vm.expectRevert(abi.encodeWithSelector(ISessionModule.BadTerms.selector, names[i]));
            new CoverModule(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]);
        }
    }

    // ---------------------------------------------------------------- steps

    function _offer(uint64 coverUsd, uint128 price) private returns (uint256) {
        return placeOffer(weekTerms(coverUsd, price));
    }

    /// The owner underwrites from the Safe.
    function _ownersOffer() private returns (uint256 id) {
        vm.startPrank(account);
        usdg.approve(address(market), 100e6);
        id = market.offer(weekTerms(100, PRICE), false);
        vm.stopPrank();
    }

    function _takeMany(uint256[] memory ids, uint64[] memory amounts, uint256 least, uint256 limit)
        private
        view
        returns (ICoverModule.CoverAction memory)
    {
        return coverAction(TAKE, abi.encode(ids, amounts, least, limit));
    }

    function _lists(uint256 count) private pure returns (uint256[] memory, uint64[] memory) {
        return (new uint256[](count), new uint64[](count));
    }

    function _leave(uint256 shares) private {
        uint256 spare = covered.balanceOf(account) - shares;
        vm.prank(account);
        covered.transfer(address(this), spare);
    }

    function _refusedInside(ICoverModule.CoverAction memory action, bytes memory reason) private {
        runCoverRefused(action, _failed(reason));
    }

    function _failed(bytes memory reason) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ISessionModule.ModuleCallFailed.selector, reason);
    }
}
