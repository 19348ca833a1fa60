// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {TradeBounds} from "../../src/accounts/TradeBounds.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {ISafe, ISafeProxy, ISafeProxyFactory} from "../../src/interfaces/ISafe.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {TestToken} from "../support/TestToken.sol";
import {ISafeOwner} from "./AccountsFixture.sol";
import {KeyActs} from "./KeyActs.sol";

/// What the world does around two hostile keys: the owner, who must always be able to stop them; strangers, who must
/// not be able to do anything; time and the market.
abstract contract OwnersAndStrangers is KeyActs {
    uint256 private _strangers;

    modifier booked(string memory name) {
        _try(name);
        _;
        _turnDay();
    }

    // ---------------------------------------------------------------- the owner

    /// A signed action dies with its grant, and with the next grant too (invariant 14).
    function act_revoke(uint256 seed, uint256 amount) public booked("action after a revoke refused") {
        seed = _dice(seed);
        Sent memory s = _anyAction(seed, amount);
        ownerCalls(address(module), abi.encodeCall(ISessionModule.revoke, (key)));
        _refused(s, ISessionModule.GrantInactive.selector);
        _regrant(seed);
        _refused(s, ISessionModule.WrongNonceSpace.selector);
        _succeed("action after a revoke refused");
    }

    function act_expire(uint256 seed, uint256 amount) public booked("action after its grant's end refused") {
        seed = _dice(seed);
        _pick(seed);
        ISessionModule.GrantTerms memory terms = coverTerms();
        terms.validUntil = uint48(vm.getBlockTimestamp() + bound(seed, 1 minutes, 4 minutes));
        grantAgain(terms);
        _noteGrant();
        ISessionModule.Action memory trade = _trade(seed, amount, true, 0);
        ICoverModule.CoverAction memory cover = _request(seed, amount, 0);
        trade.deadline = cover.deadline = terms.validUntil;
        (Sent memory first, Sent memory second) = (_sign(trade), _sign(cover));
        vm.warp(uint256(terms.validUntil) + 1);
        _turnDay();
        _pick(seed);
        _refused(first, ISessionModule.GrantExpired.selector);
        _refused(second, ISessionModule.GrantExpired.selector);
        _regrant(seed);
        _succeed("action after its grant's end refused");
    }

    /// The Safe changes hands and comes back.
    function act_handOver(uint256 seed, uint256 amount) public booked("action after a hand-over refused") {
        seed = _dice(seed);
        Sent memory s = _anyAction(seed, amount);
        address buyer = address(uint160(uint256(keccak256(abi.encode("buyer", seed)))));
        ownerCalls(account, abi.encodeCall(ISafeOwner.swapOwner, (SENTINEL, owner, buyer)));
        _refused(s, ISessionModule.OwnerChanged.selector);
        // Neither owner can bring a "first" grant through the factory: the new one has another account, the old one
        // has this address and no longer owns it.
        vm.prank(owner);
        (bool ok,) = address(factory).call(abi.encodeCall(factory.openAndGrant, (coverTerms())));
        assertFalse(ok, "a former owner granted");
        ownerCallsAs(buyer, account, abi.encodeCall(ISafeOwner.swapOwner, (SENTINEL, buyer, owner)));
        _assertIntact();
        _succeed("action after a hand-over refused");
    }

    function act_pause(uint256 seed, uint256 amount) public booked("action under a pause refused") {
        seed = _dice(seed);
        Sent memory s = _anyAction(seed, amount);
        bool protocol =
            seed >> 200 & 1 == 0 && vm.getBlockTimestamp() >= uint256(pause.pausedUntil()) + 24 hours;
        if (protocol) {
            vm.prank(guardian);
            pause.pause();
        } else {
            ownerCalls(address(module), abi.encodeCall(ISessionModule.setPaused, (true)));
        }
        _refused(s, ISessionModule.Paused.selector);
        if (protocol) {
            vm.prank(guardian);
            pause.unpause();
        } else {
            ownerCalls(address(module), abi.encodeCall(ISessionModule.setPaused, (false)));
        }
        _succeed("action under a pause refused");
    }

    /// The owner keeps a few dollars' worth of the basket, and the rest elsewhere for a moment (rule 21).
    function act_holdLess(uint256 seed, uint256 left) public booked("cover without a holding refused") {
        seed = _dice(seed);
        Sent memory s = _sign(_request(seed, left, 0));
        uint256 all = covered.balanceOf(account);
        left = Math.min(bound(left, 0, 0.08e18), all);
        ownerCalls(address(covered), abi.encodeCall(covered.transfer, (owner, all - left)));
        (bool ok, bytes memory result) = _submit(s, gasleft());
        (uint256 nav, INavOracle.Invalid reason,) = oracle.tryReferenceNav(address(covered));
        if (TradeBounds.value(left, nav, Math.Rounding.Floor) < 5e6) {
            assertFalse(ok, "cover for one who holds nothing");
            assertEq(
                bytes4(result),
                reason == INavOracle.Invalid.None
                    ? ICoverModule.NotAHolder.selector
                    : INavOracle.NoReference.selector
            );
            _succeed("cover without a holding refused");
        }
        vm.prank(owner);
        covered.transfer(account, all - left);
    }

    // ---------------------------------------------------------------- tokens

    /// A constituent that calls back in the middle of a trade, with something that the key has signed as well.
    function act_reenter(uint256 seed, uint256 amount) public booked("action inside another refused") {
        seed = _dice(seed);
        bool buy = seed >> 10 & 1 == 0;
        Sent memory outer = _sign(_trade(seed | 1 << 8, amount, buy, 0));
        Sent memory inner =
            seed >> 11 & 1 == 0 ? _sign(_request(seed, amount, 0)) : _sign(_trade(seed, amount, !buy, 0));
        foxtrot.token
            .setHook(inner.cover ? address(coverModule) : address(module), inner.payload, seed >> 12 & 1 == 0);
        foxtrot.token.setMisbehaviour(TestToken.Misbehaviour.Reenters);
        _submit(outer, gasleft());
        foxtrot.token.setMisbehaviour(TestToken.Misbehaviour.None);
        assertFalse(_used(inner), "an action ran inside another");
        _succeed("action inside another refused");
    }

    /// A constituent that fails or lies, a USDG that blocks one of the sides or stands still.
    function act_breakToken(uint256 seed, uint256 amount) public booked("trade of a broken token refused") {
        seed = _dice(seed);
        ISessionModule.Action memory trade = _trade(seed | 1 << 8, amount, seed >> 10 & 1 == 0, amount);
        if (trade.fee == 0) trade.fee = 1;
        uint256 way = (seed >> 64) % 10;
        address blocked = [account, relayer, address(zapper)][(seed >> 96) % 3];
        if (way == 7) usdg.setBlocked(blocked, true);
        else if (way == 8) usdg.setPaused(true);
        else if (way == 9) foxtrot.token.setBlocked(address(zapper), true);
        else foxtrot.token.setMisbehaviour(_misbehaviour(way));
        (bool ok,) = _submit(_sign(trade), gasleft());
        if (!ok) _succeed("trade of a broken token refused");
        else assertTrue(way == 2 || way == 6, "went through a broken token"); // moved, and answered oddly
        foxtrot.token.setMisbehaviour(TestToken.Misbehaviour.None);
        usdg.setBlocked(blocked, false);
        usdg.setPaused(false);
        foxtrot.token.setBlocked(address(zapper), false);
    }

    function _misbehaviour(uint256 way) private pure returns (TestToken.Misbehaviour) {
        return [
            TestToken.Misbehaviour.Reverts,
            TestToken.Misbehaviour.ReturnsFalse,
            TestToken.Misbehaviour.ReturnsNothing,
            TestToken.Misbehaviour.LiesTrue,
            TestToken.Misbehaviour.FeeOnTransfer,
            TestToken.Misbehaviour.RevertsBlob,
            TestToken.Misbehaviour.ReturnsBlob
        ][way];
    }

    // ---------------------------------------------------------------- strangers

    /// Everything that a stranger can say about this account, to anyone who might listen (invariant 20).
    function act_strangerMeddles(uint256 seed, uint256 amount) public booked("stranger refused") {
        seed = _dice(seed);
        _pick(seed);
        address stranger = address(uint160(uint256(keccak256(abi.encode("stranger", seed)))));
        bytes32 before = keccak256(abi.encode(usdg.balanceOf(account), module.grantOf(account, key)));
        (address target, bytes memory payload) = _meddle(seed, stranger, amount);
        vm.prank(stranger);
        (bool ok,) = target.call(payload);
        assertFalse(ok, "a stranger was obeyed");
        _assertIntact();
        assertEq(keccak256(abi.encode(usdg.balanceOf(account), module.grantOf(account, key))), before);
        assertEq(module.grantOf(account, stranger).epoch, 0);
        _succeed("stranger refused");
    }

    function _meddle(uint256 seed, address stranger, uint256 amount)
        private
        view
        returns (address target, bytes memory payload)
    {
        ISessionModule.GrantTerms memory terms = coverTerms();
        terms.key = stranger;
        uint256 way = (seed >> 64) % 9;
        target = address(module);
        if (way == 0) return (target, abi.encodeCall(module.firstGrant, (account, owner, terms)));
        if (way == 1) return (target, abi.encodeCall(module.grant, (terms)));
        if (way == 2) return (target, abi.encodeCall(module.countFee, (account, key, 1)));
        if (way == 3) return (address(market), abi.encodeCall(market.cancel, (_aRequest(seed))));
        if (way == 4) {
            payload = abi.encodeCall(
                ISafeProxyFactory.createProxyWithNonce, (safeSingleton, factory.initializerOf(owner), 0)
            );
            return (safeProxyFactory, payload);
        }
        target = account;
        if (way == 5) {
            payload = abi.encodeCall(usdg.transfer, (stranger, amount));
            payload =
                abi.encodeCall(ISafe.execTransactionFromModuleReturnData, (address(usdg), 0, payload, 0));
        } else if (way == 6) {
            payload = _asOwner(owner, account);
        } else if (way == 7) {
            payload = abi.encodeCall(ISafe.enableModule, (stranger));
        } else {
            payload = abi.encodeCall(
                ISafe.setup,
                (_only(stranger), 1, address(0), "", address(0), address(0), 0, payable(address(0)))
            );
        }
    }

    /// Anyone opens anyone's account, anywhere: it is the predicted one, and its owner's alone (invariant 20).
    function act_strangerOpens(uint256 seed) public booked("open for another") {
        seed = _dice(seed);
        address someone = address(uint160(uint256(keccak256(abi.encode("someone", _strangers++)))));
        address stranger = address(uint160(uint256(keccak256(abi.encode("stranger", seed)))));
        address predicted = factory.accountOf(someone);
        bytes memory initializer = factory.initializerOf(someone);
        assertEq(predicted.code.length, 0);
        address opened;
        if (seed % 3 == 0) {
            vm.prank(stranger);
            opened = factory.open(someone);
        } else if (seed % 3 == 1) {
            vm.prank(stranger);
            opened = ISafeProxyFactory(safeProxyFactory).createProxyWithNonce(safeSingleton, initializer, 0);
        } else {
            vm.prank(someone);
            opened = factory.openAndGrant(coverTerms());
        }
        assertEq(opened, predicted, "not the predicted account");
        assertEq(factory.open(someone), predicted);
        assertEq(ISafeProxy(opened).masterCopy(), safeSingleton);
        assertEq(ISafe(opened).getOwners(), _only(someone));
        assertEq(ISafe(opened).getThreshold(), 1);
        assertTrue(ISafe(opened).isModuleEnabled(address(module)));
        assertTrue(ISafe(opened).isModuleEnabled(address(coverModule)));
        assertEq(module.grantOf(opened, key).active, seed % 3 == 2);
        vm.prank(stranger);
        (bool ok,) = opened.call(_asOwner(someone, stranger));
        assertFalse(ok, "a stranger controls the account");
        _succeed("open for another");
        _refusedFirstGrant(seed >> 8, opened, someone, stranger);
    }

    /// The factory brings a first grant, to whom alone controls the account: not after a grant, not to a former owner,
    /// to one of two, or to who must ask another (rule 15, invariant 20).
    function _refusedFirstGrant(uint256 seed, address opened, address someone, address stranger) private {
        _try("first grant refused");
        bytes memory change;
        if (!module.grantOf(opened, key).active) {
            address heir = address(uint160(uint256(keccak256(abi.encode("heir", opened)))));
            change = [
                abi.encodeCall(ISafeOwner.addOwnerWithThreshold, (heir, 1)),
                abi.encodeCall(ISafeOwner.addOwnerWithThreshold, (heir, 2)),
                abi.encodeCall(ISafeOwner.swapOwner, (SENTINEL, someone, heir))
            ][seed % 3];
            _changeOwners(opened, someone, change);
            // Of several owners the newest comes first: here it is the caller.
            if (seed % 3 == 2 && seed >> 8 & 3 != 0) {
                change = abi.encodeCall(ISafeOwner.addOwnerWithThreshold, (someone, 1 + (seed >> 16 & 1)));
                _changeOwners(opened, heir, change);
            }
        }
        // Nor does the factory hand over as someone's what someone does not control.
        (bool ok,) = address(factory).call(abi.encodeCall(factory.open, (someone)));
        assertEq(ok, change.length == 0, "opened what another controls");
        ISessionModule.GrantTerms memory terms = coverTerms();
        terms.key = stranger;
        vm.prank(someone);
        (ok,) = address(factory).call(abi.encodeCall(factory.openAndGrant, (terms)));
        assertFalse(ok, "a first grant to whom the account is not, or a second one");
        assertEq(module.grantOf(opened, stranger).epoch, 0);
        _succeed("first grant refused");
    }

    function _changeOwners(address safe, address owner, bytes memory change) private {
        vm.prank(owner);
        ISafeOwner(safe)
            .execTransaction(safe, 0, change, 0, 0, 0, 0, address(0), payable(address(0)), _approval(owner));
    }

    // ---------------------------------------------------------------- time and market

    function act_passTime(uint256 seconds_) public booked("pass time") {
        skip(bound(seconds_, 1, 16 hours));
        _succeed("pass time");
    }

    /// In or out of the band around the reference.
    function act_moveMarket(uint256 bps, uint256 which) public booked("move the market") {
        Asset storage asset = which % 2 == 0 ? foxtrot : golf;
        uint256 price = poolPrice(asset.pool, address(asset.token)) * bound(bps, 9_400, 10_600) / 10_000;
        setPrice(asset, Math.min(Math.max(price, asset.price / 2), asset.price * 2));
        _succeed("move the market");
    }

    // ---------------------------------------------------------------- steps

    /// Good for either module, within any terms that the owner grants, as long as nothing changes.
    function _anyAction(uint256 seed, uint256 amount) private returns (Sent memory) {
        uint256 kind = (seed >> 40) % 3;
        if (kind == 0) return _sign(_request(seed, amount, 0));
        ISessionModule.Action memory trade = _trade(seed, amount, kind == 1, 0);
        trade.slippageBps = 100;
        return _sign(trade);
    }

    function _refused(Sent memory s, bytes4 why) private {
        (bool ok, bytes memory result) = _submit(s, gasleft());
        assertFalse(ok, "ran though it was dead");
        assertEq(bytes4(result), why);
    }

    /// Terms of any width; the key's day carries on.
    function _regrant(uint256 seed) private {
        _grant(
            uint128(bound(seed >> 80, 40e6, 800e6)),
            uint16(bound(seed >> 112, 100, 250)),
            uint128(bound(seed >> 144, 20e6, 60e6))
        );
    }

    function _aRequest(uint256 seed) private view returns (uint256) {
        return requests.length == 0 ? 0 : requests[seed % requests.length];
    }

    /// A Safe transaction that is good only when `itsOwner` sends it.
    function _asOwner(address itsOwner, address to) private pure returns (bytes memory) {
        return abi.encodeCall(
            ISafeOwner.execTransaction,
            (to, 0, "", 0, 0, 0, 0, address(0), payable(address(0)), _approval(itsOwner))
        );
    }

    /// Safe's pre-validated signature of the sender.
    function _approval(address itsOwner) private pure returns (bytes memory) {
        return abi.encodePacked(uint256(uint160(itsOwner)), uint256(0), uint8(1));
    }

    function _only(address who_) private pure returns (address[] memory owners) {
        owners = new address[](1);
        owners[0] = who_;
    }
}
