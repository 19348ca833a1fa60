// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IUniswapV3Pool} from "../interfaces/uniswap/IUniswapV3Pool.sol";

/// What a Uniswap v3 pool's `observe` answers, to the last bit, for a third of its gas. The pool searches its ring of
/// observations by halves and reads two slots a step; here the search goes where the pool's pace of writing says,
/// reads one slot a step, and starts each moment's search where the last one ended.
library PoolHistory {
    /// The pool now, and where its ring of observations stands.
    struct Ring {
        address pool;
        uint160 sqrtPriceX96;
        int24 tick;
        uint256 index; // of the newest observation
        uint256 cardinality;
    }

    /// One observation; the first four words as `observations` answers them, but for the age.
    struct Point {
        uint256 age; // seconds before now
        int56 ticks;
        uint160 perLiquidity;
        bool written; // false in a slot not used yet
        uint256 back; // writes before the newest
    }

    /// The two points that the search has narrowed a moment to, between the ring's ends.
    struct Search {
        Point newest;
        Point oldest;
        Point newer;
        Point older;
        uint256 liquidity; // now, where a moment is later than the newest observation; never zero
    }

    uint256 private constant GUESSES = 5; // then by halves, so that no ring is searched for long

    /// The pool's price, tick and place in its ring, from one read of slot0.
    function open(address pool) internal view returns (Ring memory ring) {
        bytes4 selector = IUniswapV3Pool.slot0.selector;
        assembly ("memory-safe") {
            // slot0 answers price, tick, index, cardinality and three words more: the first four fit the struct.
            mstore(0, selector)
            if iszero(staticcall(gas(), pool, 0, 4, add(ring, 32), 128)) {
                returndatacopy(mload(0x40), 0, returndatasize())
                revert(mload(0x40), returndatasize())
            }
            if lt(returndatasize(), 224) { revert(0, 0) }
            mstore(ring, pool)
        }
    }

    /// Both accumulators at `count` moments, oldest first: `endsAgo` seconds ago and every `step` seconds before.
    /// `reaches` is false where `observe` reverts OLD. Any failure, lack of gas included, reverts.
    function cumulatives(Ring memory ring, uint256 endsAgo, uint256 step, uint256 count)
        internal
        view
        returns (bool reaches, int56[] memory ticks, uint160[] memory perLiquidity)
    {
        Search memory search = _search(ring, endsAgo);
        if (endsAgo + step * (count - 1) > search.oldest.age) return (false, ticks, perLiquidity);
        ticks = new int56[](count);
        perLiquidity = new uint160[](count);
        for (uint256 i = count; i != 0;) {
            unchecked {
                --i;
            }
            (ticks[i], perLiquidity[i]) = _at(ring, search, endsAgo);
            endsAgo += step;
        }
        return (true, ticks, perLiquidity);
    }

    /// The full ring's oldest observation is in the slot to be written next; a ring not full begins at its first.
    function _search(Ring memory ring, uint256 endsAgo) private view returns (Search memory search) {
        uint256 newest = _read(ring, 0);
        uint256 oldest = _read(ring, ring.cardinality - 1);
        assembly ("memory-safe") {
            mstore(search, newest)
            mstore(add(search, 32), oldest)
            mstore(add(search, 64), newest)
            mstore(add(search, 96), oldest)
        }
        if (!search.oldest.written) {
            oldest = _read(ring, ring.index);
            assembly ("memory-safe") {
                mstore(add(search, 32), oldest)
                mstore(add(search, 96), oldest)
            }
        }
        uint256 liquidity = search.newest.age > endsAgo ? IUniswapV3Pool(ring.pool).liquidity() : 0;
        search.liquidity = liquidity == 0 ? 1 : liquidity;
    }

    /// Asked for ages in rising order.
    function _at(Ring memory ring, Search memory search, uint256 age) private view returns (int56, uint160) {
        if (age <= search.newest.age) return _extended(search.newest, age, ring.tick, search.liquidity);
        if (search.older.age < age) (search.newer, search.older) = (search.older, search.oldest);
        _narrow(ring, search, age);
        return _between(search.newer, search.older, age);
    }

    /// To neighbours, or until one of the two is the moment itself.
    function _narrow(Ring memory ring, Search memory search, uint256 age) private view {
        Point memory newer = search.newer;
        Point memory older = search.older;
        unchecked {
            for (uint256 tries; newer.age != age && older.age != age; ++tries) {
                uint256 room = older.back - newer.back;
                if (room == 1) break;
                uint256 back = newer.back + _leap(newer, older, search.newest.age, age, tries);
                uint256 place = _read(ring, back);
                Point memory found = newer; // no new memory
                assembly ("memory-safe") {
                    found := place
                }
                if (found.age <= age) newer = found;
                else older = found;
            }
        }
        search.newer = newer;
        search.older = older;
    }

    /// How many writes to go back: first at the pace since `newer`, then at the pace between the two, at last by halves;
    /// at least one, and short of `older`. Ages rise strictly with `back`, as a pool writes once a second at most, so no
    /// divisor is zero.
    function _leap(Point memory newer, Point memory older, uint256 newestAge, uint256 age, uint256 tries)
        private
        pure
        returns (uint256 leap)
    {
        uint256 guesses = GUESSES;
        assembly ("memory-safe") {
            let newerAge := mload(newer)
            let back := mload(add(newer, 128))
            let room := sub(mload(add(older, 128)), back)
            leap := shr(1, room)
            if lt(tries, guesses) {
                leap := div(mul(sub(age, newerAge), room), sub(mload(older), newerAge))
            }
            if iszero(or(tries, iszero(back))) {
                leap := div(mul(sub(age, newerAge), back), sub(newerAge, newestAge))
            }
            if iszero(leap) { leap := 1 }
            if iszero(lt(leap, room)) { leap := sub(room, 1) }
        }
    }

    /// Oracle.transform of v3-core: the newest observation, carried on at the tick and liquidity of now.
    function _extended(Point memory newest, uint256 age, int24 tick, uint256 liquidity)
        private
        pure
        returns (int56, uint160)
    {
        unchecked {
            uint256 delta = newest.age - age;
            return (
                newest.ticks + int56(tick) * int56(uint56(delta)),
                newest.perLiquidity + uint160((delta << 128) / liquidity)
            );
        }
    }

    /// Oracle.observeSingle of v3-core, its rounding included; the accumulators wrap by design.
    function _between(Point memory newer, Point memory older, uint256 age)
        private
        pure
        returns (int56, uint160)
    {
        if (age == newer.age) return (newer.ticks, newer.perLiquidity);
        unchecked {
            uint256 span = older.age - newer.age;
            uint256 delta = older.age - age;
            return (
                older.ticks + (newer.ticks - older.ticks) / int56(uint56(span)) * int56(uint56(delta)),
                older.perLiquidity + uint160(uint256(newer.perLiquidity - older.perLiquidity) * delta / span)
            );
        }
    }

    /// The observation written `back` writes before the newest: where its Point lies in memory, which spares the
    /// compiler's clearing of it.
    function _read(Ring memory ring, uint256 back) private view returns (uint256 place) {
        bytes4 selector = IUniswapV3Pool.observations.selector;
        assembly ("memory-safe") {
            let index := mload(add(ring, 96))
            if lt(index, back) { index := add(index, mload(add(ring, 128))) }
            place := mload(64)
            mstore(64, add(place, 160))
            mstore(0, selector)
            mstore(4, sub(index, back))
            if iszero(staticcall(gas(), mload(ring), 0, 36, place, 128)) {
                returndatacopy(place, 0, returndatasize())
                revert(place, returndatasize())
            }
            if lt(returndatasize(), 128) { revert(0, 0) }
            mstore(place, and(sub(timestamp(), mload(place)), 0xffffffff)) // as the pool's own clock wraps
            mstore(add(place, 128), back)
        }
    }
}
