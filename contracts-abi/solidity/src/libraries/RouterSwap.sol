// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IBasketZapper} from "../interfaces/IBasketZapper.sol";
import {ISwapRouter02} from "../interfaces/uniswap/ISwapRouter02.sol";
import {SwapDecoder} from "./SwapDecoder.sol";
import {TokenReads} from "./TokenReads.sol";

/// Runs one decoded swap with an allowance for it alone (rule 6), and believes balances over the router's word.
library RouterSwap {
    using SafeERC20 for IERC20;
    using TokenReads for address;

    struct Leg {
        uint256 index;
        address tokenIn;
        address tokenOut;
        uint256 amountIn; // exact, or the most to spend: may be below what the swap was written with
        bool isWeth;
    }

    /// Base units that left and arrived. Reverts BadSwap unless an exact input was consumed whole, and unless an exact
    /// output cost what the router says: a balance topped up meanwhile must not hide spending. One case is sound
    /// though nothing was spent: the router pays a WETH input with ether that somebody left in it.
    function run(address router, Leg memory leg, SwapDecoder.Swap memory swap)
        internal
        returns (uint256 spent, uint256 received)
    {
        uint256 inBefore = leg.tokenIn.balanceOf(address(this));
        uint256 outBefore = leg.tokenOut.balanceOf(address(this));
        IERC20(leg.tokenIn).forceApprove(router, leg.amountIn);
        uint256 expected = swap.exactOut ? _exactOut(router, leg, swap) : _exactIn(router, leg, swap);
        spent = inBefore - leg.tokenIn.balanceOf(address(this));
        received = leg.tokenOut.balanceOf(address(this)) - outBefore;
        if (spent != expected && !(leg.isWeth && spent == 0)) {
            revert IBasketZapper.BadSwap(leg.index, "not consumed");
        }
        if (leg.tokenIn.allowance(address(this), router) != 0) {
            IERC20(leg.tokenIn).forceApprove(router, 0);
        }
    }

    function _exactIn(address router, Leg memory leg, SwapDecoder.Swap memory swap)
        private
        returns (uint256)
    {
        if (swap.path.length == 0) {
            ISwapRouter02(router)
                .exactInputSingle(
                    ISwapRouter02.ExactInputSingleParams({
                    tokenIn: leg.tokenIn,
                    tokenOut: leg.tokenOut,
                    fee: swap.fee,
                    recipient: address(this),
                    amountIn: leg.amountIn,
                    amountOutMinimum: swap.amountOut,
                    sqrtPriceLimitX96: 0
                })
                );
        } else {
            ISwapRouter02(router)
                .exactInput(
                    ISwapRouter02.ExactInputParams({
                    path: swap.path,
                    recipient: address(this),
                    amountIn: leg.amountIn,
                    amountOutMinimum: swap.amountOut
                })
                );
        }
        return leg.amountIn;
    }

    function _exactOut(address router, Leg memory leg, SwapDecoder.Swap memory swap)
        private
        returns (uint256)
    {
        if (swap.path.length == 0) {
            return ISwapRouter02(router)
                .exactOutputSingle(
                    ISwapRouter02.ExactOutputSingleParams({
                    tokenIn: leg.tokenIn,
                    tokenOut: leg.tokenOut,
                    fee: swap.fee,
                    recipient: address(this),
                    amountOut: swap.amountOut,
                    amountInMaximum: leg.amountIn,
                    sqrtPriceLimitX96: 0
                })
                );
        }
        return ISwapRouter02(router)
            .exactOutput(
                ISwapRouter02.ExactOutputParams({
                path: swap.path,
                recipient: address(this),
                amountOut: swap.amountOut,
                amountInMaximum: leg.amountIn
            })
            );
    }
}
