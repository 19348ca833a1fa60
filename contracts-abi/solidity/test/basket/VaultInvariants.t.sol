// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Test} from "../support/Test.sol";
import {TestToken} from "../support/TestToken.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {VaultFixture} from "./VaultFixture.sol";

/// Anybody doing anything to one vault, in any order and at any time, with tokens that fail now and then.
contract VaultActions is Test {
    BasketVault private immutable vault;
    TestToken[] private tokens;
    address[] public actors;
    mapping(TestToken => uint256) public paidIn;
    mapping(TestToken => uint256) public paidOut;
    uint256 public refusedRedemptions;
    int256 public claims; // shares minted less shares burnt, each times the index of its moment
    uint256 public steps;

    constructor(BasketVault vault_, TestToken[] memory tokens_) {
        vault = vault_;
        tokens = tokens_;
        for (uint160 i = 1; i <= 3; ++i) {
            actors.push(address(0xac0000 + i));
        }
    }

    function mint(uint256 who, uint256 shares) external {
        address actor = actors[who % 3];
        shares = bound(shares, 1, 1e27);
        uint256[] memory amounts = vault.previewMint(shares);
        for (uint256 i; i < tokens.length; ++i) {
            if (tokens[i].paused() || tokens[i].blocked(actor)) return;
        }
        vm.startPrank(actor);
        for (uint256 i; i < tokens.length; ++i) {
            tokens[i].mint(actor, amounts[i]);
            tokens[i].approve(address(vault), amounts[i]);
            paidIn[tokens[i]] += amounts[i];
        }
        vault.mint(shares, actor);
        vm.stopPrank();
        claims += int256(shares * vault.feeIndex());
        ++steps;
    }

    function redeem(uint256 who, uint256 shares) external {
        address actor = actors[who % 3];
        uint256 held = vault.balanceOf(actor);
        if (held == 0) return;
        shares = bound(shares, 1, held);
        vm.prank(actor);
        try vault.redeem(shares, actor) returns (uint256[] memory amounts) {
            claims -= int256(shares * vault.feeIndex());
            ++steps;
            for (uint256 i; i < tokens.length; ++i) {
                paidOut[tokens[i]] += amounts[i];
            }
        } catch {
            ++refusedRedemptions;
        }
    }

    function claim(uint256 who, uint256 token, uint256 to) external {
        address actor = actors[who % 3];
        TestToken claimed = tokens[token % tokens.length];
        vm.prank(actor);
        try vault.claimOwed(address(claimed), actors[to % 3]) returns (uint256 amount) {
            paidOut[claimed] += amount;
        } catch {}
    }

    function transfer(uint256 from, uint256 to, uint256 shares) external {
        address actor = actors[from % 3];
        shares = bound(shares, 0, vault.balanceOf(actor));
        vm.prank(actor);
        vault.transfer(actors[to % 3], shares);
    }

    function accrue() external {
        vault.accrueFee();
        ++steps;
    }

    function donate(uint256 token, uint256 amount) external {
        TestToken given = tokens[token % tokens.length];
        amount = bound(amount, 0, 1e30);
        given.mint(address(vault), amount);
        paidIn[given] += amount;
    }

    function wait(uint256 time) external {
        skip(bound(time, 0, 60 days));
    }

    function fail(uint256 token, uint256 kind) external {
        TestToken failing = tokens[token % tokens.length];
        failing.setPaused(kind % 5 == 0);
        failing.setBlocked(actors[kind % 3], kind % 7 < 3);
    }

    function owedOf(TestToken token) external view returns (uint256 total) {
        for (uint256 i; i < actors.length; ++i) {
            total += vault.owed(actors[i], address(token));
        }
    }
}

contract VaultInvariantsTest is VaultFixture {
    VaultActions private actions;
    uint256[] private seeded;

    function setUp() public {
        deployVault();
        actions = new VaultActions(vault, tokens);
        for (uint256 i; i < tokens.length; ++i) {
            seeded.push(tokens[i].balanceOf(address(vault)));
        }
        targetContract(address(actions));
    }

    /// Invariant 1, with conservation: what came in and did not go out is there.
    function invariant_everyBalanceCoversUnitsTimesSupplyAndCredits() public view {
        uint256 index = vault.feeIndex();
        for (uint256 i; i < tokens.length; ++i) {
            uint256 balance = tokens[i].balanceOf(address(vault));
            assertEq(balance, seeded[i] + actions.paidIn(tokens[i]) - actions.paidOut(tokens[i]));
            uint256 backing = Math.mulDiv(
                vault.constituents()[i].genesisUnits * vault.totalSupply(), index, 1e45, Math.Rounding.Ceil
            );
            // The ceiling of a product that the balance covers as a real number.
            assertGe(balance + 1, backing + actions.owedOf(tokens[i]));
        }
    }

    /// Rule 8: whatever tokens do, no redemption is ever refused.
    function invariant_redeemingInKindNeverFails() public view {
        assertEq(actions.refusedRedemptions(), 0);
    }

    /// Invariant 4: the fee takes exactly what the index frees. All claims together are those of the mints and burns,
    /// whatever was accrued when; each accrual loses less than one base unit of a share to rounding.
    function invariant_feesAddUpToTheIndexWhenever() public {
        vault.accrueFee();
        int256 all = int256(vault.totalSupply() * vault.feeIndex());
        int256 expected = int256(SEED_SHARES * 1e27) + actions.claims();
        assertTrue(all <= expected, "more claims than the index allows");
        assertTrue(all >= expected - int256(actions.steps() + 2) * 1e27, "a fee was worn away");
    }
}
