// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {CoverModule} from "../cover/CoverModule.sol";
import {AccountFactory} from "./AccountFactory.sol";
import {SessionModule} from "./SessionModule.sol";

/// Brings the session module, the cover module and the account factory into being in one transaction, or none of
/// them: they name each other, so two of the addresses must be known before their contracts exist. They are those of
/// this contract's own first, second and third creation, which nothing else can take.
contract AccountsGenesis {
    struct Parts {
        address usdg;
        address registry;
        address oracle;
        address zapper;
        address pause;
        address coverMarket;
        address exitEscrow;
        address safeSingleton;
        address safeProxyFactory;
        address fallbackHandler;
    }

    SessionModule public immutable sessionModule;
    CoverModule public immutable coverModule;
    AccountFactory public immutable accountFactory;

    constructor(Parts memory parts) {
        sessionModule = new SessionModule(
            parts.usdg, parts.registry, parts.oracle, parts.zapper, parts.pause, _created(3), _created(2)
        );
        coverModule = new CoverModule(
            parts.usdg, parts.oracle, parts.pause, address(sessionModule), parts.coverMarket, parts.exitEscrow
        );
        address[] memory modules = new address[](2);
        (modules[0], modules[1]) = (address(sessionModule), address(coverModule));
        // Checks that each of the three names the other two, and with it the addresses computed here.
        accountFactory =
            new AccountFactory(parts.safeSingleton, parts.safeProxyFactory, parts.fallbackHandler, modules);
    }

    /// CREATE: the low 20 bytes of keccak256(rlp([this, nonce])); a contract's nonces start at 1 (EIP-161).
    function _created(uint8 nonce) private view returns (address) {
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"d694", address(this), bytes1(nonce))))));
    }
}
