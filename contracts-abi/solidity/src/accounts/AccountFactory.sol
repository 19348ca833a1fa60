// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IAccountFactory} from "../interfaces/IAccountFactory.sol";
import {ISafe, ISafeProxy, ISafeProxyFactory} from "../interfaces/ISafe.sol";
import {ISessionModule} from "../interfaces/ISessionModule.sol";
import {AccountSetup} from "./AccountSetup.sol";

/// Opens one genuine Safe 1.4.1 per owner, through the genuine proxy factory, at an address that depends on the
/// owner alone: `createProxyWithNonce(singleton, initializerOf(owner), 0)`. Anyone may therefore deploy anyone's
/// account, here or at the proxy factory, and gets the same Safe that only the owner controls. Terms of a grant are
/// never part of the initializer, else a stranger could open the account with terms of his own (rule 14).
///
/// Deployment: the factory and its two modules name each other, so AccountsGenesis creates all three; a wrong
/// prediction reverts in this constructor.
contract AccountFactory is IAccountFactory {
    address private constant SENTINEL = address(0x1); // Safe's list sentinel, never an owner
    uint256 private constant SALT_NONCE = 0;

    address public immutable safeSingleton;
    address public immutable safeProxyFactory;
    address public immutable fallbackHandler;
    AccountSetup public immutable accountSetup;
    bytes32 private immutable _proxyInitCodeHash;
    address[] private _modules; // written by the constructor alone

    error BadDeployment(string what);

    /// `modules_`: the session module and the cover module, in this order.
    constructor(
        address safeSingleton_,
        address safeProxyFactory_,
        address fallbackHandler_,
        address[] memory modules_
    ) {
        if (safeSingleton_.code.length == 0) revert BadDeployment("singleton");
        if (safeProxyFactory_.code.length == 0) revert BadDeployment("proxy factory");
        if (fallbackHandler_.code.length == 0) revert BadDeployment("fallback handler");
        if (modules_.length != 2) revert BadDeployment("modules");
        (address session, address cover) = (modules_[0], modules_[1]);
        if (session.code.length == 0) revert BadDeployment("session module");
        if (cover.code.length == 0) revert BadDeployment("cover module");
        if (ISessionModule(session).coverModule() != cover) revert BadDeployment("session's cover module");
        if (ISessionOfModule(cover).session() != session) revert BadDeployment("cover's session module");
        if (IFactoryOfModule(session).factory() != address(this)) revert BadDeployment("predicted address");
        safeSingleton = safeSingleton_;
        safeProxyFactory = safeProxyFactory_;
        fallbackHandler = fallbackHandler_;
        _modules = modules_;
        accountSetup = new AccountSetup();
        _proxyInitCodeHash = keccak256(
            abi.encodePacked(
                ISafeProxyFactory(safeProxyFactory_).proxyCreationCode(), uint256(uint160(safeSingleton_))
            )
        );
    }

    /// @inheritdoc IAccountFactory
    function accountOf(address owner) public view returns (address account) {
        return _predict(initializerOf(owner));
    }

    /// The modules that a new account enables, the session module first.
    function modules() external view returns (address[] memory) {
        return _modules;
    }

    /// `Safe.setup` calldata of an owner's account: sole owner, threshold 1, modules by delegatecall, no payment.
    function initializerOf(address owner) public view returns (bytes memory) {
        address[] memory owners = new address[](1);
        owners[0] = owner;
        return abi.encodeCall(
            ISafe.setup,
            (
                owners,
                1,
                address(accountSetup),
                abi.encodeCall(AccountSetup.enableModules, (_modules)),
                fallbackHandler,
                address(0),
                0,
                payable(address(0))
            )
        );
    }

    /// @inheritdoc IAccountFactory
    function open(address owner) public returns (address account) {
        bytes memory initializer = initializerOf(owner);
        account = _predict(initializer);
        if (account.code.length == 0) {
            if (owner == address(0) || owner == SENTINEL) revert UnexpectedAccount(account, "owner");
            address created = ISafeProxyFactory(safeProxyFactory)
                .createProxyWithNonce(safeSingleton, initializer, SALT_NONCE);
            if (created != account) revert UnexpectedAccount(created, "address");
            emit AccountOpened(owner, account);
        }
        _verify(account, owner);
    }

    /// @inheritdoc IAccountFactory
    function openAndGrant(ISessionModule.GrantTerms calldata terms) external returns (address account) {
        account = open(msg.sender);
        address module = _modules[0];
        // A grant to a module that the owner switched off would look alive and never execute.
        if (!ISafe(account).isModuleEnabled(module)) revert UnexpectedAccount(account, "module");
        ISessionModule(module).firstGrant(account, msg.sender, terms);
    }

    /// The owner may have changed anything since the account was opened (or a stranger opened it): go on only with
    /// a Safe of this singleton that the owner alone controls.
    function _verify(address account, address owner) private view {
        if (ISafeProxy(account).masterCopy() != safeSingleton) {
            revert UnexpectedAccount(account, "singleton");
        }
        address[] memory owners = ISafe(account).getOwners();
        if (owners.length != 1 || owners[0] != owner) revert UnexpectedAccount(account, "owners");
        if (ISafe(account).getThreshold() != 1) revert UnexpectedAccount(account, "threshold");
    }

    /// CREATE2 as SafeProxyFactory does it: salt = keccak256(keccak256(initializer) ++ saltNonce).
    function _predict(bytes memory initializer) private view returns (address) {
        bytes32 salt = keccak256(abi.encodePacked(keccak256(initializer), SALT_NONCE));
        return address(
            uint160(
                uint256(keccak256(abi.encodePacked(bytes1(0xff), safeProxyFactory, salt, _proxyInitCodeHash)))
            )
        );
    }
}

interface IFactoryOfModule {
    function factory() external view returns (address);
}

interface ISessionOfModule {
    function session() external view returns (address);
}
