// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketZapper} from "../../src/basket/BasketZapper.sol";
import {TestToken} from "../support/TestToken.sol";
import {LyingRouter} from "./LyingRouter.sol";
import {ZapperBooks} from "./ZapperBooks.sol";

/// The zapper of the fixture replaced by one whose router lies. Everything else is genuine.
abstract contract LyingRouterFixture is ZapperBooks {
    LyingRouter internal liar;
    address internal thief;

    function deployLiar() internal {
        deployProtocol();
        people = [alice, bob, carol];
        thief = makeAddr("thief");
        liar = new LyingRouter(address(uniFactory), address(weth), thief);
        vm.label(address(liar), "LyingRouter");
        swapRouter = address(liar);
        zapper = new BasketZapper(
            address(usdg), address(weth), swapRouter, address(uniFactory), address(registry), address(pause)
        );
        _stock(usdg, 1e18);
        _stock(alfa.token, alfa.price);
        _stock(bravo.token, bravo.price);
        _stock(charlie.token, charlie.price);
        _stock(delta.token, delta.price);
        _stock(ether_.token, ETH_PRICE);
        // What a router that calls back could hope to spend: all three let the zapper take anything.
        for (uint256 i; i < 3; ++i) {
            vm.startPrank(people[i]);
            usdg.approve(address(zapper), type(uint256).max);
            tech.approve(address(zapper), type(uint256).max);
            mixed.approve(address(zapper), type(uint256).max);
            stock.approve(address(zapper), type(uint256).max);
            vm.stopPrank();
        }
    }

    function _stock(TestToken token, uint256 price) private {
        _give(token, address(liar), 1_000_000 * 10 ** token.decimals());
        liar.list(address(token), price);
    }

    /// What the liar and his friend hold counts as the market's: it went where the trade sent it.
    function _pockets(TestToken token) internal view override returns (uint256) {
        return token.balanceOf(address(liar)) + token.balanceOf(thief);
    }

    function _fundBuy(Trade memory trade) internal override {
        usdg.mint(trade.payer, trade.cash);
    }

    function _fundSale(Trade memory trade) internal virtual override {
        giveShares(trade.vault, trade.payer, trade.shares);
    }

    /// No token of anybody's is open to the router, whatever happened before.
    function _grabNothing() internal {
        address[4] memory victims = [address(zapper), alice, bob, carol];
        TestToken[4] memory tokens = [usdg, alfa.token, bravo.token, TestToken(address(tech))];
        for (uint256 i; i < victims.length; ++i) {
            for (uint256 j; j < tokens.length; ++j) {
                if (tokens[j].balanceOf(victims[i]) == 0) continue;
                try liar.grab(tokens[j], victims[i], 1) {
                    fail("the router could still take");
                } catch {}
            }
        }
    }
}
