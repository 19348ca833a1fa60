// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {TestToken} from "../support/TestToken.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ZapperFixture} from "./ZapperFixture.sol";

/// A constituent that calls back in the middle of a trade, and a router that somebody left ether in.
contract ZapperReentrancyTest is ZapperFixture {
    function setUp() public {
        deployProtocol();
    }

    function test_aTokenThatCallsBackIntoTheZapperIsRefused() public {
        SwapCall[] memory none;
        bytes[3] memory attempts = [
            abi.encodeCall(zapper.buy, (address(tech), 1e6, 0, none, bob, carol, WHENEVER)),
            abi.encodeCall(zapper.buyExact, (address(tech), 1, 1e6, none, bob, carol, WHENEVER)),
            abi.encodeCall(zapper.sell, (address(tech), 1e15, 0, none, bob, carol, WHENEVER))
        ];
        fundSeller(tech, 3e18);
        for (uint256 i; i < attempts.length; ++i) {
            (SwapCall[] memory swaps,) = quoteSell(tech, 1e18);
            alfa.token.setMisbehaviourFor(TestToken.Misbehaviour.Reenters, address(zapper));
            alfa.token.setHook(address(zapper), attempts[i], false);
            sell(tech, 1e18, 0, swaps);
            assertFalse(alfa.token.hookSucceeded());
            assertEq(
                alfa.token.hookResult(),
                abi.encodePacked(ReentrancyGuard.ReentrancyGuardReentrantCall.selector)
            );
        }
        assertZapperEmpty();
    }

    /// While the vault hands out the constituents, its shares are burnt and its doors shut.
    function test_aTokenThatCallsBackIntoTheVaultIsRefused() public {
        fundSeller(tech, 1e18);
        (SwapCall[] memory swaps,) = quoteSell(tech, 1e18);
        alfa.token.setMisbehaviourFor(TestToken.Misbehaviour.Reenters, address(tech));
        alfa.token.setHook(address(tech), abi.encodeCall(tech.accrueFee, ()), false);
        sell(tech, 1e18, 0, swaps);
        assertFalse(alfa.token.hookSucceeded());
    }

    /// USDG slipped into the zapper while an exact output runs would make its cost, and so the fee, look smaller.
    function test_spendingCannotBeHiddenByAGiftInMidSwap() public {
        (SwapCall[] memory swaps, uint256 gross) = quoteBuy(tech, 5e18);
        fundBuyer(2 * gross);
        alfa.token.setMisbehaviourFor(TestToken.Misbehaviour.Reenters, address(zapper));
        alfa.token.setHook(address(usdg), abi.encodeCall(usdg.mint, (address(zapper), 100e6)), true);
        vm.expectRevert(badSwap(0, "not consumed"));
        buyExact(tech, 5e18, 2 * gross, swaps);
    }

    /// A gift between two sales cannot pass for a redemption either: it only raises what the seller is paid.
    function test_aConstituentSlippedInDuringRedemptionStaysOutOfTheSale() public {
        fundSeller(tech, 1e18);
        (SwapCall[] memory swaps, uint256 gross) = quoteSell(tech, 1e18);
        alfa.token.setMisbehaviourFor(TestToken.Misbehaviour.Reenters, address(tech));
        alfa.token
            .setHook(address(alfa.token), abi.encodeCall(alfa.token.mint, (address(zapper), 7e18)), true);
        (, uint256 got,) = sell(tech, 1e18, 0, swaps);
        assertEq(got, gross);
        assertEq(alfa.token.balanceOf(address(zapper)), 7e18);
    }

    function test_aTokenThatLiesAboutTheRedemptionRevertsTheSale() public {
        fundSeller(tech, 1e18);
        (SwapCall[] memory swaps,) = quoteSell(tech, 1e18);
        alfa.token.setMisbehaviourFor(TestToken.Misbehaviour.LiesTrue, address(tech));
        vm.expectPartialRevert(bytes4(keccak256("PartialRedeem(address)")));
        sell(tech, 1e18, 0, swaps);
        alfa.token.setMisbehaviourFor(TestToken.Misbehaviour.FeeOnTransfer, address(tech));
        vm.expectPartialRevert(bytes4(keccak256("PartialRedeem(address)")));
        sell(tech, 1e18, 0, swaps);
    }

    /// The router pays a WETH input with its own ether when it has enough: the seller keeps the WETH, and no stray
    /// ether can stop a sale.
    function test_etherLeftInTheRouterDoesNotStopASale() public {
        fundSeller(mixed, 10e18);
        (SwapCall[] memory swaps, uint256 gross) = quoteSell(mixed, 10e18);
        vm.deal(swapRouter, 1_000 ether);
        (, uint256 got,) = sell(mixed, 10e18, 0, swaps);
        assertEq(got, gross);
        assertEq(weth.balanceOf(carol), mixed.previewRedeem(10e18)[1]);
        assertZapperEmpty();
    }

    function test_etherLeftInTheRouterDoesNotStopASaleThroughWeth() public {
        fundSeller(tech, 10e18);
        (SwapCall[] memory swaps, uint256 gross) = quoteSell(tech, 10e18);
        vm.deal(swapRouter, 1_000 ether);
        (, uint256 got,) = sell(tech, 10e18, 0, swaps);
        assertEq(got, gross);
        assertZapperEmpty();
    }
}
