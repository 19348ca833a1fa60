// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccountFactory} from "../../src/accounts/AccountFactory.sol";
import {CoverModule} from "../../src/cover/CoverModule.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {WorldMeter} from "./WorldMeter.sol";

/// The factory and both modules. `SessionModule.execute` has its own suite, Overhead.
abstract contract AccountsGas is WorldMeter {
    function test_factory() public {
        _factory("open", ANYONE, abi.encodeCall(AccountFactory.open, (ANYONE)));
        _factory("openAndGrant", ANYONE, abi.encodeCall(AccountFactory.openAndGrant, (world.terms())));
        _factory("accountOf", ANYONE, abi.encodeCall(AccountFactory.accountOf, (ANYONE)));
        _factory("initializerOf", ANYONE, abi.encodeCall(AccountFactory.initializerOf, (ANYONE)));
        read("AccountFactory", here.factory, "accountSetup");
        read("AccountFactory", here.factory, "fallbackHandler");
        read("AccountFactory", here.factory, "modules");
        read("AccountFactory", here.factory, "safeProxyFactory");
        read("AccountFactory", here.factory, "safeSingleton");
        read("AccountsGenesis", here.genesis, "accountFactory");
        read("AccountsGenesis", here.genesis, "coverModule");
        read("AccountsGenesis", here.genesis, "sessionModule");
    }

    function test_session() public {
        ISessionModule.GrantTerms memory terms = world.terms();
        _session("grant", here.account, abi.encodeCall(ISessionModule.grant, (terms)));
        _session("revoke", here.account, abi.encodeCall(ISessionModule.revoke, (here.key)));
        _session("setPaused", here.account, abi.encodeCall(ISessionModule.setPaused, (true)));
        _session(
            "countFee", here.coverModule, abi.encodeCall(ISessionModule.countFee, (here.account, here.key, 1))
        );
        address fresh =
            abi.decode(send(ANYONE, here.factory, abi.encodeCall(AccountFactory.open, (ANYONE))), (address));
        _session(
            "firstGrant", here.factory, abi.encodeCall(ISessionModule.firstGrant, (fresh, ANYONE, terms))
        );

        (ISessionModule.Action memory action, bytes memory sig,) = world.buy(false);
        _session("execute (buy of 3)", ANYONE, abi.encodeCall(ISessionModule.execute, (action, sig)));
        _session("hashAction", ANYONE, abi.encodeCall(ISessionModule.hashAction, (action)));
        _session("grantOf", ANYONE, abi.encodeCall(ISessionModule.grantOf, (here.account, here.key)));
        _session("usageOf", ANYONE, abi.encodeCall(ISessionModule.usageOf, (here.account, here.key)));
        _session("accountPaused", ANYONE, abi.encodeCall(ISessionModule.accountPaused, (here.account)));
        _session("nonceUsed", ANYONE, abi.encodeCall(ISessionModule.nonceUsed, (here.account, action.nonce)));
        _session(
            "nonceSpaceOf", ANYONE, abi.encodeCall(ISessionModule.nonceSpaceOf, (here.account, here.key))
        );
        _session("dailyFeeCapOf", ANYONE, abi.encodeCall(ISessionModule.dailyFeeCapOf, (500e6)));
        string[11] memory names = [
            "ACTION_TYPEHASH",
            "BUY",
            "SELL",
            "coverModule",
            "eip712Domain",
            "factory",
            "oracle",
            "pause",
            "registry",
            "usdg",
            "zapper"
        ];
        for (uint256 i; i < names.length; ++i) {
            read("SessionModule", here.module, names[i]);
        }
    }

    function test_cover_module() public {
        _cover("execute (take)", ANYONE, world.coverTake());
        _cover("execute (request)", ANYONE, world.coverRequest());
        _cover("hashAction", ANYONE, abi.encodeCall(CoverModule.hashAction, (world.coverAction_())));
        _cover("usageOf", ANYONE, abi.encodeCall(CoverModule.usageOf, (here.account, here.key)));
        _cover("nonceUsed", ANYONE, abi.encodeCall(CoverModule.nonceUsed, (here.account, 1)));
        _cover("nonceSpaceOf", ANYONE, abi.encodeCall(CoverModule.nonceSpaceOf, (here.account, here.key)));
        _cover("execute (cancel)", ANYONE, world.coverCancel());
        string[14] memory names = [
            "ACTION_TYPEHASH",
            "CANCEL",
            "FILL",
            "OFFER",
            "REQUEST",
            "STOP_REPEATING",
            "TAKE",
            "eip712Domain",
            "exitEscrow",
            "market",
            "oracle",
            "pause",
            "session",
            "usdg"
        ];
        for (uint256 i; i < names.length; ++i) {
            read("CoverModule", here.coverModule, names[i]);
        }
    }

    function _factory(string memory name, address sender, bytes memory payload) private {
        probe(string.concat("AccountFactory.", name), sender, here.factory, payload);
    }

    function _session(string memory name, address sender, bytes memory payload) private {
        probe(string.concat("SessionModule.", name), sender, here.module, payload);
    }

    function _cover(string memory name, address sender, bytes memory payload) private {
        probe(string.concat("CoverModule.", name), sender, here.coverModule, payload);
    }
}
