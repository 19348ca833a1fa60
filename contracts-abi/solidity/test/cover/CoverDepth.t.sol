// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {CoverMarket} from "../../src/cover/CoverMarket.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {TickPrice} from "../../src/libraries/TickPrice.sol";
import {TestToken} from "../support/TestToken.sol";
import {IUniPool} from "../support/UniswapFixture.sol";
import {CoverFixture} from "./CoverFixture.sol";

/// What the cap is, and that it does what it is for: a whale who holds all the cover that a week allows, of the range
/// that is easiest to reach, moves the genuine pools in every sub-window and loses more than his cover pays.
contract CoverDepthTest is CoverFixture {
    uint256 private constant SUB_WINDOWS = 12;
    uint256 private constant THICK = 200; // times the floor, while nothing is pushed

    /// A way to shift the mean of each sub-window: how far, for how many seconds of it, and who brings it back.
    struct Attack {
        BasketVault vault;
        Asset asset;
        bool up;
        uint256 ticks; // shift of the mean
        uint256 length; // of each push, seconds
        bool thinned; // pools as thin during a push as the window's harmonic mean allows, thick otherwise
        bool alone; // the whale trades back himself; otherwise the market does
        int256 dollars; // what the whale gained by trading, at true prices, in USDG base units
    }

    CoverMarket private full;
    uint256 private _founded;

    function setUp() public {
        deployCover();
        full =
            new CoverMarket(address(usdg), address(registry), address(oracle), address(pause), address(this));
        full.publishWeeks(calendar(WEEK, 1));
        full.listVault(address(duo), full.depthCapOf(address(duo)));
        full.listVault(address(solo), full.depthCapOf(address(solo)));
    }

    // ---------------------------------------------------------------- what it is

    /// 12 pushes x fee x depth / weight, by hand: a floor of $250 million a side takes a 0.4988% of it to move by 1%.
    function test_the_cap_is_what_twelve_pushes_cost_in_fees() public {
        CoverMarket fresh = _freshMarket();
        uint256 depth = 250_000_000 * uint256(4_987_562) / 1e9;
        assertApproxEqRel(fresh.depthCapOf(address(solo)), 12 * depth / 100, 1e14); // 1%, all of the NAV
        // golf would carry 12 x 0.3% x depth / 50%; the WETH pool, at 0.05%, is the least, its 30% counting as a half
        assertApproxEqRel(fresh.depthCapOf(address(duo)), 12 * depth * 5 / 10_000 * 2, 1e14);
    }

    function test_what_one_basket_takes_of_a_pool_another_has_not() public {
        CoverMarket fresh = _freshMarket();
        BasketVault twin = foundOf("TWIN", india);
        uint64 whole = fresh.depthCapOf(address(twin));
        fresh.listVault(address(solo), whole / 3);
        assertApproxEqAbs(fresh.depthCapOf(address(twin)), whole - whole / 3, 1);
        fresh.listVault(address(twin), fresh.depthCapOf(address(twin)));
        BasketVault third = foundOf("THIRD", india);
        assertEq(fresh.depthCapOf(address(third)), 0);
        movePrice(india.pool, address(india.token), india.price / 2); // less depth than was taken of it
        assertEq(fresh.depthCapOf(address(third)), 0);
    }

    function test_the_least_of_the_pools_decides() public {
        Asset memory shallow = listCoverAsset("Shallow", 6, 3_000, 10e18, COVER_DEPTH / 100, false);
        Asset[] memory parts = new Asset[](2);
        uint256[] memory dollars = new uint256[](2);
        (parts[0], parts[1]) = (india, shallow);
        (dollars[0], dollars[1]) = (75, 25);
        BasketVault vault = _found("MIX", parts, dollars, true);
        uint256 depth = 2_500_000 * uint256(4_987_562); // x 1e9
        assertApproxEqRel(market.depthCapOf(address(vault)), 12 * depth * 2 * 3 / 1e12, 1e15); // 25% count as 50%
    }

    /// WETH in the basket and tokens that trade against it hang on one pool.
    function test_all_that_the_WETH_pool_prices_counts_as_one() public {
        CoverMarket fresh = _freshMarket();
        Asset[] memory parts = new Asset[](2);
        uint256[] memory dollars = new uint256[](2);
        (parts[0], parts[1]) = (hotel, ether_);
        (dollars[0], dollars[1]) = (40, 60);
        BasketVault vault = _found("ETHER", parts, dollars, true);
        uint256 depth = 250_000_000 * uint256(4_987_562) / 1e9;
        assertApproxEqRel(fresh.depthCapOf(address(vault)), 12 * depth * 5 / 10_000, 1e14);
        (parts[0], parts[1]) = (ether_, hotel);
        (dollars[0], dollars[1]) = (60, 40);
        parts[0].minLiquidity = ether_.minLiquidity / 10; // the lower of the two floors counts
        vault = _found("ETHER2", parts, dollars, true);
        assertApproxEqRel(fresh.depthCapOf(address(vault)), 12 * depth * 5 / 100_000, 1e14);
        parts[0].minLiquidity = ether_.minLiquidity * 3 / 2; // here the oracle's
        vault = _found("ETHER4", parts, dollars, true);
        assertApproxEqRel(fresh.depthCapOf(address(vault)), 12 * depth * 5 / 10_000, 1e14);
        (parts[0], parts[1]) = (ether_, india);
        (dollars[0], dollars[1]) = (30, 70);
        vault = _found("ETHER3", parts, dollars, true); // without a token that trades against it
        assertApproxEqRel(fresh.depthCapOf(address(vault)), 12 * depth * 5 / 10_000 * 2, 1e14);
    }

    function test_cash_moves_with_no_pool() public {
        Asset memory cash;
        cash.token = usdg;
        cash.price = 1e18;
        assertEq(market.depthCapOf(address(foundOf("CASH", cash))), type(uint64).max);
    }

    function test_both_token_orders_count_alike() public {
        _assertOrders(false, COVER_DEPTH);
        _assertOrders(true, COVER_DEPTH / 1_000); // so shallow that the WETH pool is not the least
    }

    /// No basket of it has taken anything of a pool yet.
    function _freshMarket() private returns (CoverMarket) {
        return
            new CoverMarket(address(usdg), address(registry), address(oracle), address(pause), address(this));
    }

    /// Two pools alike but for which of their tokens comes first: the hand computation holds for both.
    function _assertOrders(bool viaWeth, uint256 depth) private {
        uint64[2] memory caps;
        while (caps[0] == 0 || caps[1] == 0) {
            Asset memory asset = viaWeth ? hotel : india;
            asset.token = new TestToken("Order", "ORD", asset.token.decimals());
            address quoteToken = viaWeth ? address(weth) : address(usdg);
            uint256 price = viaWeth ? asset.price * 1e18 / ETH_PRICE : asset.price;
            asset.pool = createThinPool(address(asset.token), quoteToken, 10_000, price);
            asset.minLiquidity =
                addDepth(asset.pool, quoteToken, viaWeth ? depth * 1e30 / ETH_PRICE : depth) / 2;
            uint64 cap = market.depthCapOf(address(foundOf(vm.toString(++_founded), asset)));
            caps[address(asset.token) < quoteToken ? 0 : 1] = cap;
        }
        uint256 expected = depth / 2 * 4_987_562 / 1e9 * 12 / 100 / 1e6;
        assertApproxEqAbs(caps[0], expected, 1);
        assertApproxEqAbs(caps[1], expected, 1);
    }

    // ---------------------------------------------------------------- what it is for

    /// Each shape by itself, at its worst: pools at their floors, the true drop just where the range begins.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_pushing_the_settlement_loses_more_than_it_wins(
        uint256 ticks,
        uint256 length,
        uint8 shape
    ) public {
        Attack memory attack = _attackOn(shape & 1 != 0 ? solo : duo);
        attack.ticks = bound(ticks, 1, _fullShift(attack.vault));
        _shape(attack, length, shape);
        uint256 honest = _weekend(attack, 9_900, false, false);
        uint256 pushed = _weekend(attack, 9_900, false, true);
        assertTrue(attack.dollars < 0, "pushing was free");
        assertTrue(-attack.dollars > int256(pushed) - int256(honest), "the whale gained");
    }

    /// Half of the shift at the close, half at the settlement, the true drop in the middle of the range.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_pushing_both_snapshots_loses_more_than_it_wins(
        uint256 ticks,
        uint256 length,
        uint8 shape
    ) public {
        Attack memory attack = _attackOn(shape & 1 != 0 ? solo : duo);
        attack.ticks = bound(ticks, 1, _fullShift(attack.vault) / 2);
        _shape(attack, length, shape);
        uint256 honest = _weekend(attack, 9_850, false, false);
        uint256 pushed = _weekend(attack, 9_850, true, true);
        assertGt(pushed, honest, "pushing did nothing");
        assertTrue(-attack.dollars > int256(pushed) - int256(honest), "the whale gained");
    }

    /// The figures of the worst shape, for the record: one second in each sub-window, pools thinned to the limit.
    function test_a_whale_with_a_full_book_loses() public {
        Attack memory attack = _attackOn(solo);
        (attack.ticks, attack.length, attack.thinned) = (100, 1, true);
        uint256 paid = _weekend(attack, 9_900, false, true);
        uint256 cap = uint256(full.capOf(address(solo))) * 1e6;
        assertGt(paid, cap * 97 / 100); // he gets what he pushed for ...
        assertTrue(attack.dollars < -int256(cap)); // ... at more than it is worth
    }

    /// Why the fees are in the formula: a cap of depth over weight would pay for the very pushes that it is to deter.
    function test_a_cap_of_the_depth_alone_would_be_a_gift() public {
        Attack memory attack = _attackOn(solo);
        (attack.ticks, attack.length) = (100, 50);
        _weekend(attack, 9_900, false, true);
        int256 depth = 250_000_000e6 * int256(4_987_562) / 1e9;
        assertTrue(-attack.dollars < depth / 4);
    }

    // ---------------------------------------------------------------- the attack

    function _attackOn(BasketVault vault) private view returns (Attack memory attack) {
        attack.vault = vault;
        attack.asset = vault == solo ? india : ether_; // the pool that sets the cap
    }

    /// Ticks that move the NAV by the whole of the narrowest range.
    function _fullShift(BasketVault vault) private view returns (uint256) {
        return vault == solo ? 100 : 340;
    }

    function _shape(Attack memory attack, uint256 length, uint8 shape) private pure {
        attack.thinned = shape & 2 != 0;
        attack.alone = shape & 4 != 0;
        attack.length = bound(length, 1, attack.thinned ? 40 : 50);
    }

    /// What the whale's cover pays after a weekend with a true price of `bps` at its end. Leaves no trace but what the
    /// whale gained by trading.
    function _weekend(Attack memory attack, uint256 bps, bool atClose, bool atSettle)
        private
        returns (uint256 paid)
    {
        uint256 before = vm.snapshotState();
        _buyAll(attack.vault);
        vm.warp(closeOf(WEEK) - 600);
        _setFloors();
        attack.up = true;
        if (atClose) _push(attack);
        vm.warp(closeOf(WEEK));
        full.snapshot(WEEK, address(attack.vault), keeper);
        _fall(bps);
        vm.warp(settleOf(WEEK) - 600);
        attack.up = false;
        if (atSettle) _push(attack);
        vm.warp(settleOf(WEEK));
        full.settle(WEEK, address(attack.vault), keeper);
        full.payout(one(1), keeper);
        paid = usdg.balanceOf(alice);
        vm.revertToState(before);
    }

    /// All the cover that the week allows, of 100 to 200 bps, at the least price there is.
    function _buyAll(BasketVault vault) private {
        uint64 cap = full.capOf(address(vault));
        usdg.mint(writer, uint256(cap) * 1e6);
        vm.startPrank(writer);
        usdg.approve(address(full), type(uint256).max);
        uint256 id = full.offer(ICoverMarket.Terms(WEEK, address(vault), 100, 200, cap, 10_000), false);
        vm.stopPrank();
        usdg.mint(alice, 1_000e6);
        vm.startPrank(alice);
        usdg.approve(address(full), type(uint256).max);
        full.take(one(id), one64(cap), cap, 1_000e6);
        usdg.burn(alice, usdg.balanceOf(alice));
        vm.stopPrank();
    }

    /// No pool holds more than its floor, but for a hair.
    function _setFloors() private {
        Asset[4] memory all = [golf, hotel, india, ether_];
        for (uint256 i; i < all.length; ++i) {
            uint128 target = all[i].minLiquidity + all[i].minLiquidity / 1e6;
            removeLiquidity(all[i].pool, all[i].pool.liquidity() - target);
        }
    }

    /// The true price of everything, in bps of what it was, brought by the market.
    function _fall(uint256 bps) private {
        movePrice(india.pool, address(india.token), 40e18 * bps / 10_000);
        // 30% through WETH and 50% golf fall together by 0.8 of it: that cash stands still is made up for by golf
        uint256 drop = (10_000 - bps) * 100 / 80;
        movePrice(golf.pool, address(golf.token), 125e18 * (10_000 - drop) / 10_000);
        movePrice(hotel.pool, address(hotel.token), 400e18 * 1e18 / ETH_PRICE * (10_000 - drop) / 10_000);
    }

    function _push(Attack memory attack) private {
        IUniPool pool = attack.asset.pool;
        (uint160 true_,,,,,,) = pool.slot0();
        uint160 far = _shifted(attack, true_);
        uint256 start = vm.getBlockTimestamp();
        uint128 floor = pool.liquidity();
        for (uint256 i; i < SUB_WINDOWS; ++i) {
            vm.warp(start + i * 50);
            // 49/50 of the time thick, 1/50 at the fiftieth part: the harmonic mean stays at the floor.
            if (attack.thinned) _setLiquidity(pool, uint128(uint256(floor) * attack.length * 102 / 5_000));
            _trade(attack, true_, far, true);
            skip(attack.length);
            _trade(attack, far, true_, attack.alone);
            if (attack.thinned) _setLiquidity(pool, uint128(floor * THICK));
        }
        vm.warp(start + 600);
        if (attack.thinned) _setLiquidity(pool, floor);
    }

    function _shifted(Attack memory attack, uint160 root) private view returns (uint160) {
        bool down = (attack.asset.pool.token0() == address(attack.asset.token)) != attack.up;
        int24 ticks = int24(int256(attack.ticks * 50 / attack.length));
        return uint160(Math.mulDiv(root, TickPrice.sqrtPriceX96At(down ? -ticks : ticks), 1 << 96));
    }

    /// Trades to exactly `to`; what the whale trades is reckoned at the true price.
    function _trade(Attack memory attack, uint160 from, uint160 to, bool whale) private {
        IUniPool pool = attack.asset.pool;
        (uint160 now_,,,,,,) = pool.slot0();
        if (now_ == to) return;
        (int256 amount0, int256 amount1) = pool.swap(address(this), to < now_, type(int256).max, to, "");
        if (!whale) return;
        bool first = pool.token0() == address(attack.asset.token);
        (int256 token, int256 cash) = first ? (amount0, amount1) : (amount1, amount0);
        // The price when nobody pushes: that of `from` on the way out, of `to` on the way back.
        uint160 root = _isPush(attack, from, to) ? from : to;
        uint256 size = uint256(token < 0 ? -token : token);
        uint256 worth = first
            ? Math.mulDiv(Math.mulDiv(size, root, 1 << 96), root, 1 << 96)
            : Math.mulDiv(Math.mulDiv(size, 1 << 96, root), 1 << 96, root);
        attack.dollars -= cash + (token < 0 ? -int256(worth) : int256(worth));
    }

    function _isPush(Attack memory attack, uint160 from, uint160 to) private view returns (bool) {
        bool down = (attack.asset.pool.token0() == address(attack.asset.token)) != attack.up;
        return (to < from) == down;
    }

    function _setLiquidity(IUniPool pool, uint128 target) private {
        uint128 current = pool.liquidity();
        if (target < current) removeLiquidity(pool, current - target);
        if (target <= current) return;
        (int24 lower, int24 upper) = fullRange(pool);
        pool.mint(address(this), lower, upper, target - current, "");
    }
}
