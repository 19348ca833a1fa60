// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../../src/Constants.sol";
import {VaultFixture} from "./VaultFixture.sol";
import {VaultHandler} from "./VaultHandler.sol";

/// Invariants 1 to 4 of protocol-rules.md over random lives of one vault. Whatever a single call must keep (a round
/// trip without profit, a donation without effect, a redemption that is never refused) the handler asserts itself.
contract VaultInvariantsTest is VaultFixture {
    VaultHandler private handler;
    uint256[] private units;
    address[] private holders;

    function setUp() public {
        deployVault();
        handler = new VaultHandler(vault, tokens);
        holders = handler.holders();
        // What a token would need in order to redeem from within a transfer.
        for (uint256 i; i < tokens.length; ++i) {
            units.push(vault.constituents()[i].genesisUnits);
            vm.prank(seedHolder);
            vault.transfer(address(tokens[i]), 1e18);
        }
        targetContract(address(handler));
        bytes4[] memory selectors = new bytes4[](16);
        selectors[0] = VaultHandler.mint.selector;
        selectors[1] = VaultHandler.redeem.selector;
        selectors[2] = VaultHandler.redeemStarved.selector;
        selectors[3] = VaultHandler.claim.selector;
        selectors[4] = VaultHandler.transfer.selector;
        selectors[5] = VaultHandler.transferFrom.selector;
        selectors[6] = VaultHandler.permit.selector;
        selectors[7] = VaultHandler.roundTrip.selector;
        selectors[8] = VaultHandler.accrue.selector;
        selectors[9] = VaultHandler.donate.selector;
        selectors[10] = VaultHandler.wait.selector;
        selectors[11] = VaultHandler.reenter.selector;
        selectors[12] = VaultHandler.trespass.selector;
        selectors[13] = VaultHandler.misbehave.selector;
        selectors[14] = VaultHandler.block_.selector;
        selectors[15] = VaultHandler.mintOnPayment.selector;
        targetSelectors(address(handler), selectors);
    }

    /// Invariant 1 after every call. One function, since each would run a campaign of its own.
    function invariant_noShareIsUnbacked() public view {
        _everyBalanceCoversUnitsTimesSupplyAndCredits();
    }

    /// Sums that no later call could set right again are taken once, at the end of a life.
    function afterInvariant() public {
        _sharesAddUp();
        _feesAddUpToTheIndex();
        handler.report(vm, "vault", targetSelectors());
    }

    /// Invariant 1, with conservation: what came in and did not go out is there.
    function _everyBalanceCoversUnitsTimesSupplyAndCredits() private view {
        uint256 index = vault.feeIndex();
        uint256 supply = vault.totalSupply();
        for (uint256 i; i < tokens.length; ++i) {
            uint256 balance = tokens[i].balanceOf(address(vault));
            assertEq(balance, handler.holds(tokens[i]), "moved outside the books");
            uint256 owed;
            for (uint256 j; j < holders.length; ++j) {
                owed += vault.owed(holders[j], address(tokens[i]));
            }
            assertEq(owed, handler.credits(tokens[i]), "credits");
            uint256 backing = Math.mulDiv(units[i] * supply, index, 1e45, Math.Rounding.Ceil);
            // The ceiling of a product that the balance covers as a real number.
            assertGe(balance + 1, backing + owed, "a share is unbacked");
        }
    }

    function _sharesAddUp() private view {
        uint256 shares =
            vault.balanceOf(Constants.DEAD) + vault.balanceOf(seedHolder) + vault.balanceOf(treasury);
        for (uint256 i; i < tokens.length; ++i) {
            shares += vault.balanceOf(address(tokens[i]));
        }
        for (uint256 i; i < holders.length; ++i) {
            shares += vault.balanceOf(holders[i]);
        }
        assertEq(shares, vault.totalSupply(), "shares of nobody");
        assertGe(vault.balanceOf(Constants.DEAD), 1e18, "the locked share moved");
    }

    /// Invariant 4: the fee takes exactly what the index frees. All claims together are those of the mints and burns,
    /// whatever was accrued when; each accrual loses less than one base unit of a share to rounding.
    function _feesAddUpToTheIndex() private {
        vault.accrueFee();
        int256 all = int256(vault.totalSupply() * vault.feeIndex());
        int256 expected = int256(SEED_SHARES * 1e27) + handler.claims();
        assertTrue(all <= expected, "more claims than the index allows");
        assertTrue(all >= expected - int256(handler.steps() + 2) * 1e27, "a fee was worn away");
    }
}
