// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {HandlerStats} from "../support/HandlerStats.sol";
import {Test} from "../support/Test.sol";
import {TestToken} from "../support/TestToken.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {VaultBooks} from "./VaultBooks.sol";

/// Three holders doing anything to one vault, in any order and at any time, with tokens that fail in every way they
/// know. Nothing here may revert but by a broken rule: the campaign fails on a revert.
contract VaultHandler is VaultBooks, HandlerStats {
    bytes32 private constant PERMIT =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");

    constructor(BasketVault vault_, TestToken[] memory tokens_) VaultBooks(vault_, tokens_) {}

    // ---------------------------------------------------------------- what holders do

    function mint(uint256 who, uint256 to, uint256 shares) external {
        (address actor, address receiver) = (_actor(who), _actor(to));
        shares = bound(shares, 1, 1e27);
        uint256[] memory amounts = _fund(actor, shares);
        if (!_allArrive(actor, amounts)) return _mintRefused(actor, receiver, shares);
        _try("mint");
        uint256 before = vault.balanceOf(receiver);
        vm.prank(actor);
        assertEq(vault.mint(shares, receiver), amounts, "pulled other than the preview said");
        assertEq(vault.balanceOf(receiver), before + shares);
        _noteMint(amounts, shares);
        _succeed("mint");
    }

    /// A token that does not arrive whole takes the mint down with it.
    function _mintRefused(address actor, address receiver, uint256 shares) private {
        _try("mint refused by a token");
        uint256 supply = vault.totalSupply();
        vm.prank(actor);
        try vault.mint(shares, receiver) {
            fail("minted against a token that did not arrive");
        } catch {
            assertEq(vault.totalSupply(), supply);
            _succeed("mint refused by a token");
        }
    }

    /// The vault asks this contract to pay. It pays in full, a unit too little, or not before it has tried the doors.
    function mintOnPayment(uint256 to, uint256 shares, uint256 manner, uint256 token) external {
        address receiver = _actor(to);
        shares = bound(shares, 1, 1e27);
        uint256[] memory amounts = _fund(address(this), shares);
        bool honest = manner % 3 != 0;
        withheld = honest ? address(0) : address(tokens[token % tokens.length]);
        bool arrives = honest && _allArrive(address(this), amounts);
        string memory name = arrives ? "mintOnPayment" : "mintOnPayment refused for want of payment";
        _try(name);
        uint256 before = vault.balanceOf(receiver);
        try vault.mintOnPayment(shares, receiver) returns (uint256[] memory paid) {
            assertTrue(arrives, "minted for less than the amounts due");
            assertEq(paid, amounts);
            assertEq(vault.balanceOf(receiver), before + shares);
            _noteMint(amounts, shares);
        } catch {
            assertFalse(arrives, "a paid mint failed");
            assertEq(vault.balanceOf(receiver), before);
        }
        _succeed(name);
    }

    address private withheld; // the token of which a unit is kept back

    function payForMint(address[] calldata asked, uint256[] calldata amounts) external {
        assertEq(msg.sender, address(vault));
        try vault.mint(1, address(this)) {
            fail("minted in the middle of a mint");
        } catch {}
        try vault.accrueFee() {
            fail("accrued in the middle of a mint");
        } catch {}
        for (uint256 i; i < asked.length; ++i) {
            uint256 due = amounts[i] - (asked[i] == withheld ? 1 : 0);
            // Whether it moved anything is for the vault to see.
            (bool ok,) = asked[i].call(abi.encodeCall(TestToken.transfer, (address(vault), due)));
            ok;
        }
    }

    /// Rule 8: never refused, whatever the tokens do; what one does not move is credited to the last unit.
    function redeem(uint256 who, uint256 to, uint256 shares) external {
        (address actor, address receiver) = (_actor(who), _actor(to));
        uint256 held = vault.balanceOf(actor);
        if (held == 0) return;
        _try("redeem");
        shares = bound(shares, 1, held);
        uint256[] memory due = vault.previewRedeem(shares);
        uint256[] memory owedBefore = _owedOf(actor);
        vm.prank(actor);
        uint256[] memory amounts = vault.redeem(shares, receiver);
        _noteRedeem(actor, receiver, due, amounts, owedBefore, shares);
        _succeed("redeem");
    }

    /// Too little gas undoes everything, or changes nothing: it never turns a delivery into a credit.
    function redeemStarved(uint256 who, uint256 shares, uint256 gas_) external {
        address actor = _actor(who);
        uint256 held = vault.balanceOf(actor);
        if (held == 0) return;
        _try("redeem starved of gas");
        _mendAll();
        shares = bound(shares, 1, held);
        uint256[] memory due = vault.previewRedeem(shares);
        uint256[] memory owedBefore = _owedOf(actor);
        vm.prank(actor);
        try vault.redeem{gas: bound(gas_, 30_000, 1_500_000)}(shares, actor) returns (
            uint256[] memory amounts
        ) {
            assertEq(amounts, due);
            _noteRedeem(actor, actor, due, amounts, owedBefore, shares);
        } catch {
            assertEq(vault.balanceOf(actor), held, "a failed redemption burnt shares");
            _succeed("redeem starved of gas");
        }
        assertEq(_owedOf(actor), owedBefore, "starved into a credit");
    }

    /// Whoever is owed something first gets it, once the token works again.
    function claim(uint256 token, uint256 to, bool mended) external {
        (address creditor, TestToken owed) = _creditor(token);
        if (creditor == address(0)) (creditor, owed) = _makeCreditor(to, token);
        if (mended) _mend(owed);
        address receiver = _actor(to);
        uint256 credit = vault.owed(creditor, address(owed));
        bool moves = _moves(owed, address(vault), receiver);
        _try(moves ? "claim" : "claim refused by a token");
        uint256 before = owed.balanceOf(receiver);
        vm.prank(creditor);
        try vault.claimOwed(address(owed), receiver) returns (uint256 amount) {
            assertTrue(moves, "claimed from a token that refuses");
            assertEq(amount, credit);
            _noteClaim(owed, receiver, amount);
            if (_arrives(owed, address(vault), receiver, amount)) {
                assertEq(owed.balanceOf(receiver), before + amount);
            }
            assertEq(vault.owed(creditor, address(owed)), 0);
            _succeed("claim");
        } catch {
            assertFalse(moves, "a claim failed though the token works");
            assertEq(vault.owed(creditor, address(owed)), credit, "a failed claim took the credit");
            _succeed("claim refused by a token");
        }
    }

    function transfer(uint256 from, uint256 to, uint256 shares) external {
        _try("transfer");
        address actor = _actor(from);
        shares = bound(shares, 0, vault.balanceOf(actor));
        vm.prank(actor);
        assertTrue(vault.transfer(_actor(to), shares));
        _succeed("transfer");
    }

    function transferFrom(uint256 from, uint256 to, uint256 shares) external {
        _try("approve and transferFrom");
        (address actor, address spender) = (_actor(from), _actor(from % HOLDERS + 1));
        shares = bound(shares, 0, vault.balanceOf(actor));
        vm.prank(actor);
        vault.approve(spender, shares);
        vm.prank(spender);
        assertTrue(vault.transferFrom(actor, _actor(to), shares));
        _succeed("approve and transferFrom");
    }

    function permit(uint256 from, uint256 shares, uint256 deadline) external {
        _try("permit");
        (address actor, address spender) = (_actor(from), _actor(from % HOLDERS + 1));
        shares = bound(shares, 0, vault.balanceOf(actor));
        deadline = bound(deadline, vm.getBlockTimestamp(), type(uint256).max);
        bytes32 words = keccak256(abi.encode(PERMIT, actor, spender, shares, vault.nonces(actor), deadline));
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", vault.DOMAIN_SEPARATOR(), words));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(_keyOf(from), digest);
        vault.permit(actor, spender, shares, deadline, v, r, s);
        vm.prank(spender);
        assertTrue(vault.transferFrom(actor, spender, shares));
        try vault.permit(actor, spender, shares, deadline, v, r, s) {
            fail("a permit was used twice");
        } catch {}
        _succeed("permit");
    }

    /// Invariant 2, in one block or over days, in parts or whole: no token comes out in a larger amount than it went in.
    function roundTrip(uint256 who, uint256 shares, uint256 parts, uint256 time, bool mintInParts) external {
        _try("mint then redeem");
        _mendAll();
        address actor = _actor(who);
        parts = bound(parts, 1, 4);
        shares = bound(shares, parts, 1e24);
        uint256[] memory had = _held(actor);
        uint256[] memory paid = _inParts(actor, shares, mintInParts ? parts : 1, true);
        if (time % 2 == 1) skip(bound(time, 0, 2 days));
        if (time % 3 == 0) _poke();
        uint256[] memory got = _inParts(actor, shares, mintInParts ? 1 : parts, false);
        for (uint256 i; i < tokens.length; ++i) {
            assertLe(got[i], paid[i], "a round trip made a profit");
            assertEq(tokens[i].balanceOf(actor), had[i] + got[i]);
        }
        _succeed("mint then redeem");
    }

    // ---------------------------------------------------------------- what anybody does

    /// Invariant 4: a poke changes no unit of anybody's claim.
    function accrue() external {
        _try("accrueFee");
        _poke();
        _succeed("accrueFee");
    }

    /// Invariant 3: a gift changes no unit, no share and no preview.
    function donate(uint256 token, uint256 amount, uint256 shares) external {
        _try("donate");
        shares = bound(shares, 1, 1e27);
        bytes32 before = keccak256(
            abi.encode(
                vault.previewMint(shares), vault.previewRedeem(shares), vault.totalSupply(), vault.feeIndex()
            )
        );
        _donate(token, bound(amount, 0, 1e30));
        bytes32 afterwards = keccak256(
            abi.encode(
                vault.previewMint(shares), vault.previewRedeem(shares), vault.totalSupply(), vault.feeIndex()
            )
        );
        assertEq(before, afterwards, "a donation changed something");
        _succeed("donate");
    }

    function wait(uint256 time) external {
        _try("wait");
        skip(bound(time, 0, 40 days));
        _succeed("wait");
    }

    /// A token calls back from the middle of a redemption, and finds every door shut.
    function reenter(uint256 who, uint256 token, uint256 door) external {
        address actor = _actor(who);
        if (vault.balanceOf(actor) < 1e6) return;
        _try("call back refused");
        _mendAll();
        TestToken caller = tokens[token % tokens.length];
        bytes[4] memory doors = [
            abi.encodeCall(vault.mint, (1, actor)),
            abi.encodeCall(vault.redeem, (1, actor)),
            abi.encodeCall(vault.claimOwed, (address(caller), actor)),
            abi.encodeCall(vault.accrueFee, ())
        ];
        caller.setMisbehaviour(TestToken.Misbehaviour.Reenters);
        caller.setHook(address(vault), doors[door % 4], false);
        uint256 shares = vault.balanceOf(actor) / 2;
        uint256[] memory due = vault.previewRedeem(shares);
        uint256[] memory owedBefore = _owedOf(actor);
        vm.prank(actor);
        uint256[] memory amounts = vault.redeem(shares, actor);
        assertEq(amounts, due);
        if (due[token % tokens.length] != 0) {
            assertFalse(caller.hookSucceeded(), "a door was open");
            bytes4 why = ReentrancyGuard.ReentrancyGuardReentrantCall.selector;
            assertEq(caller.hookResult(), abi.encodePacked(why));
        }
        _noteRedeem(actor, actor, due, amounts, owedBefore, shares);
        _mend(caller);
        _succeed("call back refused");
    }

    /// Calls that ask for what is not theirs.
    function trespass(uint256 who, uint256 kind) external {
        _try("trespass refused");
        address actor = _actor(who);
        uint256 supply = vault.totalSupply();
        bytes[8] memory calls = [
            abi.encodeCall(vault.mint, (0, actor)),
            abi.encodeCall(vault.redeem, (0, actor)),
            abi.encodeCall(vault.redeem, (vault.balanceOf(actor) + 1, actor)),
            abi.encodeCall(vault.redeem, (1, address(0))),
            abi.encodeCall(vault.redeem, (1, address(vault))),
            abi.encodeCall(vault.claimOwed, (address(vault), actor)),
            abi.encodeCall(vault.claimOwed, (address(tokens[0]), address(vault))),
            abi.encodeCall(vault.transferFrom, (_actor(who % HOLDERS + 1), actor, 1e30))
        ];
        vm.prank(actor);
        (bool ok,) = address(vault).call(calls[kind % 8]);
        assertFalse(ok, "a trespass went through");
        assertEq(vault.totalSupply(), supply);
        _succeed("trespass refused");
    }

    // ---------------------------------------------------------------- what tokens do

    /// Most often to everybody, else to one holder.
    function misbehave(uint256 token, uint256 kind, uint256 who) external {
        TestToken failing = tokens[token % tokens.length];
        TestToken.Misbehaviour chosen = TestToken.Misbehaviour(kind % 10);
        if (who % 3 == 0) failing.setMisbehaviourFor(chosen, _actor(who / 3));
        else failing.setMisbehaviour(chosen);
        failing.setBlobSize(bound(who, 32, 100_000)); // less is no answer, and a token that moves without one lies
        _happened("token misbehaves");
    }

    function block_(uint256 token, uint256 kind) external {
        TestToken failing = tokens[token % tokens.length];
        failing.setPaused(kind % 5 == 0);
        failing.setBlocked(_actor(kind), kind % 7 < 3);
        _happened("token pauses or blocks");
    }
}
