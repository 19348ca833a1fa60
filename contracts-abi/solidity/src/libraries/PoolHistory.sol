// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IUniswapV3Pool} from "../interfaces/uniswap/IUniswapV3Pool.sol";

/// What a Uniswap v3 pool's `observe` answers, to the last bit, for a third of its gas. The pool searches its ring of
/// observations by halves and reads two slots a step; here the search goes where the pool's pace of writing says,
/// reads one slot a step, and starts each moment's search where the last one ended.
/// `open`, then `reaches`, then `seek` for ages in rising order. Any failure, lack of gas included, reverts.
library PoolHistory {
    /// The pool now, where its ring of observations stands, and how far the search has come. A point is an observation
    /// in memory: age in seconds, tick and liquidity accumulators, whether written, and writes before the newest.
    struct Search {
        address pool;
        uint160 sqrtPriceX96; // now
        int24 tick; // now
        uint256 index; // of the newest observation
        uint256 cardinality;
        uint256 newest; // point
        uint256 oldest; // point
        uint256 newer; // point: at the moment sought, or after it
        uint256 older; // point: at the moment sought, or before it
        uint256 liquidity; // now, at least one; zero until it is needed
        int56 ticks; // accumulators of the moment sought
        uint160 perLiquidity;
    }

    uint256 private constant GUESSES = 5; // then by halves, so that no ring is searched for long

    /// The pool's price, tick and place in its ring, from one read of slot0.
    function open(address pool) internal view returns (Search memory search) {
        bytes4 selector = IUniswapV3Pool.slot0.selector;
        assembly ("memory-safe") {
            // slot0 answers price, tick, index, cardinality and three words more: the first four fit the struct.
            mstore(0, selector)
            if iszero(staticcall(gas(), pool, 0, 4, add(search, 32), 128)) {
                returndatacopy(mload(64), 0, returndatasize())
                revert(mload(64), returndatasize())
            }
            if lt(returndatasize(), 224) { revert(0, 0) }
            mstore(search, pool)
        }
    }

    /// False where `observe` reverts OLD: the memory does not go back `age` seconds.
    function reaches(Search memory search, uint256 age) internal view returns (bool) {
        uint256 newest = _read(search, 0);
        // A full ring's oldest observation is in the slot to be written next; a ring not full begins at its first.
        uint256 oldest = _read(search, search.cardinality - 1);
        if (_word(oldest, 96) == 0) oldest = _read(search, search.index);
        (search.newest, search.newer) = (newest, newest);
        (search.oldest, search.older) = (oldest, oldest);
        return age <= _word(oldest, 0);
    }

    /// The accumulators `age` seconds ago, into the search.
    function seek(Search memory search, uint256 age) internal view {
        if (age <= _word(search.newest, 0)) return _extend(search, age);
        if (_word(search.older, 0) < age) (search.newer, search.older) = (search.older, search.oldest);
        _narrow(search, age);
        _interpolate(search, age);
    }

    /// Narrows the two points to neighbours, or until one of them is the moment itself. How many writes to go back:
    /// first at the pace since the newer point, then at the pace between the two, at last by halves; at least one, and
    /// short of the older. Ages rise strictly with writes, as a pool writes once a second at most, so no divisor is
    /// zero. In assembly, because most of a reference's own gas goes here.
    function _narrow(Search memory search, uint256 age) private view {
        bytes4 selector = IUniswapV3Pool.observations.selector;
        assembly ("memory-safe") {
            let newer := mload(add(search, 224))
            let older := mload(add(search, 256))
            for { let tries := 0 } 1 { tries := add(tries, 1) } {
                let back := mload(add(newer, 128))
                {
                    let newerAge := mload(newer)
                    let span := sub(mload(older), newerAge)
                    let ahead := sub(age, newerAge)
                    if or(iszero(ahead), eq(ahead, span)) { break }
                    let room := sub(mload(add(older, 128)), back)
                    if eq(room, 1) { break }
                    let leap := shr(1, room)
                    if lt(tries, GUESSES) { leap := div(mul(ahead, room), span) }
                    if iszero(or(tries, iszero(back))) {
                        leap := div(mul(ahead, back), sub(newerAge, mload(mload(add(search, 160)))))
                    }
                    if iszero(leap) { leap := 1 }
                    if iszero(lt(leap, room)) { leap := sub(room, 1) }
                    back := add(back, leap)
                }
                // As _read.
                let found := mload(64)
                mstore(64, add(found, 160))
                mstore(0, selector)
                {
                    let index := mload(add(search, 96))
                    if lt(index, back) { index := add(index, mload(add(search, 128))) }
                    mstore(4, sub(index, back))
                }
                if iszero(staticcall(gas(), mload(search), 0, 36, found, 128)) {
                    returndatacopy(found, 0, returndatasize())
                    revert(found, returndatasize())
                }
                if lt(returndatasize(), 128) { revert(0, 0) }
                mstore(found, and(sub(timestamp(), mload(found)), 0xffffffff))
                mstore(add(found, 128), back)
                switch gt(mload(found), age)
                case 0 { newer := found }
                default { older := found }
            }
            mstore(add(search, 224), newer)
            mstore(add(search, 256), older)
        }
    }

    /// Oracle.transform of v3-core: the newest observation, carried on at the tick and liquidity of now.
    function _extend(Search memory search, uint256 age) private view {
        uint256 newest = search.newest;
        int56 ticks;
        uint160 perLiquidity;
        uint256 delta;
        assembly ("memory-safe") {
            delta := sub(mload(newest), age)
            ticks := mload(add(newest, 32))
            perLiquidity := mload(add(newest, 64))
        }
        if (delta != 0 && search.liquidity == 0) {
            uint256 liquidity = IUniswapV3Pool(search.pool).liquidity();
            search.liquidity = liquidity == 0 ? 1 : liquidity;
        }
        unchecked {
            search.ticks = ticks + int56(search.tick) * int56(uint56(delta));
            search.perLiquidity =
                delta == 0 ? perLiquidity : perLiquidity + uint160((delta << 128) / search.liquidity);
        }
    }

    /// Oracle.observeSingle of v3-core, its rounding included; the accumulators wrap by design.
    function _interpolate(Search memory search, uint256 age) private pure {
        uint256 newer = search.newer;
        uint256 older = search.older;
        int56 ticks;
        uint160 perLiquidity;
        assembly ("memory-safe") {
            ticks := mload(add(newer, 32))
            perLiquidity := mload(add(newer, 64))
        }
        uint256 newerAge = _word(newer, 0);
        if (age != newerAge) {
            int56 olderTicks;
            uint160 olderPerLiquidity;
            assembly ("memory-safe") {
                olderTicks := mload(add(older, 32))
                olderPerLiquidity := mload(add(older, 64))
            }
            unchecked {
                uint256 span = _word(older, 0) - newerAge;
                uint256 delta = _word(older, 0) - age;
                ticks = olderTicks + (ticks - olderTicks) / int56(uint56(span)) * int56(uint56(delta));
                perLiquidity =
                    olderPerLiquidity + uint160(uint256(perLiquidity - olderPerLiquidity) * delta / span);
            }
        }
        (search.ticks, search.perLiquidity) = (ticks, perLiquidity);
    }

    /// The observation written `back` writes before the newest, as a point.
    function _read(Search memory search, uint256 back) private view returns (uint256 point) {
        bytes4 selector = IUniswapV3Pool.observations.selector;
        assembly ("memory-safe") {
            let index := mload(add(search, 96))
            if lt(index, back) { index := add(index, mload(add(search, 128))) }
            point := mload(64)
            mstore(64, add(point, 160))
            mstore(0, selector)
            mstore(4, sub(index, back))
            if iszero(staticcall(gas(), mload(search), 0, 36, point, 128)) {
                returndatacopy(point, 0, returndatasize())
                revert(point, returndatasize())
            }
            if lt(returndatasize(), 128) { revert(0, 0) }
            mstore(point, and(sub(timestamp(), mload(point)), 0xffffffff)) // as the pool's own clock wraps
            mstore(add(point, 128), back)
        }
    }

    function _word(uint256 point, uint256 offset) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := mload(add(point, offset))
        }
    }
}
