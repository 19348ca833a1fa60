// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {TestToken} from "../support/TestToken.sol";
import {VaultFixture} from "./VaultFixture.sol";
import {IBasketVault} from "../../src/interfaces/IBasketVault.sol";
import {GuardedTransfer} from "../../src/libraries/GuardedTransfer.sol";

/// Rule 8: whatever one token does, everybody gets the others and keeps a claim on that one.
contract RedeemInKindTest is VaultFixture {
    TestToken private bad;

    function setUp() public {
        deployVault();
        bad = tokens[1];
        mintShares(alice, 4e18);
    }

    function test_aTokenThatReverts() public {
        bad.setMisbehaviour(TestToken.Misbehaviour.Reverts);
        _assertOnlyTheBadOneIsOwed();
    }

    function test_aTokenThatReturnsFalse() public {
        bad.setMisbehaviour(TestToken.Misbehaviour.ReturnsFalse);
        _assertOnlyTheBadOneIsOwed();
    }

    function test_aTokenThatEatsItsGas() public {
        bad.setMisbehaviour(TestToken.Misbehaviour.BurnsGas);
        _assertOnlyTheBadOneIsOwed();
    }

    function test_aTokenThatRevertsWithABomb() public {
        bad.setMisbehaviour(TestToken.Misbehaviour.RevertsBlob);
        bad.setBlobSize(200_000);
        _assertOnlyTheBadOneIsOwed();
    }

    function test_aPausedToken() public {
        bad.setPaused(true);
        _assertOnlyTheBadOneIsOwed();
    }

    function test_aTokenThatBlocksTheHolder() public {
        bad.setBlocked(alice, true);
        _assertOnlyTheBadOneIsOwed();
    }

    function test_aTokenWhoseCodeIsGone() public {
        bytes memory code = address(bad).code;
        vm.etch(address(bad), "");
        uint256[] memory due = vault.previewRedeem(4e18);
        uint256[] memory got = redeemShares(alice, 4e18);
        assertEq(got[1], 0);
        assertEq(vault.owed(alice, address(bad)), due[1]);
        assertEq(tokens[0].balanceOf(alice), due[0]);
        vm.etch(address(bad), code);
        _assertClaimable(due[1]);
    }

    function test_everyTokenDeadStillBurnsTheSharesForClaims() public {
        for (uint256 i; i < 3; ++i) {
            tokens[i].setMisbehaviour(TestToken.Misbehaviour.BurnsGas);
        }
        uint256[] memory due = vault.previewRedeem(4e18);
        redeemShares(alice, 4e18);
        assertEq(vault.balanceOf(alice), 0);
        for (uint256 i; i < 3; ++i) {
            assertEq(vault.owed(alice, address(tokens[i])), due[i]);
        }
    }

    function test_aTokenThatReturnsNothingOrABlobIsDelivered() public {
        uint256[] memory due = vault.previewRedeem(2e18);
        bad.setMisbehaviour(TestToken.Misbehaviour.ReturnsNothing);
        assertEq(redeemShares(alice, 2e18), due);
        bad.setMisbehaviour(TestToken.Misbehaviour.ReturnsBlob);
        bad.setBlobSize(3_000);
        assertEq(redeemShares(alice, 2e18), due);
        assertEq(bad.balanceOf(alice), 2 * due[1]);
    }

    function test_creditsAddUpAndArePaidOnceToAnyAddress() public {
        bad.setPaused(true);
        uint256 due = vault.previewRedeem(1e18)[1];
        redeemShares(alice, 1e18);
        redeemShares(alice, 1e18);
        assertEq(vault.owed(alice, address(bad)), 2 * due);
        vm.startPrank(alice);
        vm.expectRevert(TestToken.TokenPaused.selector);
        vault.claimOwed(address(bad), bob);
        bad.setPaused(false);
        assertEq(vault.claimOwed(address(bad), bob), 2 * due);
        assertEq(bad.balanceOf(bob), 2 * due);
        vm.expectRevert(IBasketVault.NothingOwed.selector);
        vault.claimOwed(address(bad), bob);
        vm.stopPrank();
    }

    function test_onlyTheCreditorClaims() public {
        bad.setPaused(true);
        redeemShares(alice, 1e18);
        bad.setPaused(false);
        vm.expectRevert(IBasketVault.NothingOwed.selector);
        vm.prank(bob);
        vault.claimOwed(address(bad), bob);
    }

    function test_creditsAreNobodyElsesBacking() public {
        bad.setBlocked(alice, true);
        redeemShares(alice, 4e18);
        uint256[] memory due = vault.previewRedeem(9e18);
        assertEq(redeemShares(seedHolder, 9e18), due);
        uint256 claim = vault.owed(alice, address(bad));
        assertGe(bad.balanceOf(address(vault)), claim + vault.previewRedeem(1e18)[1]);
        vm.prank(alice);
        assertEq(vault.claimOwed(address(bad), bob), claim);
    }

    function test_dustThatBuysNoUnitOfATokenSendsNone() public {
        bad.setMisbehaviour(TestToken.Misbehaviour.Reverts);
        vm.prank(alice);
        uint256[] memory amounts = vault.redeem(1e13, alice); // 1,237 units a share: nothing of this one is due
        assertGt(amounts[0], 0);
        assertEq(amounts[1], 0);
        assertEq(vault.owed(alice, address(bad)), 0);
    }

    /// A caller (or the relayer of one) who supplies too little gas must not turn a sound transfer into a credit.
    function testFuzz_tooLittleGasRevertsEverything(uint256 gas_) public {
        gas_ = bound(gas_, 50_000, 1_200_000);
        vm.prank(alice);
        (bool ok,) = address(vault).call{gas: gas_}(abi.encodeCall(vault.redeem, (4e18, alice)));
        for (uint256 i; i < 3; ++i) {
            assertEq(vault.owed(alice, address(tokens[i])), 0);
        }
        assertEq(vault.balanceOf(alice), ok ? 0 : 4e18);
        assertTrue(ok || gas_ < 1_000_000, "ample gas suffices");
    }

    function test_saysThatTheGasIsTooLittle() public {
        vm.prank(alice);
        (bool ok, bytes memory reason) =
            address(vault).call{gas: 350_000}(abi.encodeCall(vault.redeem, (4e18, alice)));
        assertFalse(ok);
        assertEq(reason, abi.encodePacked(GuardedTransfer.NotEnoughGas.selector));
    }

    function test_aReentrantTokenGainsNothing() public {
        bytes[] memory attempts = new bytes[](4);
        attempts[0] = abi.encodeCall(vault.redeem, (1e18, address(bad)));
        attempts[1] = abi.encodeCall(vault.mint, (1e18, address(bad)));
        attempts[2] = abi.encodeCall(vault.claimOwed, (address(tokens[0]), address(bad)));
        attempts[3] = abi.encodeCall(vault.accrueFee, ());
        vm.prank(alice);
        vault.transfer(address(bad), 1e18); // shares of its own, to have something to redeem
        bad.setMisbehaviour(TestToken.Misbehaviour.Reenters);
        for (uint256 i; i < attempts.length; ++i) {
            skip(1 days);
            bad.setHook(address(vault), attempts[i], false);
            uint256 supply = vault.totalSupply();
            redeemShares(alice, 0.5e18);
            assertFalse(bad.hookSucceeded(), "reentered");
            assertEq(
                bad.hookResult(), abi.encodePacked(ReentrancyGuard.ReentrancyGuardReentrantCall.selector)
            );
            assertGt(vault.totalSupply(), supply - 0.5e18); // burnt once, the fee of the day apart
            assertEq(vault.balanceOf(address(bad)), 1e18);
        }
    }

    function _assertOnlyTheBadOneIsOwed() private {
        uint256[] memory due = vault.previewRedeem(4e18);
        uint256[] memory got = redeemShares(alice, 4e18);
        assertEq(got[0], due[0]);
        assertEq(got[1], 0);
        assertEq(got[2], due[2]);
        assertEq(tokens[0].balanceOf(alice), due[0]);
        assertEq(tokens[2].balanceOf(alice), due[2]);
        assertEq(vault.balanceOf(alice), 0);
        assertEq(vault.owed(alice, address(bad)), due[1]);
        bad.setMisbehaviour(TestToken.Misbehaviour.None);
        bad.setPaused(false);
        _assertClaimable(due[1]);
    }

    function _assertClaimable(uint256 amount) private {
        uint256 before = bad.balanceOf(bob);
        vm.prank(alice);
        assertEq(vault.claimOwed(address(bad), bob), amount);
        assertEq(bad.balanceOf(bob) - before, amount);
    }
}
