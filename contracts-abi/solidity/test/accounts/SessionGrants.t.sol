// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SessionGrants} from "../../src/accounts/SessionGrants.sol";
import {SessionModule} from "../../src/accounts/SessionModule.sol";
import {ISafe} from "../../src/interfaces/ISafe.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {AccountsFixture, ISafeOwner} from "./AccountsFixture.sol";

/// Who may grant, what kills a grant, and which nonces it may use (rules 15 and 18).
contract SessionGrantsTest is AccountsFixture {
    function setUp() public {
        deployAccounts();
    }

    function test_a_grant_is_stored_as_given_and_announced() public {
        ISessionModule.GrantTerms memory terms = defaultTerms();
        terms.key = makeAddr("second key");
        terms.coverEnabled = true;
        terms.coverDailyLimit = 9e6;
        vm.expectEmit(address(module));
        emit ISessionModule.Granted(account, terms.key, owner, 1, terms);
        grantAgain(terms);
        ISessionModule.Grant memory given = module.grantOf(account, terms.key);
        assertEq(given.owner, owner);
        assertEq(given.validUntil, terms.validUntil);
        assertEq(given.maxSlippageBps, 100);
        assertTrue(given.coverEnabled && given.active);
        assertEq(given.epoch, 1);
        assertEq(given.dailyLimit, 500e6);
        assertEq(given.coverDailyLimit, 9e6);
    }

    function testFuzz_only_the_account_itself_grants(address caller) public {
        vm.assume(caller != account);
        assumePlain(caller);
        vm.prank(caller);
        (bool ok,) = address(module).call(abi.encodeCall(module.grant, (defaultTerms())));
        assertFalse(ok);
        assertEq(module.grantOf(account, key).epoch, 1);
    }

    function testFuzz_only_the_factory_brings_a_first_grant(address caller) public {
        vm.assume(caller != address(factory));
        address opened = factory.open(makeAddr("someone"));
        vm.prank(caller);
        vm.expectRevert(ISessionModule.NotAccount.selector);
        module.firstGrant(opened, makeAddr("someone"), defaultTerms());
    }

    function test_a_first_grant_needs_the_sole_owner_and_threshold_one() public {
        address someone = makeAddr("someone");
        account = factory.open(someone);
        vm.startPrank(address(factory));
        vm.expectRevert(ISessionModule.NotOwner.selector);
        module.firstGrant(account, makeAddr("another"), defaultTerms());
        vm.stopPrank();

        ownerCallsAs(
            someone, account, abi.encodeCall(ISafeOwner.addOwnerWithThreshold, (makeAddr("friend"), 1))
        );
        vm.startPrank(address(factory));
        vm.expectRevert(ISessionModule.NotOwner.selector);
        module.firstGrant(account, someone, defaultTerms());
        vm.expectRevert(ISessionModule.NotOwner.selector);
        module.firstGrant(account, makeAddr("friend"), defaultTerms()); // first in the Safe's list, not alone in it
        vm.stopPrank();

        address other = makeAddr("other");
        account = factory.open(other);
        vm.store(account, bytes32(uint256(4)), bytes32(uint256(2))); // threshold
        vm.startPrank(address(factory));
        vm.expectRevert(ISessionModule.NotOwner.selector);
        module.firstGrant(account, other, defaultTerms());
    }

    function test_a_safe_with_two_owners_cannot_say_who_grants_and_is_refused() public {
        ownerCalls(account, abi.encodeCall(ISafeOwner.addOwnerWithThreshold, (makeAddr("friend"), 1)));
        vm.prank(account);
        vm.expectRevert(ISessionModule.NotOwner.selector);
        module.grant(defaultTerms());
        run(buyAction(tech, 1e18)); // the earlier grant's owner still owns the Safe
    }

    function test_wrong_terms_are_refused() public {
        ISessionModule.GrantTerms memory terms = defaultTerms();
        terms.key = address(0);
        _refused(terms, "key");
        terms.key = account;
        _refused(terms, "key");
        terms = defaultTerms();
        terms.validUntil = uint48(vm.getBlockTimestamp());
        _refused(terms, "validUntil");
        terms = defaultTerms();
        terms.maxSlippageBps = 1_001;
        _refused(terms, "maxSlippageBps");
        terms.maxSlippageBps = 1_000;
        grantAgain(terms);
    }

    function test_a_module_over_missing_contracts_cannot_be_deployed() public {
        address none = makeAddr("no code");
        string[7] memory names = ["usdg", "registry", "oracle", "zapper", "pause", "factory", "cover module"];
        for (uint256 i; i < 7; i++) {
            address[7] memory parts = [
                address(usdg),
                address(registry),
                address(oracle),
                address(zapper),
                address(pause),
                address(factory),
                makeAddr("cover module")
            ];
            parts[i] = i >= 5 ? address(0) : none;
            vm.expectRevert(abi.encodeWithSelector(ISessionModule.BadTerms.selector, names[i]));
            new SessionModule(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]);
        }
    }

    function test_without_a_grant_nothing_runs() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        (action.key, keyKey) = makeAddrAndKey("stranger's key");
        runRefused(action, abi.encodePacked(ISessionModule.GrantInactive.selector));
    }

    function test_revoking_kills_every_signature_of_the_key() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        vm.expectEmit(address(module));
        emit ISessionModule.Revoked(account, key, 2);
        ownerCalls(address(module), abi.encodeCall(ISessionModule.revoke, (key)));
        runRefused(action, abi.encodePacked(ISessionModule.GrantInactive.selector));
        grantAgain(defaultTerms());
        assertEq(module.grantOf(account, key).epoch, 3);
        runRefused(
            action,
            abi.encodeWithSelector(ISessionModule.WrongNonceSpace.selector, module.nonceSpaceOf(account, key))
        );
    }

    function test_granting_again_kills_the_signatures_of_the_old_epoch() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        grantAgain(defaultTerms());
        runRefused(
            action,
            abi.encodeWithSelector(ISessionModule.WrongNonceSpace.selector, module.nonceSpaceOf(account, key))
        );
        action.nonce = nonceFor(key, 1);
        run(action);
    }

    function test_revoking_a_key_before_it_is_granted_is_allowed() public {
        address unknown = makeAddr("unknown key");
        ownerCalls(address(module), abi.encodeCall(ISessionModule.revoke, (unknown)));
        ISessionModule.Grant memory given = module.grantOf(account, unknown);
        assertFalse(given.active);
        assertEq(given.epoch, 1);
    }

    function test_a_revoke_touches_one_account_and_one_key_only() public {
        vm.prank(makeAddr("stranger"));
        module.revoke(key);
        run(buyAction(tech, 1e18));
    }

    function test_a_grant_dies_when_the_safe_changes_hands() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        address buyer = makeAddr("buyer");
        ownerCalls(account, abi.encodeCall(ISafeOwner.swapOwner, (SENTINEL, owner, buyer)));
        runRefused(action, abi.encodePacked(ISessionModule.OwnerChanged.selector));
        ownerCallsAs(buyer, address(module), abi.encodeCall(ISessionModule.grant, (defaultTerms())));
        assertEq(module.grantOf(account, key).owner, buyer);
        action.nonce = nonceFor(key, 1);
        run(action);
    }

    function test_a_module_that_the_owner_switched_off_cannot_act() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        ownerCalls(account, abi.encodeCall(ISafeOwner.disableModule, (address(coverModule), address(module))));
        runRefused(action, abi.encodeWithSignature("Error(string)", "GS104"));
    }

    function test_a_nonce_runs_once() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        run(action);
        runRefused(action, abi.encodeWithSelector(ISessionModule.NonceUsed.selector, action.nonce));
        action = buyAction(tech, 0.5e18); // other terms, same nonce
        runRefused(action, abi.encodeWithSelector(ISessionModule.NonceUsed.selector, action.nonce));
    }

    function testFuzz_a_nonce_outside_the_space_is_refused(uint256 nonce) public {
        uint96 space = module.nonceSpaceOf(account, key);
        assertEq(space, uint96(uint256(keccak256(abi.encode(key, uint32(1))))));
        vm.assume(nonce >> 160 != space);
        ISessionModule.Action memory action = blankAction(tech, 1e18);
        action.nonce = nonce;
        runRefused(action, abi.encodeWithSelector(ISessionModule.WrongNonceSpace.selector, space));
    }

    function testFuzz_any_nonce_of_the_space_runs_and_marks_itself_alone(uint160 low, uint160 other) public {
        vm.assume(low != other);
        ISessionModule.Action memory action = buyAction(stock, 0.1e18);
        action.nonce = nonceFor(key, low);
        run(action);
        assertTrue(module.nonceUsed(account, nonceFor(key, low)));
        assertFalse(module.nonceUsed(account, nonceFor(key, other)));
        assertFalse(module.nonceUsed(account, nonceFor(key, low ^ 1)));
        assertFalse(module.nonceUsed(account, nonceFor(key, low ^ (1 << 8))));
        assertFalse(module.nonceUsed(owner, nonceFor(key, low)));
    }

    function test_two_keys_never_share_nonces_or_limits() public {
        run(buyAction(tech, 4e18));
        ISessionModule.GrantTerms memory terms = defaultTerms();
        (terms.key, keyKey) = makeAddrAndKey("second key");
        grantAgain(terms);
        address first = key;
        key = terms.key;
        assertNotEq(module.nonceSpaceOf(account, first), module.nonceSpaceOf(account, key));
        run(buyAction(tech, 4e18));
        (uint256 used,) = module.usageOf(account, first);
        (uint256 usedBySecond,) = module.usageOf(account, key);
        assertLt(used, 410e6);
        assertLt(usedBySecond, 410e6);
        assertGt(usedBySecond, 390e6);
    }

    function _refused(ISessionModule.GrantTerms memory terms, string memory what) private {
        vm.prank(account);
        vm.expectRevert(abi.encodeWithSelector(ISessionModule.BadTerms.selector, what));
        module.grant(terms);
    }

    /// Not a contract that could answer getOwners.
    function assumePlain(address who) private view {
        vm.assume(who.code.length == 0);
    }
}
