// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {TestToken} from "../support/TestToken.sol";
import {IBasketVault} from "../../src/interfaces/IBasketVault.sol";
import {VaultFixture} from "./VaultFixture.sol";

/// What a vault tells of itself: whoever follows a basket by its events must see what happened, and to whom.
contract VaultEventsTest is VaultFixture {
    function setUp() public {
        deployVault();
        mintShares(alice, 4e18);
    }

    function test_a_mint_names_who_paid_what_and_who_got_the_shares() public {
        uint256[] memory amounts = vault.previewMint(2e18);
        vm.startPrank(alice);
        for (uint256 i; i < 3; ++i) {
            tokens[i].mint(alice, amounts[i]);
            tokens[i].approve(address(vault), amounts[i]);
        }
        vm.expectEmit(address(vault));
        emit IBasketVault.Minted(alice, bob, 2e18, amounts);
        vault.mint(2e18, bob);
        vm.stopPrank();
    }

    function test_a_redemption_names_who_gave_the_shares_and_who_got_what() public {
        uint256[] memory amounts = vault.previewRedeem(3e18);
        vm.expectEmit(address(vault));
        emit IBasketVault.Redeemed(alice, bob, 3e18, amounts);
        vm.prank(alice);
        vault.redeem(3e18, bob);
    }

    function test_what_a_token_keeps_back_is_told_as_owed_and_reads_zero_in_the_redemption() public {
        uint256[] memory amounts = vault.previewRedeem(3e18);
        uint256 due = amounts[1];
        tokens[1].setMisbehaviour(TestToken.Misbehaviour.Reverts);
        amounts[1] = 0;
        vm.expectEmit(address(vault));
        emit IBasketVault.TransferOwed(alice, address(tokens[1]), due);
        vm.expectEmit(address(vault));
        emit IBasketVault.Redeemed(alice, bob, 3e18, amounts);
        vm.prank(alice);
        vault.redeem(3e18, bob);

        tokens[1].setMisbehaviour(TestToken.Misbehaviour.None);
        vm.expectEmit(address(vault));
        emit IBasketVault.OwedClaimed(alice, address(tokens[1]), bob, due);
        vm.prank(alice);
        vault.claimOwed(address(tokens[1]), bob);
    }

    function test_an_accrual_names_the_treasury_its_shares_and_the_index() public {
        skip(90 days);
        uint256 supply = vault.totalSupply();
        uint256 index = vault.feeIndex();
        uint256 feeShares = supply * 1e27 / index - supply;
        vm.expectEmit(address(vault));
        emit IBasketVault.FeeAccrued(treasury, feeShares, index);
        assertEq(vault.accrueFee(), feeShares);
    }
}
