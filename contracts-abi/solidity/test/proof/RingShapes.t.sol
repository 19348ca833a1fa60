// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {RingComparison} from "../support/RingComparison.sol";
import {TestToken} from "../support/TestToken.sol";

/// Rings that no test would have the patience to trade into being, written straight into a genuine pool's storage:
/// full and half grown, with the head anywhere, spaced to mislead a search, across the wrap of the pool's 32-bit clock,
/// with accumulators that wrap and a pool that has no liquidity. What `observe` answers is what is right.
contract RingShapesTest is RingComparison {
    uint256 private constant OBSERVATIONS = 8; // storage slots of UniswapV3Pool
    uint256 private constant LIQUIDITY = 4;
    uint256 private constant CLOCK = 1 << 32;

    struct Shape {
        uint256 cardinality;
        uint256 written; // cardinality where the ring is full
        uint256 head; // index of the newest
        uint256 pace; // 0 steady, 1 random, 2 dense now, 3 dense long ago, 4 ever longer, 5 two paces in turn
    }

    uint256 private time; // of the newest observation

    function setUp() public {
        deployUniswap();
        TestToken token = new TestToken("Token", "TKN", 18);
        pool = createThinPool(address(token), address(usdg), 3000, 40e18);
    }

    /// forge-config: default.fuzz.runs = 96
    function testFuzz_any_ring_answers_as_observe_does(
        uint256 seed,
        uint16 cardinality,
        uint8 pace,
        uint256 endsAgo,
        uint256 step,
        uint256 count
    ) public {
        Shape memory shape = _shapeOf(seed, bound(cardinality, 1, 400), pace % 6);
        // Near the clock's wrap, before it, long after it.
        time = seed % 3 == 0 ? CLOCK + (seed >> 8) % 5_000 : CLOCK * ((seed >> 8) % 3) + 1_790_000_000;
        uint256 reach = _write(shape, seed);
        vm.warp(time + (seed % 5 == 0 ? 0 : (seed >> 16) % 900));
        reach += vm.getBlockTimestamp() - time;
        count = bound(count, 1, 13);
        endsAgo = bound(endsAgo, 0, reach + 3);
        step = bound(step, 1, reach / count + 2);
        _assertSame(endsAgo, step, count);
        _assertSame(0, reach, 2); // to the oldest itself
        _assertSame(0, reach + 1, 2); // and a second before it
        _assertSame(vm.getBlockTimestamp() - time, 1, count); // from the newest on
        _assertSame(0, 50, 13);
    }

    /// No spacing of a ring costs a snapshot more than 18 reads for each of its thirteen moments.
    /// forge-config: default.fuzz.runs = 12
    function testFuzz_no_ring_is_searched_for_long(uint256 seed, uint8 pace, uint256 endsAgo) public {
        Shape memory shape = _shapeOf(seed, 4_500, pace % 6);
        time = 1_790_000_000;
        uint256 reach = _write(shape, seed);
        vm.warp(time + 1);
        if (reach < 700) return;
        vm.record();
        this.read(bound(endsAgo, 0, reach - 600), 50, 13);
        (bytes32[] memory reads,) = vm.accesses(address(pool));
        assertLe(reads.length, 5 + 13 * 18);
    }

    // ---------------------------------------------------------------- writing a ring

    function _shapeOf(uint256 seed, uint256 cardinality, uint256 pace)
        private
        pure
        returns (Shape memory shape)
    {
        shape.cardinality = cardinality;
        shape.pace = pace;
        bool full = seed % 2 == 0;
        shape.head = (seed >> 32) % cardinality;
        shape.written = full ? cardinality : shape.head + 1;
    }

    /// Newest first. `reach`: from the newest to the oldest, kept within what the pool's clock can tell apart.
    function _write(Shape memory shape, uint256 seed) private returns (uint256 reach) {
        for (uint256 back; back < shape.cardinality; ++back) {
            uint256 index = (shape.head + shape.cardinality - back) % shape.cardinality;
            if (back >= shape.written) {
                _store(index, 1, 0, 0, false); // as a ring that grew leaves it
                continue;
            }
            if (back != 0) reach += _gap(shape, back, seed);
            uint256 dice = uint256(keccak256(abi.encode(seed, back)));
            _store(index, uint32(time - reach), uint56(dice), uint160(dice >> 56), true);
        }
        uint256 slot0 = uint256(1 << 96) | (uint256(uint24(int24(int256(seed % 200_000) - 100_000))) << 160)
            | (shape.head << 184) | (shape.cardinality << 200) | (shape.cardinality << 216) | (1 << 240);
        vm.store(address(pool), bytes32(0), bytes32(slot0));
        uint128 liquidity = seed % 4 == 0 ? 0 : uint128(seed >> 64) >> (seed % 120);
        vm.store(address(pool), bytes32(LIQUIDITY), bytes32(uint256(liquidity)));
    }

    function _gap(Shape memory shape, uint256 back, uint256 seed) private pure returns (uint256) {
        if (shape.pace == 0) return 1 + seed % 20;
        if (shape.pace == 1) return 1 + uint256(keccak256(abi.encode(back, seed))) % 60;
        if (shape.pace == 2) return back < shape.written / 2 ? 1 : 200;
        if (shape.pace == 3) return back < shape.written / 2 ? 90 : 1;
        if (shape.pace == 4) return 1 + back * back / 50;
        return back / 37 % 2 == 0 ? 1 : 45;
    }

    function _store(uint256 index, uint32 moment, uint56 ticks, uint160 perLiquidity, bool written) private {
        uint256 word = uint256(moment) | (uint256(ticks) << 32) | (uint256(perLiquidity) << 88)
            | (uint256(written ? 1 : 0) << 248);
        vm.store(address(pool), bytes32(OBSERVATIONS + index), bytes32(word));
    }
}
