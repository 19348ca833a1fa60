// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// What the protocol reads of the Uniswap v3 factory.
interface IUniswapV3Factory {
    function getPool(address tokenA, address tokenB, uint24 fee) external view returns (address pool);
}
