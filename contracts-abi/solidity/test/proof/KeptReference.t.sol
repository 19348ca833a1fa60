// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketVault} from "../../src/basket/BasketVault.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {ProtocolFixture} from "../support/ProtocolFixture.sol";
import {TestToken} from "../support/TestToken.sol";
import {IUniPool} from "../support/UniswapFixture.sol";

interface ILender {
    function flash(address recipient, uint256 amount0, uint256 amount1, bytes calldata data) external;
}

/// What a kept reference rests on: nothing that is done to a pool moves an average of its own second. `navs`, which
/// keeps nothing, is the judge.
contract KeptReferenceTest is ProtocolFixture {
    mapping(IUniPool pool => uint128) private _whole; // full-range liquidity that is left

    function setUp() public {
        deployProtocol();
    }

    /// Swaps over the edges of ranges, liquidity in and out, loans and slots for observations, of the WETH pool too.
    function testFuzz_nothing_done_to_the_pools_moves_the_reference_of_their_second(uint256 seed) public {
        BasketVault vault = [tech, mixed, stock][seed % 3];
        for (uint256 i; i < pools.length; ++i) {
            (, int24 tick,,,,,) = pools[i].slot0();
            int24 spacing = pools[i].tickSpacing();
            _whole[pools[i]] = pools[i].liquidity();
            int24 lower = (tick / spacing - int24(uint24(seed >> 8 & 3)) - 1) * spacing;
            addRange(pools[i], lower, lower + 2 * spacing, pools[i].liquidity());
        }
        skip(60);
        movePrices(9_900 + (seed >> 16) % 200);
        skip((seed >> 32) % 700);
        (uint256 reference_, uint256 spot) = oracle.navs(address(vault));
        if (seed >> 255 == 0) _assertOnce(vault, reference_, spot);
        for (uint256 i; i < 6; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            _meddle(pools[seed % pools.length], seed >> 8);
            uint256 again;
            (again, spot) = oracle.navs(address(vault));
            assertEq(again, reference_, "the reference of a second moved within it");
            _assertOnce(vault, reference_, spot);
        }
    }

    /// The pool has its new price by then, and neither its pay nor an end of its call.
    function test_asked_from_within_a_swap_it_is_the_reference_of_the_second() public {
        skip(60);
        (uint256 reference_, uint256 standing) = oracle.navs(address(tech));
        alfa.token.setMisbehaviour(TestToken.Misbehaviour.Reenters);
        alfa.token.setHook(address(oracle), abi.encodeCall(INavOracle.navsOnce, (address(tech))), true);
        setPrice(alfa, alfa.price * 12 / 10); // alfa comes out of the pool before it is paid for
        assertEq(alfa.token.hookTarget(), address(0), "the token never called back");
        (uint256 within, uint256 pushed) = abi.decode(alfa.token.hookResult(), (uint256, uint256));
        assertEq(within, reference_);
        assertGt(pushed, standing * 105 / 100);
        setPrice(alfa, alfa.price);
        (, uint256 spot) = oracle.navs(address(tech));
        _assertOnce(tech, reference_, spot);
    }

    /// The write of this second takes the place of the oldest observation.
    function test_a_ring_that_turns_forgets_nothing_of_the_window() public {
        _writeToTheEndOfTheRing();
        _assertAWriteMovesNothing();
        (,, uint16 index, uint16 cardinality,,,) = bravo.pool.slot0();
        assertEq(index, 0, "the ring did not turn");
        assertEq(cardinality, 700);
    }

    /// The write of this second goes to the first of the new slots.
    function test_a_ring_that_grows_forgets_nothing_of_the_window() public {
        _writeToTheEndOfTheRing();
        bravo.pool.increaseObservationCardinalityNext(702);
        _assertAWriteMovesNothing();
        (,, uint16 index, uint16 cardinality,,,) = bravo.pool.slot0();
        assertEq(index, 700);
        assertEq(cardinality, 702, "the ring did not grow");
    }

    /// A reference that a write of this very second made sound is found then: what was none before it was not kept.
    function test_what_becomes_sound_within_a_second_is_found() public {
        BasketVault vault = _foundOnShortRing();
        vm.expectRevert(
            abi.encodeWithSelector(
                INavOracle.NoReference.selector, vault, INavOracle.Invalid.Cardinality, delta.pool
            )
        );
        oracle.navsOnce(address(vault));
        writeObservation(delta.pool);
        (uint256 reference_, uint256 spot) = oracle.navs(address(vault));
        _assertOnce(vault, reference_, spot);
    }

    function uniswapV3FlashCallback(uint256, uint256, bytes calldata) external {
        TestToken(IUniPool(msg.sender).token0()).mint(msg.sender, 1e24);
        TestToken(IUniPool(msg.sender).token1()).mint(msg.sender, 1e24);
    }

    function _meddle(IUniPool pool, uint256 seed) private {
        uint256 kind = seed % 7;
        seed >>= 8;
        (, int24 tick,, uint16 cardinality,,,) = pool.slot0();
        int24 spacing = pool.tickSpacing();
        if (kind == 0) {
            addRange(
                pool, (tick / spacing - 1) * spacing, (tick / spacing + 1) * spacing, uint128(seed >> 160)
            );
        } else if (kind == 1) {
            uint128 out = seed % 3 == 0 ? _whole[pool] : _whole[pool] / 3;
            _whole[pool] -= out;
            if (out != 0) removeLiquidity(pool, out);
        } else if (kind == 2) {
            pool.increaseObservationCardinalityNext(cardinality + 1 + uint16(seed % 5));
        } else if (kind == 3) {
            if (alfa.pool.liquidity() != 0) ILender(address(alfa.pool)).flash(address(this), 1e6, 1e6, "");
        } else {
            address token = pool.token0();
            movePrice(pool, token, poolPrice(pool, token) * (7_500 + seed % 5_000) / 10_000);
        }
    }

    function _writeToTheEndOfTheRing() private {
        (,, uint16 index, uint16 cardinality,,,) = bravo.pool.slot0();
        for (; index + 1 < cardinality; ++index) {
            skip(1);
            writeObservation(bravo.pool);
        }
        skip(1);
    }

    function _assertAWriteMovesNothing() private {
        (uint256 reference_,) = oracle.navsOnce(address(stock));
        for (uint256 i; i < 2; ++i) {
            movePrices(9_000);
            (uint256 again, uint256 spot) = oracle.navs(address(stock));
            assertEq(again, reference_);
            _assertOnce(stock, reference_, spot);
        }
    }

    /// The pool of delta at a second in which its next write makes its ring long enough.
    function _foundOnShortRing() private returns (BasketVault vault) {
        Asset[] memory parts = new Asset[](1);
        uint256[] memory dollars = new uint256[](1);
        delta.fee = 500;
        delta.pool = createThinPool(address(delta.token), address(usdg), 500, delta.price);
        addDepth(delta.pool, address(usdg), DEPTH);
        (parts[0], dollars[0]) = (delta, 100);
        vault = _found("SHORT", parts, dollars, true);
        delta.pool.increaseObservationCardinalityNext(700);
        skip(700);
    }

    function _assertOnce(BasketVault vault, uint256 reference_, uint256 spot) private {
        (uint256 once, uint256 spotOnce) = oracle.navsOnce(address(vault));
        assertEq(once, reference_);
        assertEq(spotOnce, spot);
    }
}
