// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Test} from "../support/Test.sol";
import {TestToken} from "../support/TestToken.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";

/// What a vault must hold and owe after everything that was done to it, kept apart from the vault.
abstract contract VaultBooks is Test {
    uint256 internal constant HOLDERS = 3;

    BasketVault internal immutable vault;
    TestToken[] internal tokens;
    address[] private _actors;
    uint256[] private _keys;

    mapping(TestToken => uint256) public holds; // to the last base unit
    mapping(TestToken => uint256) public credits;
    int256 public claims; // shares minted less shares burnt, each times the index of its moment
    uint256 public steps; // calls that accrue, each of which may lose a base unit of a share

    constructor(BasketVault vault_, TestToken[] memory tokens_) {
        vault = vault_;
        tokens = tokens_;
        string[3] memory names = ["first holder", "second holder", "third holder"];
        for (uint256 i; i < HOLDERS; ++i) {
            (address who, uint256 key) = makeAddrAndKey(names[i]);
            _actors.push(who);
            _keys.push(key);
        }
        for (uint256 i; i < tokens_.length; ++i) {
            holds[tokens_[i]] = tokens_[i].balanceOf(address(vault_));
        }
    }

    function holders() external view returns (address[] memory) {
        return _actors;
    }

    function _actor(uint256 who) internal view returns (address) {
        return _actors[who % HOLDERS];
    }

    function _keyOf(uint256 who) internal view returns (uint256) {
        return _keys[who % HOLDERS];
    }

    // ---------------------------------------------------------------- entries

    function _noteMint(uint256[] memory amounts, uint256 shares) internal {
        for (uint256 i; i < tokens.length; ++i) {
            holds[tokens[i]] += amounts[i];
        }
        claims += int256(shares * vault.feeIndex());
        ++steps;
    }

    /// Checks one redemption token by token before it is entered.
    function _noteRedeem(
        address actor,
        address receiver,
        uint256[] memory due,
        uint256[] memory amounts,
        uint256[] memory owedBefore,
        uint256 shares
    ) internal {
        for (uint256 i; i < tokens.length; ++i) {
            TestToken token = tokens[i];
            bool moved = _moves(token, address(vault), receiver);
            assertEq(amounts[i], moved ? due[i] : 0, "delivered other than the token allows");
            uint256 credit = due[i] - amounts[i];
            assertEq(vault.owed(actor, address(token)), owedBefore[i] + credit, "credited otherwise");
            credits[token] += credit;
            if (!_lies(token, address(vault), receiver)) holds[token] -= amounts[i];
        }
        claims -= int256(shares * vault.feeIndex());
        ++steps;
    }

    function _noteClaim(TestToken token, address receiver, uint256 amount) internal {
        credits[token] -= amount;
        if (!_lies(token, address(vault), receiver)) holds[token] -= amount;
    }

    function _donate(uint256 token, uint256 amount) internal {
        TestToken given = tokens[token % tokens.length];
        given.mint(address(vault), amount);
        holds[given] += amount;
    }

    function _poke() internal {
        uint256[] memory units = vault.unitsPerShare();
        uint256 supply = vault.totalSupply();
        uint256 feeShares = vault.accrueFee();
        assertEq(vault.totalSupply(), supply + feeShares);
        assertEq(vault.unitsPerShare(), units, "a poke changed the units of a share");
        ++steps;
    }

    /// `shares` minted to, or redeemed by, the actor in `parts`; what it cost or brought in all.
    function _inParts(address actor, uint256 shares, uint256 parts, bool minting)
        internal
        returns (uint256[] memory total)
    {
        total = new uint256[](tokens.length);
        for (uint256 part; part < parts; ++part) {
            uint256 some = part + 1 == parts ? shares : shares / (parts - part);
            shares -= some;
            if (some == 0) continue;
            uint256[] memory amounts;
            uint256[] memory owedBefore = _owedOf(actor);
            if (minting) {
                _fund(actor, some);
                vm.prank(actor);
                amounts = vault.mint(some, actor);
                _noteMint(amounts, some);
            } else {
                uint256[] memory due = vault.previewRedeem(some);
                vm.prank(actor);
                amounts = vault.redeem(some, actor);
                _noteRedeem(actor, actor, due, amounts, owedBefore, some);
            }
            for (uint256 i; i < total.length; ++i) {
                total[i] += amounts[i];
            }
        }
    }

    /// Gives the actor what `shares` cost, approved to the vault.
    function _fund(address actor, uint256 shares) internal returns (uint256[] memory amounts) {
        amounts = vault.previewMint(shares);
        for (uint256 i; i < tokens.length; ++i) {
            tokens[i].mint(actor, amounts[i]);
            vm.prank(actor);
            tokens[i].approve(address(vault), amounts[i]);
        }
    }

    function _held(address actor) internal view returns (uint256[] memory held) {
        held = new uint256[](tokens.length);
        for (uint256 i; i < held.length; ++i) {
            held[i] = tokens[i].balanceOf(actor);
        }
    }

    function _owedOf(address actor) internal view returns (uint256[] memory owed) {
        owed = new uint256[](tokens.length);
        for (uint256 i; i < owed.length; ++i) {
            owed[i] = vault.owed(actor, address(tokens[i]));
        }
    }

    /// The first holder with a credit, from the given token on.
    function _creditor(uint256 token) internal view returns (address, TestToken) {
        for (uint256 i; i < tokens.length; ++i) {
            TestToken candidate = tokens[(token % tokens.length + i) % tokens.length];
            for (uint256 j; j < HOLDERS; ++j) {
                if (vault.owed(_actors[j], address(candidate)) != 0) return (_actors[j], candidate);
            }
        }
        return (address(0), TestToken(address(0)));
    }

    /// A holder who redeemed a whole share while one token refused.
    function _makeCreditor(uint256 who, uint256 token) internal returns (address actor, TestToken failing) {
        actor = _actor(who);
        failing = tokens[token % tokens.length];
        _mendAll();
        _inParts(actor, 1e18, 1, true);
        failing.setMisbehaviour(TestToken.Misbehaviour.Reverts);
        _inParts(actor, 1e18, 1, false);
    }

    // ---------------------------------------------------------------- what a token would do

    /// Answers as a transfer that worked.
    function _moves(TestToken token, address from, address to) internal view returns (bool) {
        if (token.paused() || token.blocked(from) || token.blocked(to)) return false;
        TestToken.Misbehaviour kind = _kindFor(token, from, to);
        return kind != TestToken.Misbehaviour.Reverts && kind != TestToken.Misbehaviour.ReturnsFalse
            && kind != TestToken.Misbehaviour.BurnsGas && kind != TestToken.Misbehaviour.RevertsBlob;
    }

    /// Says that it moved, and did not.
    function _lies(TestToken token, address from, address to) internal view returns (bool) {
        return _kindFor(token, from, to) == TestToken.Misbehaviour.LiesTrue;
    }

    /// Moves, and all of it.
    function _arrives(TestToken token, address from, address to, uint256 amount)
        internal
        view
        returns (bool)
    {
        bool taxed =
            _kindFor(token, from, to) == TestToken.Misbehaviour.FeeOnTransfer && amount >= 100;
        return _moves(token, from, to) && !_lies(token, from, to) && !taxed;
    }

    function _allArrive(address from, uint256[] memory amounts) internal view returns (bool) {
        for (uint256 i; i < tokens.length; ++i) {
            if (!_arrives(tokens[i], from, address(vault), amounts[i])) return false;
        }
        return true;
    }

    function _mend(TestToken token) internal {
        token.setPaused(false);
        token.setMisbehaviour(TestToken.Misbehaviour.None);
        for (uint256 i; i < HOLDERS; ++i) {
            token.setBlocked(_actors[i], false);
        }
    }

    function _mendAll() internal {
        for (uint256 i; i < tokens.length; ++i) {
            _mend(tokens[i]);
        }
    }

    function _kindFor(TestToken token, address from, address to)
        private
        view
        returns (TestToken.Misbehaviour)
    {
        address only = token.misbehavesFor();
        return
            only == address(0) || only == from || only == to
                ? token.misbehaviour()
                : TestToken.Misbehaviour.None;
    }
}
