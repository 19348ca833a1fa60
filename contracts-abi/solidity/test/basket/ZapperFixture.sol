// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ProtocolFixture} from "../support/ProtocolFixture.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {IBasketVault} from "../../src/interfaces/IBasketVault.sol";
import {IBasketZapper, SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {TestToken} from "../support/TestToken.sol";

/// Alice pays and signs, bob receives, carol gets what is left over.
abstract contract ZapperFixture is ProtocolFixture {
    address internal alice = makeAddr("alice");
    address internal bob = makeAddr("bob");
    address internal carol = makeAddr("carol");
    uint256 internal constant WHENEVER = type(uint256).max;

    function fundBuyer(uint256 amount) internal {
        usdg.mint(alice, amount);
        vm.prank(alice);
        usdg.approve(address(zapper), amount);
    }

    function fundSeller(BasketVault vault, uint256 shares) internal {
        giveShares(vault, alice, shares);
        vm.prank(alice);
        vault.approve(address(zapper), shares);
    }

    function buy(BasketVault vault, uint256 amountIn, uint256 minShares, SwapCall[] memory swaps)
        internal
        returns (uint256 shares, uint256 gross, uint256 fee)
    {
        vm.prank(alice);
        return zapper.buy(address(vault), amountIn, minShares, swaps, bob, carol, WHENEVER);
    }

    function buyExact(BasketVault vault, uint256 shares, uint256 maxUsdg, SwapCall[] memory swaps)
        internal
        returns (uint256 gross, uint256 fee)
    {
        vm.prank(alice);
        return zapper.buyExact(address(vault), shares, maxUsdg, swaps, bob, carol, WHENEVER);
    }

    function sell(BasketVault vault, uint256 shares, uint256 minUsdg, SwapCall[] memory swaps)
        internal
        returns (uint256 net, uint256 gross, uint256 fee)
    {
        vm.prank(alice);
        return zapper.sell(address(vault), shares, minUsdg, swaps, bob, carol, WHENEVER);
    }

    /// Exact inputs that spend `budget` USDG on the vault's constituents by their weight; USDG's own part stays.
    function spendByWeight(BasketVault vault, uint256 budget)
        internal
        view
        returns (SwapCall[] memory swaps)
    {
        IBasketVault.Constituent[] memory parts = vault.constituents();
        uint256[] memory prices = oracle.spotPrices(address(vault));
        uint256 count;
        for (uint256 i; i < parts.length; ++i) {
            if (parts[i].token != address(usdg)) ++count;
        }
        swaps = new SwapCall[](count);
        uint256 next;
        for (uint256 i; i < parts.length; ++i) {
            if (parts[i].token == address(usdg)) continue;
            uint256 dollars = parts[i].genesisUnits * prices[i] / 10 ** vault.tokenDecimals()[i];
            swaps[next++] = exactInputBuy(assetOf(parts[i].token), budget * dollars / 100e18);
        }
    }

    function one(SwapCall memory swap) internal pure returns (SwapCall[] memory swaps) {
        swaps = new SwapCall[](1);
        swaps[0] = swap;
    }

    /// Nothing stays in the zapper, and nobody keeps an allowance from it (rule 6).
    function assertZapperEmpty() internal view {
        address[6] memory tokens = [
            address(usdg),
            address(weth),
            address(alfa.token),
            address(bravo.token),
            address(charlie.token),
            address(delta.token)
        ];
        address[5] memory spenders = [swapRouter, address(tech), address(mixed), address(stock), alice];
        for (uint256 i; i < tokens.length; ++i) {
            assertEq(TestToken(tokens[i]).balanceOf(address(zapper)), 0, "left over");
            for (uint256 j; j < spenders.length; ++j) {
                assertEq(TestToken(tokens[i]).allowance(address(zapper), spenders[j]), 0, "allowance");
            }
        }
        assertEq(tech.balanceOf(address(zapper)), 0);
        assertEq(mixed.balanceOf(address(zapper)), 0);
        assertEq(stock.balanceOf(address(zapper)), 0);
        assertEq(address(zapper).balance, 0);
    }

    function vaultNamed(uint256 choice) internal view returns (BasketVault) {
        return choice % 3 == 0 ? tech : choice % 3 == 1 ? mixed : stock;
    }

    function badSwap(uint256 index, string memory why) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IBasketZapper.BadSwap.selector, index, why);
    }
}
