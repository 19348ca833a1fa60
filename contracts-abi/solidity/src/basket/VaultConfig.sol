// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IBasketVault} from "../interfaces/IBasketVault.sol";

/// What a vault is built from. All of it is checked at construction and immutable afterwards.
struct VaultConfig {
    string name;
    string symbol;
    IBasketVault.Constituent[] constituents;
    uint16 managementFeeBps; // 50 to 95 a year
    address registry; // names the treasury that fee shares go to
    address seedTo;
    uint256 seedShares; // at least one whole share, which is locked for ever
    address uniswapFactory;
    address usdg;
    address weth;
    address wethUsdgPool; // prices the constituents that trade against WETH; zero where there are none
    uint256[] statedPrices; // dollars x 1e18 per whole token, in the order of constituents; zero only without a pool
}
