// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SessionModule} from "../../src/accounts/SessionModule.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {AccountsFixture} from "./AccountsFixture.sol";

/// One valid signature per action, bound to chain, module, key and every member. The typed data is built here a
/// second time, from wire.md.
contract SessionSignaturesTest is AccountsFixture {
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;
    uint256 private constant ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;
    string private constant DOMAIN_TYPE =
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
    string private constant ACTION_TYPE =
        "Action(address account,address key,uint8 kind,address vault,uint256 amount,uint256 limit,uint16 slippageBps,bytes data,uint256 nonce,uint48 deadline,uint256 fee)";

    function setUp() public {
        deployAccounts();
    }

    function testFuzz_the_digest_is_that_of_the_documented_typed_data(ISessionModule.Action memory action)
        public
        view
    {
        assertEq(module.hashAction(action), _digest(action, "basket account", "1", 4663, address(module)));
    }

    function test_signatures_for_another_domain_are_refused() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        _refused(action, signature(keyKey, _digest(action, "basket account", "1", 1, address(module))));
        _refused(action, signature(keyKey, _digest(action, "basket cover", "1", 4663, address(module))));
        _refused(action, signature(keyKey, _digest(action, "basket account", "2", 4663, address(module))));
        _refused(action, signature(keyKey, _digest(action, "basket account", "1", 4663, address(factory))));
        bytes memory good = signature(keyKey, _digest(action, "basket account", "1", 4663, address(module)));
        vm.chainId(1); // a fork of the chain under another id
        _refused(action, good);
        vm.chainId(4663);
        module.execute(action, good);
    }

    function test_signatures_of_another_key_are_refused() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        (, uint256 other) = makeAddrAndKey("other");
        _refused(action, signature(other, module.hashAction(action)));
        _refused(action, signature(ownerKey, module.hashAction(action)));
    }

    function testFuzz_a_signature_covers_every_member(uint256 seed) public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        bytes memory sig = signed(action);
        uint256 member = seed % 11;
        if (member == 0) action.account = address(uint160(seed));
        if (member == 1) action.key = address(uint160(seed));
        if (member == 2) action.kind ^= 1;
        if (member == 3) action.vault = address(stock);
        if (member == 4) action.amount ^= 1 << (seed >> 248);
        if (member == 5) action.limit ^= 1 << (seed >> 248);
        if (member == 6) action.slippageBps ^= uint16(1 << (seed >> 252));
        if (member == 7) action.data[seed % action.data.length] ^= bytes1(uint8(1 << (seed >> 253)));
        if (member == 8) action.nonce ^= 1 << (seed >> 248);
        if (member == 9) action.deadline ^= uint48(1 << (seed >> 251));
        if (member == 10) action.fee ^= 1 << (seed >> 248);
        _refused(action, sig);
    }

    function test_the_high_s_twin_is_refused() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyKey, module.hashAction(action));
        assertLe(uint256(s), HALF_ORDER);
        _refused(action, abi.encodePacked(r, bytes32(ORDER - uint256(s)), v == 27 ? uint8(28) : uint8(27)));
        module.execute(action, abi.encodePacked(r, s, v));
    }

    function test_signatures_of_other_lengths_and_recovery_ids_are_refused() public {
        ISessionModule.Action memory action = buyAction(tech, 1e18);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keyKey, module.hashAction(action));
        _refused(action, "");
        _refused(action, abi.encodePacked(r, s));
        _refused(action, abi.encodePacked(r, bytes32(uint256(s) | (uint256(v - 27) << 255)))); // ERC-2098
        _refused(action, abi.encodePacked(r, s, v, bytes1(0)));
        _refused(action, abi.encodePacked(r, s, v - 27));
        for (uint256 id; id < 256; id++) {
            if (id != v) _refused(action, abi.encodePacked(r, s, uint8(id)));
        }
    }

    function testFuzz_random_bytes_are_no_signature(bytes memory noise, bytes32 r, bytes32 s, uint8 v)
        public
    {
        ISessionModule.Action memory action = blankAction(tech, 1e18);
        _refused(action, noise);
        _refused(action, abi.encodePacked(r, s, v));
    }

    function testFuzz_the_zero_key_signs_nothing(bytes32 r, bytes32 s, uint8 v) public {
        ISessionModule.Action memory action = blankAction(tech, 1e18);
        action.key = address(0); // what a failed recovery answers
        _refused(action, abi.encodePacked(r, s, v));
    }

    function _refused(ISessionModule.Action memory action, bytes memory sig) private {
        vm.expectRevert(ISessionModule.BadSignature.selector);
        module.execute(action, sig);
        assertFalse(module.nonceUsed(action.account, action.nonce));
    }

    function _digest(
        ISessionModule.Action memory action,
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
        bytes memory first = abi.encode(
            keccak256(bytes(ACTION_TYPE)),
            action.account,
            action.key,
            action.kind,
            action.vault,
            action.amount
        );
        bytes memory second = abi.encode(
            action.limit,
            action.slippageBps,
            keccak256(action.data),
            action.nonce,
            action.deadline,
            action.fee
        );
        return keccak256(abi.encodePacked(hex"1901", domain, keccak256(bytes.concat(first, second))));
    }
}
