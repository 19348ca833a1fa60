// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {VaultFixture} from "./VaultFixture.sol";
import {BasketRegistry} from "../../src/basket/BasketRegistry.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {IBasketRegistry} from "../../src/interfaces/IBasketRegistry.sol";

contract BasketRegistryTest is VaultFixture {
    BasketVault private second;

    function setUp() public {
        deployVault();
        second = foundVault(plainConfig());
        vm.startPrank(owner);
        registry.appendGenesis(basket("ONE", address(vault)));
    }

    function test_aGenesisBasketIsListedAtOnceAndWhole() public view {
        IBasketRegistry.Basket memory read = registry.basketOf("ONE");
        assertEq(keccak256(abi.encode(read)), keccak256(abi.encode(basket("ONE", address(vault)))));
        assertEq(keccak256(abi.encode(registry.basketOfVault(address(vault)))), keccak256(abi.encode(read)));
        assertEq(registry.baskets().length, 1);
        assertEq(registry.basketCount(), 1);
        assertTrue(registry.isVault(address(vault)));
        assertTrue(registry.ordersEnabled(address(vault)));
    }

    function test_theEventNamesThePlaceInTheList() public {
        vm.expectEmit(address(registry));
        emit IBasketRegistry.BasketAppended("TWO", address(second), 1);
        registry.appendGenesis(basket("TWO", address(second)));
    }

    function test_theTimelockIsToldBeforeItRuns() public {
        vm.expectEmit(address(registry));
        emit IBasketRegistry.Sealed();
        registry.seal();
        vm.expectEmit(address(registry));
        emit IBasketRegistry.BasketProposed("TWO", address(second), uint48(block.timestamp + 7 days));
        registry.propose(basket("TWO", address(second)));
    }

    function test_aNewTreasuryIsTold() public {
        vm.expectEmit(address(registry));
        emit IBasketRegistry.TreasuryChanged(bob);
        registry.setTreasury(bob);
        vm.expectEmit();
        emit IBasketRegistry.TreasuryChanged(alice);
        new BasketRegistry(owner, alice);
    }

    function test_whatIsNotListedIsUnknown() public {
        vm.expectRevert(abi.encodeWithSelector(IBasketRegistry.UnknownTicker.selector, "TWO"));
        registry.basketOf("TWO");
        vm.expectRevert(abi.encodeWithSelector(IBasketRegistry.UnknownVault.selector, address(second)));
        registry.basketOfVault(address(second));
        assertFalse(registry.isVault(address(second)));
        assertFalse(registry.ordersEnabled(address(second)));
    }

    function test_ordersCanBeOffForABasket() public {
        IBasketRegistry.Basket memory entry = basket("TWO", address(second));
        entry.ordersEnabled = false;
        registry.appendGenesis(entry);
        assertTrue(registry.isVault(address(second)));
        assertFalse(registry.ordersEnabled(address(second)));
    }

    function test_onlyTheOwnerWrites() public {
        vm.stopPrank();
        bytes memory refusal = abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, alice);
        vm.startPrank(alice);
        vm.expectRevert(refusal);
        registry.appendGenesis(basket("TWO", address(second)));
        vm.expectRevert(refusal);
        registry.seal();
        vm.expectRevert(refusal);
        registry.propose(basket("TWO", address(second)));
        vm.expectRevert(refusal);
        registry.append("TWO");
        vm.expectRevert(refusal);
        registry.setTreasury(alice);
    }

    function test_afterTheSealNothingIsAppendedAtOnce() public {
        registry.seal();
        assertTrue(registry.isSealed());
        vm.expectRevert(IBasketRegistry.AlreadySealed.selector);
        registry.appendGenesis(basket("TWO", address(second)));
        vm.expectRevert(IBasketRegistry.AlreadySealed.selector);
        registry.seal();
    }

    function test_beforeTheSealNothingIsProposed() public {
        vm.expectRevert(IBasketRegistry.NotSealed.selector);
        registry.propose(basket("TWO", address(second)));
    }

    function test_aProposalWaitsSevenDaysToTheSecond() public {
        registry.seal();
        uint48 ripe = uint48(block.timestamp + 7 days);
        registry.propose(basket("TWO", address(second)));
        (IBasketRegistry.Basket memory waiting, uint48 appendableAt) = registry.proposalOf("TWO");
        assertEq(waiting.vault, address(second));
        assertEq(appendableAt, ripe);
        vm.warp(ripe - 1);
        vm.expectRevert(abi.encodeWithSelector(IBasketRegistry.TimelockRunning.selector, ripe));
        registry.append("TWO");
        vm.warp(ripe);
        registry.append("TWO");
        assertEq(registry.basketOf("TWO").vault, address(second));
        assertEq(registry.basketCount(), 2);
        (, appendableAt) = registry.proposalOf("TWO");
        assertEq(appendableAt, 0);
        vm.expectRevert(IBasketRegistry.NotProposed.selector);
        registry.append("TWO");
    }

    function test_aProposedBasketIsAppendedWhole() public {
        registry.seal();
        IBasketRegistry.Basket memory proposed = basket("TWO", address(second));
        proposed.ordersEnabled = false;
        registry.propose(proposed);
        skip(7 days);
        registry.append("TWO");
        assertEq(keccak256(abi.encode(registry.basketOf("TWO"))), keccak256(abi.encode(proposed)));
        assertFalse(registry.ordersEnabled(address(second)));
    }

    function test_proposingAgainStartsTheClockAnew() public {
        registry.seal();
        registry.propose(basket("TWO", address(second)));
        uint256 again = block.timestamp + 6 days;
        vm.warp(again);
        registry.propose(basket("TWO", address(second)));
        vm.warp(again + 7 days - 1);
        vm.expectRevert(
            abi.encodeWithSelector(IBasketRegistry.TimelockRunning.selector, uint48(again + 7 days))
        );
        registry.append("TWO");
    }

    function test_neitherATickerNorAVaultIsListedTwice() public {
        vm.expectRevert(IBasketRegistry.AlreadyRegistered.selector);
        registry.appendGenesis(basket("ONE", address(second)));
        vm.expectRevert(IBasketRegistry.AlreadyRegistered.selector);
        registry.appendGenesis(basket("TWO", address(vault)));
        registry.seal();
        vm.expectRevert(IBasketRegistry.AlreadyRegistered.selector);
        registry.propose(basket("ONE", address(second)));
    }

    function test_twoProposalsOfOneVaultListItOnce() public {
        registry.seal();
        registry.propose(basket("TWO", address(second)));
        registry.propose(basket("THREE", address(second)));
        skip(7 days);
        registry.append("TWO");
        vm.expectRevert(IBasketRegistry.AlreadyRegistered.selector);
        registry.append("THREE");
    }

    function test_refusesABasketWithoutATickerOrAVaultOfOurs() public {
        vm.expectRevert(abi.encodeWithSelector(IBasketRegistry.InvalidBasket.selector, "ticker"));
        registry.appendGenesis(basket("", address(second)));
        vm.expectRevert(abi.encodeWithSelector(IBasketRegistry.InvalidBasket.selector, "vault"));
        registry.appendGenesis(basket("TWO", alice));
        BasketRegistry other = new BasketRegistry(owner, treasury);
        vm.expectRevert(abi.encodeWithSelector(IBasketRegistry.InvalidBasket.selector, "vault"));
        other.appendGenesis(basket("TWO", address(second)));
    }

    function test_theTreasuryIsNeverZero() public {
        vm.expectRevert(IBasketRegistry.ZeroTreasury.selector);
        registry.setTreasury(address(0));
        vm.expectRevert(IBasketRegistry.ZeroTreasury.selector);
        new BasketRegistry(owner, address(0));
        registry.setTreasury(bob);
        assertEq(registry.treasury(), bob);
    }
}
