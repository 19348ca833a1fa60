// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Constants} from "../Constants.sol";
import {IProtocolPause} from "../interfaces/IProtocolPause.sol";
import {ISafe} from "../interfaces/ISafe.sol";
import {ISessionModule} from "../interfaces/ISessionModule.sol";
import {SafeCalls} from "./SafeCalls.sol";

/// What a module does with an action that a session key signed, whatever the action is: the signature, the checks of
/// the grant, a nonce that runs once, the network fee. The session module and the cover module share it, so that no
/// rule holds in one of them only.
///
/// There is no try/catch here or above: any failure, lack of gas included, reverts everything, the nonce with it
/// (rule 20).
///
/// Time (rule 27): an action is good while now <= deadline, a grant while now <= validUntil. A day is a UTC day of
/// the block's timestamp. A forced transaction may run with a timestamp up to a day old: it can run an action whose
/// deadline has passed by the wall clock, never one twice, and counts against the day it claims or a later one.
///
/// Under the protocol's or the account's pause every session action is refused, cancels included: what a key could
/// cancel, the owner can cancel from the Safe.
abstract contract SignedActions is EIP712, ReentrancyGuardTransient {
    using SafeCalls for address;

    IERC20 public immutable usdg;
    IProtocolPause public immutable pause;

    mapping(address account => mapping(uint256 word => uint256)) private _nonces;

    constructor(string memory domain, address usdg_, address pause_) EIP712(domain, "1") {
        if (usdg_.code.length == 0) revert ISessionModule.BadTerms("usdg");
        if (pause_.code.length == 0) revert ISessionModule.BadTerms("pause");
        usdg = IERC20(usdg_);
        pause = IProtocolPause(pause_);
    }

    function _checkSignature(bytes32 digest, address key, bytes calldata signature) internal pure {
        // 65 bytes, low s, and v of 27 or 28 only; anything else recovers nothing.
        (address signer, ECDSA.RecoverError failure,) = ECDSA.tryRecover(digest, signature);
        if (failure != ECDSA.RecoverError.NoError || signer != key) revert ISessionModule.BadSignature();
    }

    /// `accountPaused`: the owner's own pause, which the session module keeps.
    function _checkGrant(
        ISessionModule.Grant memory given,
        address account,
        bool accountPaused,
        uint48 deadline,
        uint256 fee
    ) internal view {
        if (accountPaused || pause.paused()) revert ISessionModule.Paused();
        if (!given.active) revert ISessionModule.GrantInactive();
        if (block.timestamp > given.validUntil) revert ISessionModule.GrantExpired(given.validUntil);
        if (!ISafe(account).isOwner(given.owner)) revert ISessionModule.OwnerChanged();
        if (block.timestamp > deadline) revert ISessionModule.DeadlinePast(deadline);
        if (deadline > block.timestamp + Constants.MAX_ACTION_LIFETIME || deadline > given.validUntil) {
            revert ISessionModule.DeadlineTooFar(deadline);
        }
        if (fee > Constants.MAX_NETWORK_FEE) {
            revert ISessionModule.FeeTooHigh(fee, Constants.MAX_NETWORK_FEE);
        }
    }

    /// The space binds key and epoch, so old epochs die and keys cannot use up each other's nonces (rule 18).
    function _spendNonce(address account, address key, uint32 epoch, uint256 nonce) internal {
        uint96 space = _nonceSpace(key, epoch);
        if (nonce >> 160 != space) revert ISessionModule.WrongNonceSpace(space);
        if (_nonceUsed(account, nonce)) revert ISessionModule.NonceUsed(nonce);
        _nonces[account][nonce >> 8] |= 1 << (nonce & 0xff);
    }

    function _nonceUsed(address account, uint256 nonce) internal view returns (bool) {
        return _nonces[account][nonce >> 8] & (1 << (nonce & 0xff)) != 0;
    }

    function _nonceSpace(address key, uint32 epoch) internal pure returns (uint96) {
        return uint96(uint256(keccak256(abi.encode(key, epoch))));
    }

    /// Last and exact: the account pays `fee` and the sender has it, or nothing of the action happened.
    function _payFee(address account, uint256 fee) internal {
        if (fee == 0) return;
        uint256 accountBefore = usdg.balanceOf(account);
        uint256 senderBefore = usdg.balanceOf(msg.sender);
        account.callTrue(address(usdg), abi.encodeCall(IERC20.transfer, (msg.sender, fee)));
        if (
            usdg.balanceOf(account) + fee != accountBefore || usdg.balanceOf(msg.sender) != senderBefore + fee
        ) {
            revert ISessionModule.UnexpectedDelta(address(usdg));
        }
    }
}
