// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {RingComparison} from "../support/RingComparison.sol";
import {TestToken} from "../support/TestToken.sol";

/// The search of the ring against the genuine pool's own `observe`.
contract PoolHistoryTest is RingComparison {
    uint256 private constant PRICE = 40e18;

    TestToken private token;

    function setUp() public {
        deployUniswap();
        token = new TestToken("Token", "TKN", 18);
        pool = createThinPool(address(token), address(usdg), 3000, PRICE);
        addDepth(pool, address(usdg), 1_000_000e6);
    }

    /// Any pace of writing, moving prices, liquidity that comes and goes, a ring that is full or is not, any window.
    function testFuzz_answersWhatThePoolObserves(
        uint256 seed,
        uint16 cardinality,
        uint16 writes,
        uint256 endsAgo,
        uint256 step,
        uint256 count
    ) public {
        pool.increaseObservationCardinalityNext(uint16(bound(cardinality, 1, 120)));
        uint256 total = bound(writes, 1, 250);
        for (uint256 i; i < total; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            skip(_pause(seed));
            _act(seed >> 32);
        }
        skip(seed % 5 == 0 ? seed % 900 : 0);
        count = bound(count, 1, 13);
        // Both what the ring holds and what it has forgotten.
        uint256 reach = vm.getBlockTimestamp() - _oldestTime() + 20;
        endsAgo = bound(endsAgo, 0, reach);
        step = bound(step, 1, reach / count + 1);
        _assertSame(endsAgo, step, count);
        _assertSame(0, 200, 4);
    }

    function test_aMomentThatIsAnObservationIsReadAsItIs() public {
        growCardinality(pool, 50);
        for (uint256 i; i < 60; ++i) {
            skip(7);
            _move(i % 2 == 0 ? PRICE : PRICE * 1_001 / 1_000);
        }
        for (uint256 back; back < 49; ++back) {
            _assertSame(back * 7, 7, 1);
            _assertSame(0, back * 7 + 1, 2);
        }
        _assertSame(0, 49 * 7, 2); // the oldest itself
        _assertSame(0, 49 * 7 + 1, 2); // a second before it
    }

    function test_aPoolOfOneObservationReachesBackToIt() public {
        skip(300);
        _assertSame(0, 100, 4);
        _assertSame(0, 101, 4);
    }

    /// Half of the memory in the last seconds and half long ago, and the reverse.
    function test_anUnevenPaceIsSearchedInFewSteps() public {
        growCardinality(pool, 720);
        for (uint256 i; i < 720; ++i) {
            skip(i < 360 ? 40 : 1);
            writeObservation(pool);
        }
        _assertFewReads();
        for (uint256 i; i < 720; ++i) {
            skip(i < 360 ? 1 : 90);
            writeObservation(pool);
        }
        _assertFewReads();
    }

    function _assertFewReads() private {
        _assertSame(0, 200, 4);
        vm.record();
        this.read(0, 200, 4);
        (bytes32[] memory reads,) = vm.accesses(address(pool));
        assertLe(reads.length, 2 + 2 + 3 * 15); // slot0, liquidity, both ends, three searches
    }

    function _oldestTime() private view returns (uint256 time) {
        (,, uint16 index, uint16 cardinality,,,) = pool.slot0();
        bool written;
        (time, written) = _observation((uint256(index) + 1) % cardinality);
        if (!written) (time,) = _observation(0);
    }

    function _observation(uint256 index) private view returns (uint256 time, bool written) {
        (, bytes memory answer) =
            address(pool).staticcall(abi.encodeWithSignature("observations(uint256)", index));
        (time,,, written) = abi.decode(answer, (uint256, int56, uint160, bool));
    }

    /// Mostly steady, at times a burst within a second or a long silence.
    function _pause(uint256 seed) private pure returns (uint256) {
        if (seed % 11 == 0) return 0;
        if (seed % 17 == 0) return seed >> 200 & 0x7ff;
        return 1 + seed % 13;
    }

    function _act(uint256 seed) private {
        if (seed % 7 == 0) removeLiquidity(pool, pool.liquidity() / 3);
        else if (seed % 7 == 1) addDepth(pool, address(usdg), 1 + seed % 1_000_000e6);
        else if (seed % 7 == 2) writeObservation(pool);
        else _move(PRICE / 100 + PRICE * (seed % 1_000) / 10);
    }

    function _move(uint256 price) private {
        movePrice(pool, address(token), price);
    }
}
