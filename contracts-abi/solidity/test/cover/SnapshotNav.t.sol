// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketVault} from "../../src/basket/BasketVault.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {IUniPool} from "../support/UniswapFixture.sol";
import {CoverFixture} from "./CoverFixture.sol";

/// The average NAV of a past window (rule 22): what it is, when there is none, and that neither the caller nor the
/// time of the call has any say in it (invariant 19).
contract SnapshotNavTest is CoverFixture {
    uint256 private constant TICK = 1.0001e14; // one tick, as a share x 1e18
    uint256 private time; // the moment whose window is asked for

    struct Answer {
        uint256 nav;
        INavOracle.Invalid reason;
        address pool;
    }

    function setUp() public {
        deployCover();
        time = closeOf(WEEK);
        vm.warp(time - 1_000);
        refreshPools();
    }

    // ---------------------------------------------------------------- what it is

    function test_it_is_the_average_of_the_ten_minutes_before() public {
        vm.warp(time - 300);
        moveSolo(10_200);
        vm.warp(time);
        moveSolo(5_000); // from here on it is another window
        vm.warp(time + 1_800);
        _assertNav(solo, time, 100.995e18, 3 * TICK); // half at 100, half at 102, geometric
        _assertNav(solo, time - 300, 100e18, 2 * TICK);
        _assertNav(solo, time + 1_200, 50e18, 2 * TICK);
    }

    function test_it_counts_a_leg_through_WETH_and_cash() public {
        vm.warp(time - 600);
        setPrice(ether_, ETH_PRICE * 9_000 / 10_000); // hotel trades against WETH and falls with it
        vm.warp(time + 60);
        _assertNav(duo, time, 97e18, 4 * TICK);
    }

    function test_the_management_fee_is_that_of_the_moment() public {
        vm.warp(time + 60);
        uint256 now_ = oracle.referenceNav(address(solo));
        Answer memory then = _ask(solo, time - 365 days);
        assertEq(uint256(then.reason), uint256(INavOracle.Invalid.TooYoung));
        uint256 snapshot = _ask(solo, time).nav;
        assertGt(snapshot, now_); // a minute's fee less
        assertApproxEqRel(snapshot, now_, 1e11);
    }

    function test_the_future_cannot_be_asked_for() public {
        vm.warp(time - 1);
        vm.expectRevert(error_(INavOracle.NotYet.selector, time));
        oracle.tryNavAt(address(solo), time);
    }

    function test_a_moment_beyond_the_clock_of_pools_is_too_old() public {
        vm.warp(time + uint256(type(uint32).max / 2) + 1);
        _assertInvalid(solo, time, INavOracle.Invalid.TooYoung, address(0));
    }

    // ---------------------------------------------------------------- when there is none

    function test_a_pool_of_shorter_memory_gives_none() public {
        Asset memory short = listCoverAsset("Short", 18, 10_000, 50e18, COVER_DEPTH, false);
        short.pool = createThinPool(address(short.token), address(usdg), 3_000, 50e18);
        short.minLiquidity = addDepth(short.pool, address(usdg), COVER_DEPTH) / 2;
        growCardinality(short.pool, 4_499);
        BasketVault vault = foundOf("SHORT", short);
        vm.warp(time + 1);
        _assertInvalid(vault, time, INavOracle.Invalid.Cardinality, address(short.pool));
        growCardinality(short.pool, 4_500); // becomes effective once the ring is full
        _assertInvalid(vault, time, INavOracle.Invalid.Cardinality, address(short.pool));
        for (uint256 i; i < 4_499; ++i) {
            skip(1);
            writeObservation(short.pool);
        }
        assertEq(uint256(_ask(vault, vm.getBlockTimestamp()).reason), 0);
    }

    function test_a_pool_younger_than_the_window_gives_none() public {
        Asset memory young = listCoverAsset("Young", 18, 10_000, 50e18, COVER_DEPTH, false);
        uint256 born = vm.getBlockTimestamp() - 2;
        BasketVault vault = foundOf("YOUNG", young);
        vm.warp(born + 1_200);
        _assertInvalid(vault, born + 599, INavOracle.Invalid.TooYoung, address(young.pool));
        _assertNav(vault, born + 600, 100e18, 2 * TICK);
    }

    function test_a_thin_sub_window_gives_none_however_thick_the_rest() public {
        vm.warp(time - 300);
        uint128 all = india.pool.liquidity();
        removeLiquidity(india.pool, all - india.minLiquidity + 1_000_000);
        vm.warp(time - 250);
        addDepth(india.pool, address(usdg), COVER_DEPTH);
        vm.warp(time + 60);
        _assertInvalid(solo, time, INavOracle.Invalid.Thin, address(india.pool));
        _assertNav(solo, time - 300, 100e18, 2 * TICK); // ends just as it grew thin
    }

    function test_a_thin_WETH_leg_gives_none() public {
        removeLiquidity(ether_.pool, ether_.pool.liquidity() * 6 / 10);
        vm.warp(time);
        _assertInvalid(duo, time, INavOracle.Invalid.Thin, address(ether_.pool));
        _assertNav(solo, time, 100e18, 2 * TICK);
    }

    /// The same second of madness in each of three sub-windows is calm to an order's reference, which has three of
    /// them: here nine others tell of it.
    function test_three_pushes_that_orders_do_not_see_give_none() public {
        for (uint256 i; i < 3; ++i) {
            vm.warp(time - 600 + i * 200 + 60);
            movePrice(india.pool, address(india.token), 40e18 * 100);
            skip(1);
            movePrice(india.pool, address(india.token), 40e18);
        }
        vm.warp(time);
        (, INavOracle.Invalid reason,) = oracle.tryReferenceNav(address(solo));
        assertEq(uint256(reason), 0);
        _assertInvalid(solo, time, INavOracle.Invalid.Jumpy, address(india.pool));
    }

    function test_a_constituent_without_a_pool_gives_none() public {
        Asset memory stray;
        stray.token = golf.token;
        BasketVault vault = foundOf("STRAY", stray);
        _assertInvalid(vault, vm.getBlockTimestamp(), INavOracle.Invalid.NoPool, address(0));
    }

    /// Otherwise a caller could skip a window, or void a week, by starving the call.
    function testFuzz_too_little_gas_never_looks_like_an_invalid_window(uint256 gas_) public {
        vm.warp(time + 60);
        gas_ = bound(gas_, 30_000, 1_500_000);
        bytes memory question = abi.encodeCall(oracle.tryNavAt, (address(duo), time));
        (bool ok, bytes memory answer) = address(oracle).staticcall{gas: gas_}(question);
        if (!ok) return;
        (uint256 nav, INavOracle.Invalid reason,) = abi.decode(answer, (uint256, INavOracle.Invalid, address));
        assertEq(uint256(reason), 0);
        assertEq(nav, _ask(duo, time).nav);
    }

    // ---------------------------------------------------------------- invariant 19

    /// Busy pools before the moment, in its second, and after it; asked at once, and again within the hour.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_it_is_the_same_whoever_asks_and_whenever(uint256 seed) public {
        vm.warp(time - 900);
        uint256 dice = seed;
        while (vm.getBlockTimestamp() < time) {
            dice = _roll(dice);
            _disturb(dice, seed % 3 == 0);
            uint256 next = vm.getBlockTimestamp() + 1 + dice % 40;
            vm.warp(next < time ? next : time);
        }
        Answer memory duoFirst = _ask(duo, time);
        Answer memory soloFirst = _ask(solo, time);
        if (dice % 2 == 0) _disturb(_roll(dice), true); // in the same block
        while (vm.getBlockTimestamp() < time + 3_599) {
            _assertSame(_ask(duo, time), duoFirst);
            _assertSame(_ask(solo, time), soloFirst);
            dice = _roll(dice);
            uint256 next = vm.getBlockTimestamp() + (dice % 4 == 0 ? 1 : dice % 900);
            vm.warp(next < time + 3_599 ? next : time + 3_599);
            if (dice % 3 != 0) _disturb(_roll(dice), true);
        }
        _assertSame(_ask(duo, time), duoFirst);
        _assertSame(_ask(solo, time), soloFirst);
    }

    /// Liquidity exactly at the floor: the pool's accumulator rounds one way while it is read ahead of the newest
    /// observation, and another once an observation lies behind it. Neither may tip the verdict.
    function testFuzz_a_pool_exactly_at_its_floor_is_never_tipped_by_a_later_observation(
        uint256 age_,
        uint256 wait,
        uint128 spare
    ) public {
        spare = uint128(bound(spare, 0, 1));
        vm.warp(time - bound(age_, 601, 1_000));
        removeLiquidity(india.pool, india.pool.liquidity() - india.minLiquidity - spare);
        vm.warp(time + 1);
        Answer memory first = _ask(solo, time);
        assertEq(uint256(first.reason), 0, "the floor itself is thick enough");
        skip(bound(wait, 0, 3_500));
        _assertSame(_ask(solo, time), first);
        removeLiquidity(india.pool, 1_000_000); // writes an observation
        _assertSame(_ask(solo, time), first);
        skip(1);
        _assertSame(_ask(solo, time), first);
    }

    function test_one_unit_of_liquidity_below_the_floor_is_thin() public {
        removeLiquidity(india.pool, india.pool.liquidity() - india.minLiquidity + 1);
        vm.warp(time + 1);
        _assertInvalid(solo, time, INavOracle.Invalid.Thin, address(india.pool));
        writeObservation(india.pool);
        _assertInvalid(solo, time, INavOracle.Invalid.Thin, address(india.pool));
    }

    /// 4,500 observations reach back past the hour in which a snapshot may be taken and the window before it, even of
    /// a pool that writes one every second.
    function test_a_pool_written_every_second_remembers_the_window_for_the_whole_hour() public {
        vm.warp(time - 1_000);
        for (uint256 i; i < 1_000; ++i) {
            skip(1);
            writeObservation(india.pool);
        }
        Answer memory first = _ask(solo, time);
        assertEq(uint256(first.reason), 0);
        for (uint256 i; i < 3_599; ++i) {
            skip(1);
            writeObservation(india.pool);
        }
        _assertSame(_ask(solo, time), first);
    }

    // ---------------------------------------------------------------- steps

    /// Some pool trades, is thickened or thinned, sometimes by enough to spoil the window.
    function _disturb(uint256 dice, bool wild) private {
        Asset memory asset = dice % 3 == 0 ? golf : dice % 3 == 1 ? hotel : india;
        if (dice % 7 == 0) asset = ether_;
        uint256 what = (dice >> 8) % 4;
        if (what == 0) {
            uint256 bps = bound(dice >> 16, wild ? 5_000 : 9_900, wild ? 20_000 : 10_100);
            uint256 price = asset.viaWeth ? asset.price * 1e18 / ETH_PRICE : asset.price;
            movePrice(asset.pool, address(asset.token), price * bps / 10_000);
        } else if (what == 1) {
            writeObservation(asset.pool);
        } else if (what == 2) {
            (int24 lower, int24 upper) = fullRange(asset.pool);
            asset.pool
                .mint(address(this), lower, upper, uint128(bound(dice >> 16, 1, asset.minLiquidity)), "");
        } else {
            uint128 most = wild ? asset.pool.liquidity() * 3 / 4 : asset.pool.liquidity() - asset.minLiquidity;
            if (most > 0) removeLiquidity(asset.pool, uint128(bound(dice >> 16, 1, most)));
        }
    }

    function _roll(uint256 dice) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(dice)));
    }

    function _ask(BasketVault vault, uint256 endsAt) private view returns (Answer memory answer) {
        (answer.nav, answer.reason, answer.pool) = oracle.tryNavAt(address(vault), endsAt);
    }

    function _assertSame(Answer memory found, Answer memory first) private pure {
        assertEq(uint256(found.reason), uint256(first.reason), "another verdict");
        assertEq(found.nav, first.nav, "another value");
        assertEq(found.pool, first.pool, "another offender");
    }

    function _assertNav(BasketVault vault, uint256 endsAt, uint256 nav, uint256 share) private view {
        Answer memory found = _ask(vault, endsAt);
        assertEq(uint256(found.reason), 0, "no NAV");
        assertEq(found.pool, address(0));
        assertApproxEqRel(found.nav, nav, share);
    }

    function _assertInvalid(BasketVault vault, uint256 endsAt, INavOracle.Invalid reason, address offender)
        private
        view
    {
        Answer memory found = _ask(vault, endsAt);
        assertEq(uint256(found.reason), uint256(reason));
        assertEq(found.pool, offender);
        assertEq(found.nav, 0);
    }
}
