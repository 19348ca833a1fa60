// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall, IBasketZapper} from "../interfaces/IBasketZapper.sol";
import {ISwapRouter02} from "../interfaces/uniswap/ISwapRouter02.sol";
import {IUniswapV3Factory} from "../interfaces/uniswap/IUniswapV3Factory.sol";

/// Rule 5: a swap is read, never trusted. Everything the caller wrote must be one of four known calls, to the zapper
/// itself, between the two tokens it names, through pools of the factory, directly or by way of WETH.
library SwapDecoder {
    /// A swap understood. `amountIn` is exact, or the most that an exact output may cost; `amountOut` is the least, or
    /// exact. `path` runs as the router wants it; empty for a single pool.
    struct Swap {
        bool exactOut;
        uint24 fee;
        uint256 amountIn;
        uint256 amountOut;
        bytes path;
    }

    struct Venue {
        address router;
        address factory;
        address weth;
    }

    uint256 private constant ADDRESS_BYTES = 20;
    uint256 private constant HOP_BYTES = 23;
    uint256 private constant DIRECT_PATH = ADDRESS_BYTES + HOP_BYTES;
    uint256 private constant WETH_PATH = DIRECT_PATH + HOP_BYTES;

    /// Reverts BadSwap(index, …) for anything else; malformed ABI reverts without a reason.
    function decode(SwapCall calldata call_, uint256 index, Venue memory venue)
        internal
        view
        returns (Swap memory swap)
    {
        if (call_.router != venue.router) revert IBasketZapper.BadSwap(index, "router");
        if (call_.callData.length < 4) revert IBasketZapper.BadSwap(index, "selector");
        bytes4 selector = bytes4(call_.callData[:4]);
        bytes calldata arguments = call_.callData[4:];

        if (selector == ISwapRouter02.exactInputSingle.selector) {
            _readInputSingle(call_, index, arguments, swap);
        } else if (selector == ISwapRouter02.exactOutputSingle.selector) {
            _readOutputSingle(call_, index, arguments, swap);
        } else if (selector == ISwapRouter02.exactInput.selector) {
            ISwapRouter02.ExactInputParams memory p = abi.decode(arguments, (ISwapRouter02.ExactInputParams));
            _requireSelf(p.recipient, index);
            (swap.path, swap.amountIn, swap.amountOut) = (p.path, p.amountIn, p.amountOutMinimum);
        } else if (selector == ISwapRouter02.exactOutput.selector) {
            ISwapRouter02.ExactOutputParams memory p =
                abi.decode(arguments, (ISwapRouter02.ExactOutputParams));
            _requireSelf(p.recipient, index);
            (swap.path, swap.amountIn, swap.amountOut) = (p.path, p.amountInMaximum, p.amountOut);
            swap.exactOut = true;
        } else {
            revert IBasketZapper.BadSwap(index, "selector");
        }

        if (swap.amountIn == 0 || swap.amountIn != call_.amountIn) {
            revert IBasketZapper.BadSwap(index, "amountIn");
        }
        if (swap.exactOut && swap.amountOut == 0) revert IBasketZapper.BadSwap(index, "amountOut");
        if (swap.path.length == 0) {
            // An empty path lands here too, with fee zero, which no pool has.
            _requirePool(venue.factory, call_.tokenIn, call_.tokenOut, swap.fee, index);
        } else {
            _checkPath(call_, swap, index, venue);
        }
    }

    function _readInputSingle(
        SwapCall calldata call_,
        uint256 index,
        bytes calldata arguments,
        Swap memory swap
    ) private view {
        ISwapRouter02.ExactInputSingleParams memory p =
            abi.decode(arguments, (ISwapRouter02.ExactInputSingleParams));
        _requireSelf(p.recipient, index);
        _requireTokens(call_, p.tokenIn, p.tokenOut, index);
        if (p.sqrtPriceLimitX96 != 0) revert IBasketZapper.BadSwap(index, "price limit");
        (swap.fee, swap.amountIn, swap.amountOut) = (p.fee, p.amountIn, p.amountOutMinimum);
    }

    function _readOutputSingle(
        SwapCall calldata call_,
        uint256 index,
        bytes calldata arguments,
        Swap memory swap
    ) private view {
        ISwapRouter02.ExactOutputSingleParams memory p =
            abi.decode(arguments, (ISwapRouter02.ExactOutputSingleParams));
        _requireSelf(p.recipient, index);
        _requireTokens(call_, p.tokenIn, p.tokenOut, index);
        if (p.sqrtPriceLimitX96 != 0) revert IBasketZapper.BadSwap(index, "price limit");
        (swap.fee, swap.amountIn, swap.amountOut) = (p.fee, p.amountInMaximum, p.amountOut);
        swap.exactOut = true;
    }

    /// An exact-output path runs backwards, from the token bought.
    function _checkPath(SwapCall calldata call_, Swap memory swap, uint256 index, Venue memory venue)
        private
        view
    {
        bytes memory path = swap.path;
        if (path.length != DIRECT_PATH && path.length != WETH_PATH) {
            revert IBasketZapper.BadSwap(index, "path");
        }
        address first = _addressAt(path, 0);
        address second = _addressAt(path, HOP_BYTES);
        address last = _addressAt(path, path.length - ADDRESS_BYTES);
        _requireTokens(call_, swap.exactOut ? last : first, swap.exactOut ? first : last, index);
        _requirePool(venue.factory, first, second, _feeAt(path, ADDRESS_BYTES), index);
        if (path.length == WETH_PATH) {
            if (second != venue.weth) revert IBasketZapper.BadSwap(index, "path");
            _requirePool(venue.factory, second, last, _feeAt(path, DIRECT_PATH), index);
        }
    }

    function _requireSelf(address recipient, uint256 index) private view {
        if (recipient != address(this)) revert IBasketZapper.BadSwap(index, "recipient");
    }

    function _requireTokens(SwapCall calldata call_, address tokenIn, address tokenOut, uint256 index)
        private
        pure
    {
        if (tokenIn != call_.tokenIn || tokenOut != call_.tokenOut) {
            revert IBasketZapper.BadSwap(index, "tokens");
        }
    }

    function _requirePool(address factory, address a, address b, uint24 fee, uint256 index) private view {
        if (IUniswapV3Factory(factory).getPool(a, b, fee) == address(0)) {
            revert IBasketZapper.BadSwap(index, "pool");
        }
    }

    function _addressAt(bytes memory path, uint256 offset) private pure returns (address value) {
        assembly ("memory-safe") {
            value := shr(96, mload(add(add(path, 32), offset)))
        }
    }

    function _feeAt(bytes memory path, uint256 offset) private pure returns (uint24 value) {
        assembly ("memory-safe") {
            value := shr(232, mload(add(add(path, 32), offset)))
        }
    }
}
