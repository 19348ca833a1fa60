// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IUniPool} from "../support/UniswapFixture.sol";
import {ProtocolFixture} from "../support/ProtocolFixture.sol";
import {TestToken} from "../support/TestToken.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {ReferenceWindow} from "../../src/libraries/ReferenceWindow.sol";

contract NavOracleTest is ProtocolFixture {
    uint256 private constant TICK = 1.0001e14; // one tick, as a share x 1e18

    function setUp() public {
        deployProtocol();
    }

    function test_aQuietMarketsReferenceIsItsSpotToATick() public view {
        _assertReference(tech, 100e18, 2 * TICK);
        _assertReference(mixed, 100e18, 2 * TICK);
        _assertReference(stock, 100e18, 2 * TICK);
        assertApproxEqRel(oracle.spotNav(address(tech)), 100e18, 1e12);
        assertApproxEqRel(oracle.spotNav(address(mixed)), 100e18, 1e12);
    }

    function test_pricesComeInTheVaultsOrder() public view {
        uint256[] memory prices = oracle.spotPrices(address(tech));
        assertApproxEqRel(prices[0], 125e18, 1e12);
        assertApproxEqRel(prices[1], 40e18, 1e12);
        assertApproxEqRel(prices[2], 400e18, 1e12); // through WETH
        prices = oracle.spotPrices(address(mixed));
        assertApproxEqRel(prices[1], 2_500e18, 1e12);
        assertEq(prices[2], 1e18); // USDG is a dollar
    }

    function test_etherHasASpotAndAnAverage() public {
        (uint256 spot, uint256 average) = oracle.ethPrice();
        assertApproxEqRel(spot, 2_500e18, 1e12);
        assertApproxEqRel(average, 2_500e18, TICK);
        setPrice(ether_, 2_600e18);
        skip(1);
        (spot, average) = oracle.ethPrice();
        assertApproxEqRel(spot, 2_600e18, 1e12);
        assertApproxEqRel(average, 2_500e18, 2 * TICK);
        skip(7 days);
        movePriceOutOfRange(ether_.pool, address(weth));
        skip(1);
        (, average) = oracle.ethPrice();
        assertEq(average, 0);
    }

    /// Half of the window at 100, half at 102: the geometric middle, which is what a mean tick is.
    function test_theReferenceAveragesTenMinutes() public {
        movePrices(10_200);
        skip(300);
        uint256 half = oracle.referenceNav(address(tech));
        assertApproxEqRel(half, 100.995e18, 3 * TICK);
        assertApproxEqRel(oracle.spotNav(address(tech)), 102e18, 1e13);
        skip(300);
        assertApproxEqRel(oracle.referenceNav(address(tech)), 102e18, 3 * TICK);
    }

    function testFuzz_theReferenceIsTheMeanTickOfTheWindow(uint256 bps, uint256 after_) public {
        bps = bound(bps, 9_500, 10_500);
        after_ = bound(after_, 0, 600);
        refreshPools();
        movePrice(bravo.pool, address(bravo.token), bravo.price * bps / 10_000);
        movePrice(delta.pool, address(delta.token), delta.price * bps / 10_000);
        skip(after_);
        // value x (move)^(after / 600), within a tick a leg
        uint256 expected = 100e18;
        uint256 moved = 100e18 * bps / 10_000;
        uint256 nav = oracle.referenceNav(address(stock));
        (uint256 low, uint256 high) = moved < expected ? (moved, expected) : (expected, moved);
        assertGe(nav, low - low / 3_000);
        assertLe(nav, high + high / 3_000);
        uint256 linear = (expected * (600 - after_) + moved * after_) / 600;
        assertApproxEqRel(nav, linear, 7e14); // the geometric mean of a 5% move is within 0.04% of the linear one
    }

    /// Down means towards lower ticks on both sides of zero, in pools of either token order.
    function testFuzz_theMeanTickRoundsDown(uint256 bps, uint256 after_) public {
        movePrices(bound(bps, 9_800, 10_200));
        skip(bound(after_, 1, 599));
        uint32[] memory ago = new uint32[](2);
        ago[0] = 600;
        bool below;
        bool above;
        for (uint256 i; i < pools.length; ++i) {
            ReferenceWindow.Reading memory reading = ReferenceWindow.latest(address(pools[i]), 1);
            assertEq(uint256(reading.reason), 0);
            int24 mean = reading.tick;
            (int56[] memory ticks,) = pools[i].observe(ago);
            int256 sum = ticks[1] - ticks[0];
            assertTrue(int256(mean) * 600 <= sum && sum < (int256(mean) + 1) * 600);
            if (mean < 0) below = true;
            else above = true;
        }
        assertTrue(below && above, "both signs occur");
    }

    function test_navFallsWithTheFeeAndWithNothingElse() public {
        uint256 before = oracle.spotNav(address(tech));
        skip(365 days);
        uint256 after_ = oracle.spotNav(address(tech));
        assertApproxEqRel(after_, before * 9_925 / 10_000, 1e6);
        tech.accrueFee();
        assertEq(oracle.spotNav(address(tech)), after_);
        alfa.token.mint(address(tech), 1e30);
        giveShares(tech, address(7), 5e18);
        assertEq(oracle.spotNav(address(tech)), after_);
    }

    /// NAV x supply is worth what redeems, before an accrual and after it.
    function test_navIsWhatAShareRedeemsFor() public {
        skip(200 days);
        refreshPools();
        uint256 nav = oracle.spotNav(address(tech));
        uint256[] memory prices = oracle.spotPrices(address(tech));
        uint256[] memory units = tech.unitsPerShare();
        uint256 value;
        for (uint256 i; i < units.length; ++i) {
            value += units[i] * prices[i] / 10 ** tech.tokenDecimals()[i];
        }
        assertApproxEqRel(nav, value, 1e12);
        tech.accrueFee();
        assertEq(oracle.spotNav(address(tech)), nav);
    }

    function test_aDeadTokenChangesNoNav() public {
        uint256 nav = oracle.referenceNav(address(tech));
        vm.etch(address(alfa.token), "");
        assertEq(oracle.referenceNav(address(tech)), nav);
    }

    function test_aConstituentWithoutAPoolMeansNoNav() public {
        _assertInvalid(blind, INavOracle.Invalid.NoPool, address(0));
        vm.expectRevert(abi.encodeWithSelector(INavOracle.NoSpot.selector, address(blind)));
        oracle.spotNav(address(blind));
        (uint256 nav, bool ok) = oracle.trySpotNav(address(blind));
        assertEq(nav, 0);
        assertFalse(ok);
        uint256[] memory prices = oracle.spotPrices(address(blind));
        assertApproxEqRel(prices[0], 40e18, 1e12);
        assertEq(prices[1], 0);
    }

    function test_aPoolIsTooYoungUntilTenMinutesToTheSecond() public {
        uint256 born = vm.getBlockTimestamp();
        (BasketVault vault, Asset memory asset) = _foundOnFreshPool(700);
        vm.warp(born + 599);
        _assertInvalid(vault, INavOracle.Invalid.TooYoung, address(asset.pool));
        vm.warp(born + 600);
        _assertReference(vault, 100e18, 2 * TICK);
    }

    function test_aPoolWithAShortMemoryIsNoReference() public {
        (BasketVault vault, Asset memory asset) = _foundOnFreshPool(699);
        skip(700);
        _assertInvalid(vault, INavOracle.Invalid.Cardinality, address(asset.pool));
        growCardinality(asset.pool, 700);
        for (uint256 i; i < 699; ++i) {
            skip(1);
            writeObservation(asset.pool);
        }
        _assertReference(vault, 100e18, 2 * TICK);
    }

    /// Traffic every second overwrites the ring: 700 observations still reach back past 600 s.
    function test_aPoolWrittenEverySecondKeepsItsReference() public {
        for (uint256 i; i < 1_500; ++i) {
            skip(1);
            writeObservation(bravo.pool);
        }
        writeObservation(delta.pool);
        _assertReference(stock, 100e18, 2 * TICK);
    }

    function test_aReferenceNeedsItsDepthInEverySubWindow() public {
        uint128 all = bravo.pool.liquidity();
        removeLiquidity(bravo.pool, all - bravo.minLiquidity + 1_000_000);
        skip(200);
        addDepth(bravo.pool, address(usdg), DEPTH);
        for (uint256 i; i < 3; ++i) {
            _assertInvalid(stock, INavOracle.Invalid.Thin, address(bravo.pool));
            skip(200);
        }
        _assertReference(stock, 100e18, 2 * TICK);
    }

    /// The attack of rule 1: one second at the far end, where there is nothing, and back.
    function test_aOneSecondPushOutOfTheRangeIsNoReference() public {
        skip(600);
        movePriceOutOfRange(bravo.pool, address(bravo.token));
        skip(1);
        movePrice(bravo.pool, address(bravo.token), 40e18);
        skip(30);
        _assertInvalid(stock, INavOracle.Invalid.Thin, address(bravo.pool));
        skip(570);
        _assertReference(stock, 100e18, 2 * TICK);
    }

    function test_aOneSecondPushWithinTheRangeIsNoReference() public {
        skip(600);
        movePrice(bravo.pool, address(bravo.token), 40e18 * 1_000_000); // 138,000 ticks for a second
        skip(1);
        movePrice(bravo.pool, address(bravo.token), 40e18);
        skip(100);
        _assertInvalid(stock, INavOracle.Invalid.Jumpy, address(bravo.pool));
    }

    /// What a one-second push can still do unseen: its sub-window moves by less than 600 ticks, the mean by less
    /// than a third of that.
    function testFuzz_aOneSecondPushMovesNoValidReferenceByMoreThanTwoPercent(uint256 factor, bool up)
        public
    {
        factor = bound(factor, 2, 1e15);
        skip(600);
        movePrice(bravo.pool, address(bravo.token), up ? 40e18 * factor : 40e18 / factor + 1e3);
        skip(1);
        movePrice(bravo.pool, address(bravo.token), 40e18);
        skip(1);
        (uint256 nav, INavOracle.Invalid reason,) = oracle.tryReferenceNav(address(stock));
        if (reason == INavOracle.Invalid.None) assertApproxEqRel(nav, 100e18, 0.0205e18);
        else assertEq(nav, 0);
    }

    function test_anInvalidWethLegNamesTheWethPool() public {
        removeLiquidity(ether_.pool, ether_.pool.liquidity() / 3 * 2);
        skip(600);
        _assertInvalid(tech, INavOracle.Invalid.Thin, address(ether_.pool));
        _assertInvalid(mixed, INavOracle.Invalid.Thin, address(ether_.pool));
        _assertReference(stock, 100e18, 2 * TICK);
    }

    /// Otherwise anyone could make a reference look invalid, and disarm an order with it, by starving the call.
    function testFuzz_tooLittleGasNeverLooksLikeAnInvalidReference(uint256 gas_) public view {
        gas_ = bound(gas_, 30_000, 600_000);
        bytes memory question = abi.encodeCall(oracle.tryReferenceNav, (address(tech)));
        (bool ok, bytes memory answer) = address(oracle).staticcall{gas: gas_}(question);
        if (!ok) return;
        (uint256 nav, INavOracle.Invalid reason,) = abi.decode(answer, (uint256, INavOracle.Invalid, address));
        assertEq(uint256(reason), 0);
        assertEq(nav, oracle.referenceNav(address(tech)));
    }

    function test_bothTokenOrdersOccur() public view {
        bool first;
        bool second;
        for (uint256 i; i < pools.length; ++i) {
            if (pools[i].token0() == address(usdg) || pools[i].token0() == address(weth)) second = true;
            else first = true;
        }
        assertTrue(first && second);
    }

    /// To the end of the tick range, beyond all liquidity.
    function movePriceOutOfRange(IUniPool pool, address token) private {
        bool down = pool.token0() == token;
        pool.swap(address(this), down, type(int256).max, down ? MIN_SQRT_RATIO + 1 : MAX_SQRT_RATIO - 1, "");
    }

    function _foundOnFreshPool(uint16 cardinality) private returns (BasketVault vault, Asset memory asset) {
        asset.token = new TestToken("Fresh", "FRESH", 18);
        asset.fee = 3000;
        asset.price = 20e18;
        asset.pool = createThinPool(address(asset.token), address(usdg), 3000, 20e18);
        asset.minLiquidity = addDepth(asset.pool, address(usdg), DEPTH) / 2;
        growCardinality(asset.pool, cardinality);
        Asset[] memory parts = new Asset[](2);
        uint256[] memory dollars = new uint256[](2);
        (parts[0], parts[1]) = (bravo, asset);
        (dollars[0], dollars[1]) = (50, 50);
        vault = _found(vm.toString(asset.pool.fee() + cardinality), parts, dollars, true);
    }

    function _assertReference(BasketVault vault, uint256 nav, uint256 share) private view {
        (uint256 found, INavOracle.Invalid reason, address pool) = oracle.tryReferenceNav(address(vault));
        assertEq(uint256(reason), 0);
        assertEq(pool, address(0));
        assertApproxEqRel(found, nav, share);
        assertEq(oracle.referenceNav(address(vault)), found);
    }

    function _assertInvalid(BasketVault vault, INavOracle.Invalid expected, address offender) private {
        (uint256 nav, INavOracle.Invalid reason, address pool) = oracle.tryReferenceNav(address(vault));
        assertEq(uint256(reason), uint256(expected));
        assertEq(pool, offender);
        assertEq(nav, 0);
        vm.expectRevert(
            abi.encodeWithSelector(INavOracle.NoReference.selector, address(vault), expected, offender)
        );
        oracle.referenceNav(address(vault));
    }
}
