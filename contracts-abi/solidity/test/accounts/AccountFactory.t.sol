// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccountFactory} from "../../src/accounts/AccountFactory.sol";
import {AccountsGenesis} from "../../src/accounts/AccountsGenesis.sol";
import {AccountSetup} from "../../src/accounts/AccountSetup.sol";
import {IAccountFactory} from "../../src/interfaces/IAccountFactory.sol";
import {ISafe, ISafeProxy, ISafeProxyFactory} from "../../src/interfaces/ISafe.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {AccountsFixture, ISafeOwner} from "./AccountsFixture.sol";

/// Rules 14 and 15, invariant 20: predicted account = deployed account, and only the owner controls it.
contract AccountFactoryTest is AccountsFixture {
    function setUp() public {
        deployAccounts();
    }

    function testFuzz_the_predicted_account_is_the_deployed_one_whoever_opens_it(
        address someOwner,
        address caller
    ) public {
        vm.assume(someOwner > address(0xffff) && someOwner != account);
        address predicted = factory.accountOf(someOwner);
        vm.assume(predicted.code.length == 0);
        vm.expectEmit(address(factory));
        emit IAccountFactory.AccountOpened(someOwner, predicted);
        vm.prank(caller);
        assertEq(factory.open(someOwner), predicted);
        _assertGenuine(predicted, someOwner);
    }

    function test_the_account_of_an_owner_never_depends_on_the_terms_of_a_grant() public {
        address someOwner = makeAddr("someone");
        address predicted = factory.accountOf(someOwner);
        ISessionModule.GrantTerms memory terms = defaultTerms();
        terms.dailyLimit = 77e6;
        vm.prank(someOwner);
        assertEq(factory.openAndGrant(terms), predicted);
        assertEq(module.grantOf(predicted, key).dailyLimit, 77e6);
        assertEq(module.grantOf(predicted, key).owner, someOwner);
        assertEq(module.grantOf(predicted, key).epoch, 1);
    }

    function test_opening_again_changes_nothing_and_emits_nothing() public {
        vm.recordLogs();
        assertEq(factory.open(owner), account);
        assertEq(vm.getRecordedLogs().length, 0);
    }

    function test_an_account_deployed_by_a_stranger_at_the_proxy_factory_is_the_same_account() public {
        address someOwner = makeAddr("someone");
        bytes memory initializer = factory.initializerOf(someOwner);
        vm.prank(makeAddr("stranger"));
        address deployed =
            ISafeProxyFactory(safeProxyFactory).createProxyWithNonce(safeSingleton, initializer, 0);
        assertEq(deployed, factory.accountOf(someOwner));
        assertEq(factory.open(someOwner), deployed);
        _assertGenuine(deployed, someOwner);
        vm.prank(someOwner);
        factory.openAndGrant(defaultTerms());
        assertTrue(module.grantOf(deployed, key).active);
    }

    function test_a_stranger_cannot_occupy_the_address_with_another_initializer_or_set_up_again() public {
        address someOwner = makeAddr("someone");
        address stranger = makeAddr("stranger");
        bytes memory initializer = factory.initializerOf(stranger);
        vm.prank(stranger);
        address other =
            ISafeProxyFactory(safeProxyFactory).createProxyWithNonce(safeSingleton, initializer, 0);
        assertNotEq(other, factory.accountOf(someOwner));
        factory.open(someOwner);
        address[] memory owners = new address[](1);
        owners[0] = stranger;
        address opened = factory.accountOf(someOwner);
        vm.expectRevert(bytes("GS200"));
        ISafe(opened).setup(owners, 1, address(0), "", address(0), address(0), 0, payable(address(0)));
    }

    function test_owners_that_a_safe_cannot_have_are_refused() public {
        for (uint160 i; i < 2; i++) {
            address expected = factory.accountOf(address(i));
            vm.expectRevert(
                abi.encodeWithSelector(IAccountFactory.UnexpectedAccount.selector, expected, "owner")
            );
            factory.open(address(i));
        }
    }

    function test_an_account_whose_owner_was_swapped_is_refused() public {
        ownerCalls(account, abi.encodeCall(ISafeOwner.swapOwner, (SENTINEL, owner, makeAddr("buyer"))));
        _expectUnexpected("owners");
    }

    function test_an_account_with_a_second_owner_is_refused() public {
        ownerCalls(account, abi.encodeCall(ISafeOwner.addOwnerWithThreshold, (makeAddr("friend"), 1)));
        _expectUnexpected("owners");
        // The owner again first in the Safe's list, and still not alone in it.
        address friend = makeAddr("friend");
        ownerCalls(account, abi.encodeCall(ISafeOwner.removeOwner, (friend, owner, 1)));
        ownerCallsAs(friend, account, abi.encodeCall(ISafeOwner.addOwnerWithThreshold, (owner, 1)));
        _expectUnexpected("owners");
    }

    function test_an_account_with_another_threshold_is_refused() public {
        // Unreachable through a genuine Safe with one owner: written straight into its storage (slot 4).
        vm.store(account, bytes32(uint256(4)), bytes32(uint256(2)));
        _expectUnexpected("threshold");
    }

    function test_an_account_that_left_the_singleton_is_refused() public {
        vm.store(account, bytes32(0), bytes32(uint256(uint160(fallbackHandler))));
        _expectUnexpected("singleton");
    }

    function test_no_grant_goes_to_a_module_that_the_owner_switched_off() public {
        address someOwner = makeAddr("someone");
        account = factory.open(someOwner);
        ownerCallsAs(
            someOwner,
            account,
            abi.encodeCall(ISafeOwner.disableModule, (address(coverModule), address(module)))
        );
        vm.expectRevert(abi.encodeWithSelector(IAccountFactory.UnexpectedAccount.selector, account, "module"));
        vm.prank(someOwner);
        factory.openAndGrant(defaultTerms());
        assertEq(factory.open(someOwner), account);
    }

    function test_the_first_grant_comes_once() public {
        vm.expectRevert(ISessionModule.GrantExists.selector);
        vm.prank(owner);
        factory.openAndGrant(defaultTerms());
    }

    function test_the_first_grant_door_stays_shut_after_a_grant_of_the_account_itself() public {
        address someOwner = makeAddr("someone");
        account = factory.open(someOwner);
        ownerCallsAs(someOwner, address(module), abi.encodeCall(ISessionModule.grant, (defaultTerms())));
        ownerCallsAs(someOwner, address(module), abi.encodeCall(ISessionModule.revoke, (key)));
        vm.expectRevert(ISessionModule.GrantExists.selector);
        vm.prank(someOwner);
        factory.openAndGrant(defaultTerms());
    }

    function test_the_set_up_helper_runs_only_inside_a_safe() public {
        AccountSetup setup = factory.accountSetup();
        address[] memory modules = factory.modules();
        assertEq(modules[0], address(module));
        vm.expectRevert(AccountSetup.OnlyDelegateCall.selector);
        setup.enableModules(modules);
    }

    function test_both_modules_are_enabled_in_a_new_account_and_nothing_else() public {
        address opened = factory.open(makeAddr("someone"));
        assertTrue(ISafe(opened).isModuleEnabled(address(module)));
        assertTrue(ISafe(opened).isModuleEnabled(address(coverModule)));
        assertFalse(ISafe(opened).isModuleEnabled(address(factory)));
        assertEq(factory.modules().length, 2);
    }

    function test_genesis_creates_three_contracts_that_name_each_other() public view {
        assertEq(address(module), address(genesis.sessionModule()));
        assertEq(module.factory(), address(factory));
        assertEq(module.coverModule(), address(coverModule));
        assertEq(address(coverModule.session()), address(module));
        assertEq(factory.modules()[0], address(module));
        assertEq(factory.modules()[1], address(coverModule));
        assertEq(address(module), vm.computeCreateAddress(address(genesis), 1));
        assertEq(address(coverModule), vm.computeCreateAddress(address(genesis), 2));
        assertEq(address(factory), vm.computeCreateAddress(address(genesis), 3));
    }

    function test_genesis_creates_all_three_or_none() public {
        AccountsGenesis.Parts memory parts = genesisParts();
        parts.fallbackHandler = makeAddr("no code"); // what the last of the three refuses
        address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)));
        _expectBadDeployment("fallback handler");
        new AccountsGenesis(parts);
        assertEq(vm.computeCreateAddress(predicted, 1).code.length, 0);
    }

    function test_a_wrong_deployment_is_refused() public {
        address[] memory modules = factory.modules();
        address none = makeAddr("no code");
        _expectBadDeployment("singleton");
        new AccountFactory(none, safeProxyFactory, fallbackHandler, modules);
        _expectBadDeployment("proxy factory");
        new AccountFactory(safeSingleton, none, fallbackHandler, modules);
        _expectBadDeployment("fallback handler");
        new AccountFactory(safeSingleton, safeProxyFactory, none, modules);
        _expectBadDeployment("predicted address");
        new AccountFactory(safeSingleton, safeProxyFactory, fallbackHandler, modules);
        for (uint256 count; count < 4; count++) {
            if (count == 2) continue;
            _expectBadDeployment("modules");
            new AccountFactory(safeSingleton, safeProxyFactory, fallbackHandler, new address[](count));
        }
    }

    function test_modules_that_do_not_name_each_other_are_refused() public {
        address[] memory modules = factory.modules();
        address[] memory others = _otherModules();
        (address session, address cover) = (modules[0], modules[1]);
        modules[0] = makeAddr("no code");
        _expectBadDeployment("session module");
        new AccountFactory(safeSingleton, safeProxyFactory, fallbackHandler, modules);
        modules[0] = others[0];
        _expectBadDeployment("session's cover module");
        new AccountFactory(safeSingleton, safeProxyFactory, fallbackHandler, modules);
        (modules[0], modules[1]) = (session, makeAddr("no code"));
        _expectBadDeployment("cover module");
        new AccountFactory(safeSingleton, safeProxyFactory, fallbackHandler, modules);
        // A session module that names a cover module which belongs to another.
        modules[0] = address(new ModuleOf(address(this), cover));
        modules[1] = cover;
        _expectBadDeployment("cover's session module");
        new AccountFactory(safeSingleton, safeProxyFactory, fallbackHandler, modules);
    }

    function test_a_proxy_factory_that_deploys_elsewhere_is_noticed() public {
        AccountsGenesis.Parts memory parts = genesisParts();
        LyingProxyFactory liar = new LyingProxyFactory();
        parts.safeProxyFactory = address(liar);
        AccountFactory deceived = new AccountsGenesis(parts).accountFactory();
        vm.expectRevert(
            abi.encodeWithSelector(IAccountFactory.UnexpectedAccount.selector, address(liar), "address")
        );
        deceived.open(owner);
    }

    function _otherModules() private returns (address[] memory) {
        return new AccountsGenesis(genesisParts()).accountFactory().modules();
    }

    function _assertGenuine(address opened, address itsOwner) private view {
        assertEq(ISafeProxy(opened).masterCopy(), safeSingleton);
        address[] memory owners = ISafe(opened).getOwners();
        assertEq(owners.length, 1);
        assertEq(owners[0], itsOwner);
        assertEq(ISafe(opened).getThreshold(), 1);
        assertTrue(ISafe(opened).isModuleEnabled(address(module)));
        assertTrue(ISafe(opened).isModuleEnabled(address(coverModule)));
        // keccak256("fallback_manager.handler.address"), FallbackManager.sol
        bytes32 handler = vm.load(opened, 0x6c9a6c4a39284e37ed1cf53d337577d14212a4870fb976a4366c693b939918d5);
        assertEq(address(uint160(uint256(handler))), fallbackHandler);
    }

    function _expectUnexpected(string memory why) private {
        bytes memory expected =
            abi.encodeWithSelector(IAccountFactory.UnexpectedAccount.selector, account, why);
        vm.expectRevert(expected);
        factory.open(owner);
        vm.expectRevert(expected);
        vm.prank(owner);
        factory.openAndGrant(defaultTerms());
    }

    function _expectBadDeployment(string memory what) private {
        vm.expectRevert(abi.encodeWithSelector(AccountFactory.BadDeployment.selector, what));
    }
}

/// Names a factory and a cover module, as a session module does; nothing else of one is needed here.
contract ModuleOf {
    address public immutable factory;
    address public immutable coverModule;

    constructor(address factory_, address coverModule_) {
        (factory, coverModule) = (factory_, coverModule_);
    }
}

contract LyingProxyFactory {
    function proxyCreationCode() external pure returns (bytes memory) {
        return hex"00";
    }

    function createProxyWithNonce(address, bytes calldata, uint256) external view returns (address) {
        return address(this);
    }
}
