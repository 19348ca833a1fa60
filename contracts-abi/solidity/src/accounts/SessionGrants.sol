// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {ISafe} from "../interfaces/ISafe.sol";
import {ISessionModule} from "../interfaces/ISessionModule.sol";
import {TradeBounds} from "./TradeBounds.sol";

/// What owners decide and what keys have used up: grants with their epochs, account pauses, daily usage.
/// Everything is written by the account itself, except the very first grant, which the factory may bring (rule 15).
abstract contract SessionGrants is ISessionModule {
    struct Usage {
        uint32 day; // UTC day of the last action, block.timestamp / 1 days
        uint128 turnover; // USDG
        uint96 fees; // USDG
    }

    struct AccountState {
        bool paused;
        bool granted; // some grant was ever given; the factory's door is closed
    }

    /// The factory that may bring an account's first grant.
    address public immutable factory;
    /// The module that counts its network fees here.
    address public immutable coverModule;

    mapping(address account => AccountState) private _accounts;
    mapping(address account => mapping(address key => Grant)) private _grants;
    mapping(address account => mapping(address key => Usage)) private _usage;

    constructor(address factory_, address coverModule_) {
        if (factory_ == address(0)) revert BadTerms("factory");
        if (coverModule_ == address(0)) revert BadTerms("cover module");
        factory = factory_;
        coverModule = coverModule_;
    }

    /// @inheritdoc ISessionModule
    /// @dev The grant is bound to the Safe's sole owner, so that it dies when the Safe changes hands. A Safe with
    /// several owners cannot say which of them granted, and is refused with NotOwner.
    function grant(GrantTerms calldata terms) external {
        address[] memory owners = ISafe(msg.sender).getOwners();
        if (owners.length != 1) revert NotOwner();
        _grant(msg.sender, owners[0], terms);
    }

    /// @inheritdoc ISessionModule
    function firstGrant(address account, address owner, GrantTerms calldata terms) external {
        if (msg.sender != factory) revert NotAccount();
        if (_accounts[account].granted) revert GrantExists();
        address[] memory owners = ISafe(account).getOwners();
        if (owners.length != 1 || owners[0] != owner || ISafe(account).getThreshold() != 1) {
            revert NotOwner();
        }
        _grant(account, owner, terms);
    }

    /// @inheritdoc ISessionModule
    /// @dev Never refuses: revoking a key that has no grant kills its signatures all the same.
    function revoke(address key) external {
        Grant storage given = _grants[msg.sender][key];
        given.active = false;
        uint32 epoch = ++given.epoch;
        emit Revoked(msg.sender, key, epoch);
    }

    /// @inheritdoc ISessionModule
    function setPaused(bool paused) external {
        _accounts[msg.sender].paused = paused;
        emit AccountPaused(msg.sender, paused);
    }

    /// @inheritdoc ISessionModule
    function grantOf(address account, address key) public view returns (Grant memory) {
        return _grants[account][key];
    }

    /// @inheritdoc ISessionModule
    function usageOf(address account, address key) public view returns (uint256 turnover, uint256 fees) {
        Usage storage used = _usage[account][key];
        // A clock behind the last action's day must not reset it (rule 27: a forced transaction can carry old time).
        if (_today() > used.day) return (0, 0);
        return (used.turnover, used.fees);
    }

    /// @inheritdoc ISessionModule
    function accountPaused(address account) public view returns (bool) {
        return _accounts[account].paused;
    }

    /// @inheritdoc ISessionModule
    function countFee(address account, address key, uint256 fee) external {
        if (msg.sender != coverModule) revert NotCoverModule();
        _addUsage(account, key, 0, fee, _grants[account][key].dailyLimit);
    }

    /// @inheritdoc ISessionModule
    function dailyFeeCapOf(uint256 dailyLimit) external pure returns (uint256) {
        return TradeBounds.dailyFeeCap(dailyLimit);
    }

    /// Adds to today's usage; it only grows within a day, whatever happens to the grant (rule 19).
    function _addUsage(address account, address key, uint256 value, uint256 fee, uint128 dailyLimit)
        internal
    {
        (uint256 turnover, uint256 fees) = usageOf(account, key);
        turnover += value;
        fees += fee;
        // A lowered limit may lie under what the day has seen; an action that moves nothing is still within it.
        if (value != 0 && turnover > dailyLimit) revert DailyLimitExceeded(turnover, dailyLimit);
        uint256 feeCap = TradeBounds.dailyFeeCap(dailyLimit);
        if (fees > feeCap) revert DailyFeesExceeded(fees, feeCap);
        Usage storage used = _usage[account][key];
        used.day = uint32(Math.max(used.day, _today())); // never back
        // Both fit: turnover is at most a dailyLimit (uint128) of some moment of the day, fees at most $20.
        used.turnover = uint128(turnover);
        used.fees = uint96(fees);
    }

    function _grant(address account, address owner, GrantTerms calldata terms) private {
        if (terms.key == address(0) || terms.key == account) revert BadTerms("key");
        if (terms.validUntil <= block.timestamp) revert BadTerms("validUntil");
        if (terms.maxSlippageBps > Constants.MAX_SESSION_SLIPPAGE_BPS) revert BadTerms("maxSlippageBps");
        _accounts[account].granted = true;
        Grant storage given = _grants[account][terms.key];
        uint32 epoch = given.epoch + 1;
        given.owner = owner;
        given.validUntil = terms.validUntil;
        given.maxSlippageBps = terms.maxSlippageBps;
        given.coverEnabled = terms.coverEnabled;
        given.active = true;
        given.epoch = epoch;
        given.dailyLimit = terms.dailyLimit;
        given.coverDailyLimit = terms.coverDailyLimit;
        emit Granted(account, terms.key, owner, epoch, terms);
    }

    function _today() private view returns (uint32) {
        return uint32(block.timestamp / 1 days);
    }
}
