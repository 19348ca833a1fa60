// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {CoverActions} from "../accounts/CoverActions.sol";

/// One valid signature per cover action, bound to chain, module, key and every member. The typed data is built here
/// a second time, from wire.md.
contract CoverModuleSignaturesTest is CoverActions {
    string private constant DOMAIN_TYPE =
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
    string private constant ACTION_TYPE =
        "CoverAction(address account,address key,uint8 kind,bytes data,uint256 nonce,uint48 deadline,uint256 fee)";

    function setUp() public {
        deployAccounts();
    }

    function testFuzz_the_digest_is_that_of_the_documented_typed_data(ICoverModule.CoverAction memory action)
        public
        view
    {
        assertEq(
            coverModule.hashAction(action), _digest(action, "basket cover", "1", 4663, address(coverModule))
        );
    }

    function test_signatures_for_another_domain_are_refused() public {
        ICoverModule.CoverAction memory action = cancelAction(1);
        _refused(action, _digest(action, "basket cover", "1", 1, address(coverModule)));
        _refused(action, _digest(action, "basket account", "1", 4663, address(coverModule)));
        _refused(action, _digest(action, "basket cover", "2", 4663, address(coverModule)));
        _refused(action, _digest(action, "basket cover", "1", 4663, address(module)));
        bytes32 good = _digest(action, "basket cover", "1", 4663, address(coverModule));
        vm.chainId(1); // a fork of the chain under another id
        _refused(action, good);
    }

    function test_signatures_of_another_key_are_refused() public {
        ICoverModule.CoverAction memory action = cancelAction(1);
        bytes memory sig = signature(ownerKey, coverModule.hashAction(action));
        vm.expectRevert(ISessionModule.BadSignature.selector);
        coverModule.execute(action, sig);
    }

    function testFuzz_a_signature_covers_every_member(uint256 seed) public {
        ICoverModule.CoverAction memory action = takeAction(1, 100, 3e6);
        bytes memory sig = signedCover(action);
        uint256 member = seed % 7;
        if (member == 0) action.account = address(uint160(seed));
        if (member == 1) action.key = address(uint160(seed));
        if (member == 2) action.kind ^= uint8(1 << (seed >> 253));
        if (member == 3) action.data[seed % action.data.length] ^= bytes1(uint8(1 << (seed >> 253)));
        if (member == 4) action.nonce ^= 1 << (seed >> 248);
        if (member == 5) action.deadline ^= uint48(1 << (seed >> 251));
        if (member == 6) action.fee ^= 1 << (seed >> 248);
        vm.expectRevert(ISessionModule.BadSignature.selector);
        coverModule.execute(action, sig);
    }

    function testFuzz_random_bytes_are_no_signature(bytes memory noise, bytes32 r, bytes32 s, uint8 v)
        public
    {
        ICoverModule.CoverAction memory action = cancelAction(1);
        vm.expectRevert(ISessionModule.BadSignature.selector);
        coverModule.execute(action, noise);
        vm.expectRevert(ISessionModule.BadSignature.selector);
        coverModule.execute(action, abi.encodePacked(r, s, v));
    }

    function _refused(ICoverModule.CoverAction memory action, bytes32 digest) private {
        bytes memory sig = signature(keyKey, digest);
        vm.expectRevert(ISessionModule.BadSignature.selector);
        coverModule.execute(action, sig);
    }

    function _digest(
        ICoverModule.CoverAction memory action,
        string memory name,
        string memory version,
        uint256 chainId,
        address verifier
    ) private pure returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(bytes(DOMAIN_TYPE)),
                keccak256(bytes(name)),
                keccak256(bytes(version)),
                chainId,
                verifier
            )
        );
        bytes32 struct_ = keccak256(
            abi.encode(
                keccak256(bytes(ACTION_TYPE)),
                action.account,
                action.key,
                action.kind,
                keccak256(action.data),
                action.nonce,
                action.deadline,
                action.fee
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, struct_));
    }
}
