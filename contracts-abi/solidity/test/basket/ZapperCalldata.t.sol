// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IUniPool} from "../support/UniswapFixture.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ZapperFixture} from "./ZapperFixture.sol";

/// Rule 5: what a caller writes as a swap is read, and anything but the four known calls is refused.
contract ZapperCalldataTest is ZapperFixture {
    uint256 private constant SPEND = 100e6;

    function setUp() public {
        deployProtocol();
        fundBuyer(10_000e6);
        fundSeller(stock, 100e18);
        // Anything the router could be tricked into taking.
        vm.prank(alice);
        usdg.approve(swapRouter, type(uint256).max);
    }

    function test_allFourCallsBuyAndSell() public {
        uint256 bravoDue = stock.previewMint(1e18)[0];
        uint256 deltaDue = stock.previewMint(1e18)[1];
        SwapCall[] memory swaps = new SwapCall[](2);
        swaps[0] = single(0x04e45aaf, address(usdg), address(bravo.token), bravo.fee, 71e6, 1);
        swaps[1] =
            path(0xb858183f, abi.encodePacked(usdg, delta.fee, delta.token), address(delta.token), 32e6, 1);
        buyExact(stock, 1e18, 110e6, swaps);
        swaps[0] = singleOut(address(usdg), address(bravo.token), bravo.fee, bravoDue, 80e6);
        swaps[1] = pathOut(
            abi.encodePacked(delta.token, delta.fee, usdg),
            address(usdg),
            address(delta.token),
            deltaDue,
            40e6
        );
        buyExact(stock, 1e18, 130e6, swaps);
        assertEq(stock.balanceOf(bob), 2e18);
        assertZapperEmpty();

        uint256[] memory due = stock.previewRedeem(1e18);
        swaps[0] = single(0x04e45aaf, address(bravo.token), address(usdg), bravo.fee, due[0], 1);
        swaps[1] = path(0xb858183f, abi.encodePacked(delta.token, delta.fee, usdg), address(usdg), due[1], 1);
        sell(stock, 1e18, 95e6, swaps);
        swaps[0] = singleOut(address(bravo.token), address(usdg), bravo.fee, 60e6, due[0]);
        swaps[1] = pathOut(
            abi.encodePacked(usdg, delta.fee, delta.token), address(delta.token), address(usdg), 25e6, due[1]
        );
        (, uint256 gross,) = sell(stock, 1e18, 0, swaps);
        assertEq(gross, 85e6);
        assertGt(bravo.token.balanceOf(carol), 0);
        assertZapperEmpty();
    }

    function test_noOtherFunctionOfTheRouterIsReachable() public {
        string[20] memory others = [
            "multicall(bytes[])",
            "multicall(uint256,bytes[])",
            "multicall(bytes32,bytes[])",
            "pull(address,uint256)",
            "selfPermit(address,uint256,uint256,uint8,bytes32,bytes32)",
            "selfPermitIfNecessary(address,uint256,uint256,uint8,bytes32,bytes32)",
            "selfPermitAllowed(address,uint256,uint256,uint8,bytes32,bytes32)",
            "callPositionManager(bytes)",
            "approveMax(address)",
            "approveMaxMinusOne(address)",
            "approveZeroThenMax(address)",
            "increaseLiquidity((address,address,uint256,uint256,uint256))",
            "mint((address,address,uint24,int24,int24,uint256,uint256,address))",
            "sweepToken(address,uint256,address)",
            "unwrapWETH9(uint256,address)",
            "wrapETH(uint256)",
            "refundETH()",
            "uniswapV3SwapCallback(int256,int256,bytes)",
            "swapExactTokensForTokens(uint256,uint256,address[],address)",
            "swapTokensForExactTokens(uint256,uint256,address[],address)"
        ];
        for (uint256 i; i < others.length; ++i) {
            SwapCall memory swap =
                single(0x04e45aaf, address(usdg), address(bravo.token), bravo.fee, SPEND, 0);
            swap.callData = abi.encodePacked(bytes4(keccak256(bytes(others[i]))), new bytes(300));
            _refusesBuy(swap, "selector");
        }
    }

    function test_refusesCalldataWithoutASelector() public {
        SwapCall memory swap = exactInputBuy(bravo, SPEND);
        swap.callData = hex"04e45a";
        _refusesBuy(swap, "selector");
    }

    function test_refusesAnotherRouter() public {
        SwapCall memory swap = exactInputBuy(bravo, SPEND);
        swap.router = address(usdg);
        _refusesBuy(swap, "router");
    }

    function test_refusesEveryOtherRecipient() public {
        // 1 and 2 are the router's words for its caller and for itself.
        address[4] memory recipients = [alice, address(1), address(2), swapRouter];
        for (uint256 i; i < recipients.length; ++i) {
            SwapCall memory swap = exactInputBuy(bravo, SPEND);
            swap.callData = abi.encodeWithSelector(
                0x04e45aaf,
                ExactSingle(address(usdg), address(bravo.token), bravo.fee, recipients[i], SPEND, 0, 0)
            );
            _refusesBuy(swap, "recipient");
            swap.callData = abi.encodeWithSelector(
                0x5023b4df,
                ExactSingle(address(usdg), address(bravo.token), bravo.fee, recipients[i], 1, SPEND, 0)
            );
            _refusesBuy(swap, "recipient");
            bytes memory forward = abi.encodePacked(usdg, bravo.fee, bravo.token);
            swap.callData = abi.encodeWithSelector(0xb858183f, ExactInput(forward, recipients[i], SPEND, 0));
            _refusesBuy(swap, "recipient");
            bytes memory backward = abi.encodePacked(bravo.token, bravo.fee, usdg);
            swap.callData = abi.encodeWithSelector(0x09b81346, ExactOutput(backward, recipients[i], 1, SPEND));
            _refusesBuy(swap, "recipient");
        }
    }

    function test_refusesAPriceLimit() public {
        SwapCall memory swap = exactInputBuy(bravo, SPEND);
        swap.callData = abi.encodeWithSelector(
            0x04e45aaf,
            ExactSingle(
                address(usdg), address(bravo.token), bravo.fee, address(zapper), SPEND, 0, MIN_SQRT_RATIO + 1
            )
        );
        _refusesBuy(swap, "price limit");
        swap.callData = abi.encodeWithSelector(
            0x5023b4df,
            ExactSingle(
                address(usdg), address(bravo.token), bravo.fee, address(zapper), 1, SPEND, MAX_SQRT_RATIO - 1
            )
        );
        _refusesBuy(swap, "price limit");
    }

    /// An input of zero means "all that the router holds", so it never reaches the router.
    function test_refusesAmountsOfZeroAndAmountsOtherThanStated() public {
        _refusesBuy(single(0x04e45aaf, address(usdg), address(bravo.token), bravo.fee, 0, 0), "amountIn");
        SwapCall memory swap = exactInputBuy(bravo, SPEND);
        swap.amountIn = SPEND - 1;
        _refusesBuy(swap, "amountIn");
        swap = singleOut(address(usdg), address(bravo.token), bravo.fee, 1, SPEND);
        swap.amountIn = SPEND + 1;
        _refusesBuy(swap, "amountIn");
        _refusesBuy(singleOut(address(usdg), address(bravo.token), bravo.fee, 0, SPEND), "amountOut");
    }

    function test_refusesTokensOtherThanStated() public {
        SwapCall memory swap = single(0x04e45aaf, address(usdg), address(bravo.token), bravo.fee, SPEND, 0);
        swap.tokenOut = address(delta.token);
        _refusesBuy(swap, "tokens");
        swap = exactInputBuy(bravo, SPEND);
        swap.tokenOut = address(delta.token);
        _refusesBuy(swap, "tokens");
        swap = singleOut(address(alfa.token), address(bravo.token), bravo.fee, 1, SPEND);
        swap.tokenIn = address(usdg);
        _refusesBuy(swap, "tokens");
        // An exact-output path written forwards buys USDG with bravo: the wrong way round.
        swap = pathOut(
            abi.encodePacked(usdg, bravo.fee, bravo.token), address(usdg), address(bravo.token), 1, SPEND
        );
        _refusesBuy(swap, "tokens");
    }

    function test_tradesOnlyBetweenUsdgAndAConstituent() public {
        _refusesBuy(exactInputBuy(alfa, SPEND), "constituent"); // not in this basket
        _refusesBuy(exactInput(bravo, 1e8), "tokenIn"); // a sale inside a buy
        SwapCall[] memory swaps = one(exactInputBuy(bravo, SPEND)); // a buy inside a sale
        vm.expectRevert(badSwap(0, "tokenOut"));
        sell(stock, 1e18, 0, swaps);
        swaps = one(exactInput(alfa, 1e18));
        vm.expectRevert(badSwap(0, "constituent"));
        sell(stock, 1e18, 0, swaps);
    }

    function test_usdgIsNoConstituentToSwapInto() public {
        bytes memory round = abi.encodePacked(usdg, ether_.fee, weth, ether_.fee, usdg);
        SwapCall[] memory swaps = one(path(0xb858183f, round, address(usdg), SPEND, 0));
        vm.expectRevert(badSwap(0, "constituent"));
        buy(mixed, 1_000e6, 0, swaps);
    }

    function test_refusesPathsOfOtherLengths() public {
        bytes memory good = abi.encodePacked(usdg, bravo.fee, bravo.token);
        bytes[4] memory bad = [
            abi.encodePacked(good, uint8(0)),
            abi.encodePacked(usdg, bravo.fee),
            abi.encodePacked(usdg),
            abi.encodePacked(usdg, ether_.fee, weth, ether_.fee, usdg, bravo.fee, bravo.token)
        ];
        for (uint256 i; i < bad.length; ++i) {
            _refusesBuy(path(0xb858183f, bad[i], address(bravo.token), SPEND, 0), "path");
        }
        _refusesBuy(path(0xb858183f, "", address(bravo.token), SPEND, 0), "pool");
    }

    function test_refusesAWayThroughAnythingButWeth() public {
        IUniPool side = createPool(address(delta.token), address(bravo.token), 3000, 0.2e18, 1e14);
        bytes memory way = abi.encodePacked(usdg, delta.fee, delta.token, side.fee(), bravo.token);
        _refusesBuy(path(0xb858183f, way, address(bravo.token), SPEND, 0), "path");
    }

    function test_refusesPoolsThatTheFactoryDoesNotHave() public {
        _refusesBuy(single(0x04e45aaf, address(usdg), address(bravo.token), 3000, SPEND, 0), "pool");
        _refusesBuy(
            path(
                0xb858183f, abi.encodePacked(usdg, uint24(777), bravo.token), address(bravo.token), SPEND, 0
            ),
            "pool"
        );
        bytes memory way = abi.encodePacked(usdg, ether_.fee, weth, uint24(500), bravo.token);
        _refusesBuy(path(0xb858183f, way, address(bravo.token), SPEND, 0), "pool");
    }

    /// A pool that runs dry takes part of an exact input and keeps quiet about it.
    function test_anExactInputIsConsumedWholeOrTheTradeReverts() public {
        IUniPool narrow = createThinPool(address(bravo.token), address(usdg), 3000, 40e18);
        (, int24 tick,,,,,) = narrow.slot0();
        int24 middle = tick / 60 * 60;
        addRange(narrow, middle - 60, middle + 60, 1e9);
        SwapCall[] memory swaps =
            one(single(0x04e45aaf, address(usdg), address(bravo.token), 3000, 5_000e6, 0));
        vm.expectRevert(badSwap(0, "not consumed"));
        buy(stock, 6_000e6, 0, swaps);
    }

    /// Random bytes in place of one word of a sound call, or of its selector: the trade reverts, or keeps every promise.
    function testFuzz_mutatedCalldataKeepsTheCallersBounds(
        uint256 seed,
        bytes32 word,
        uint8 kind,
        bool buying
    ) public {
        SwapCall[] memory swaps = new SwapCall[](2);
        if (buying) {
            (swaps,) = quoteBuy(stock, 10e18);
            if (kind % 2 == 0) swaps[0] = exactInputBuy(bravo, swaps[0].amountIn);
        } else {
            (swaps,) = quoteSell(stock, 10e18);
        }
        bytes memory callData = swaps[0].callData;
        uint256 words = (callData.length - 4) / 32;
        uint256 place = seed % words;
        uint256 shape = seed / words % 4;
        if (shape == 1) word = bytes32(uint256(word) % 1_000);
        if (shape == 2) word = bytes32(uint256(uint160(uint256(word))));
        if (shape == 3) word = bytes32(uint256(uint160(alice)));
        assembly ("memory-safe") {
            mstore(add(add(callData, 36), mul(place, 32)), word)
        }
        swaps[0].callData = callData;
        _assertBounds(swaps, buying);
    }

    function testFuzz_randomCalldataKeepsTheCallersBounds(bytes calldata noise, uint8 selector, bool buying)
        public
    {
        bytes4[4] memory known =
            [bytes4(0x04e45aaf), bytes4(0xb858183f), bytes4(0x5023b4df), bytes4(0x09b81346)];
        SwapCall[] memory swaps;
        if (buying) (swaps,) = quoteBuy(stock, 10e18);
        else (swaps,) = quoteSell(stock, 10e18);
        swaps[0].callData = abi.encodePacked(known[selector % 4], noise);
        _assertBounds(swaps, buying);
    }

    function _assertBounds(SwapCall[] memory swaps, bool buying) private {
        uint256 usdgBefore = usdg.balanceOf(alice);
        uint256 sharesBefore = stock.balanceOf(alice);
        vm.prank(alice);
        if (buying) {
            try zapper.buyExact(address(stock), 10e18, 1_100e6, swaps, alice, alice, WHENEVER) {
                assertEq(stock.balanceOf(alice), sharesBefore + 10e18);
                assertLe(usdgBefore - usdg.balanceOf(alice), 1_100e6);
            } catch {
                assertEq(usdg.balanceOf(alice), usdgBefore);
            }
        } else {
            try zapper.sell(address(stock), 10e18, 900e6, swaps, alice, alice, WHENEVER) {
                assertEq(stock.balanceOf(alice), sharesBefore - 10e18);
                assertGe(usdg.balanceOf(alice), usdgBefore + 900e6);
            } catch {
                assertEq(stock.balanceOf(alice), sharesBefore);
            }
        }
        assertZapperEmpty();
    }

    function _refusesBuy(SwapCall memory swap, string memory why) private {
        SwapCall[] memory swaps = one(swap);
        vm.expectRevert(badSwap(0, why));
        buy(stock, 1_000e6, 0, swaps);
    }

    function single(
        bytes4 selector,
        address tokenIn,
        address tokenOut,
        uint24 fee,
        uint256 amountIn,
        uint256 least
    ) private view returns (SwapCall memory) {
        bytes memory callData = abi.encodeWithSelector(
            selector, ExactSingle(tokenIn, tokenOut, fee, address(zapper), amountIn, least, 0)
        );
        return SwapCall(swapRouter, tokenIn, tokenOut, amountIn, callData);
    }

    function singleOut(address tokenIn, address tokenOut, uint24 fee, uint256 amountOut, uint256 most)
        private
        view
        returns (SwapCall memory)
    {
        bytes memory callData = abi.encodeWithSelector(
            0x5023b4df, ExactSingle(tokenIn, tokenOut, fee, address(zapper), amountOut, most, 0)
        );
        return SwapCall(swapRouter, tokenIn, tokenOut, most, callData);
    }

    function path(bytes4 selector, bytes memory way, address tokenOut, uint256 amountIn, uint256 least)
        private
        view
        returns (SwapCall memory)
    {
        bytes memory callData =
            abi.encodeWithSelector(selector, ExactInput(way, address(zapper), amountIn, least));
        address tokenIn = way.length < 20 ? address(usdg) : address(bytes20(way));
        return SwapCall(swapRouter, tokenIn, tokenOut, amountIn, callData);
    }

    function pathOut(bytes memory way, address tokenIn, address tokenOut, uint256 amountOut, uint256 most)
        private
        view
        returns (SwapCall memory)
    {
        bytes memory callData =
            abi.encodeWithSelector(0x09b81346, ExactOutput(way, address(zapper), amountOut, most));
        return SwapCall(swapRouter, tokenIn, tokenOut, most, callData);
    }
}
