// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {SafeCalls} from "../accounts/SafeCalls.sol";
import {SignedActions} from "../accounts/SignedActions.sol";
import {TradeBounds} from "../accounts/TradeBounds.sol";
import {ICoverMarket} from "../interfaces/ICoverMarket.sol";
import {ICoverModule} from "../interfaces/ICoverModule.sol";
import {IExitEscrow} from "../interfaces/IExitEscrow.sol";
import {INavOracle} from "../interfaces/INavOracle.sol";
import {ISessionModule} from "../interfaces/ISessionModule.sol";

/// Executes the cover actions that a session key signed, inside its grant. What must hold:
/// - a key can only buy cover, for a basket that the account holds, at 3% of the cover or less; and take back
///   requests of the account. It underwrites nothing, and touches no offer;
/// - what it locks in a day, premiums and cover fees, stays within the grant's cover limit, and a cancel gives
///   nothing of the limit back (rule 21);
/// - its network fees count with those of its trades against one daily cap (rule 20);
/// - nonce, signature, pause and fee are as SignedActions says.
///
/// A take that would run twice, or run into other terms, cannot: listing ids bind their terms (rule 24).
contract CoverModule is ICoverModule, SignedActions {
    using SafeCalls for address;

    struct Usage {
        uint32 day; // UTC day of the last action that locked something, block.timestamp / 1 days
        uint128 spent; // USDG
    }

    /// As in wire.md, "Agent session, trade, cover".
    bytes32 public constant ACTION_TYPEHASH = keccak256(
        "CoverAction(address account,address key,uint8 kind,bytes data,uint256 nonce,uint48 deadline,uint256 fee)"
    );
    uint8 public constant TAKE = 0;
    uint8 public constant REQUEST = 1;
    uint8 public constant OFFER = 2;
    uint8 public constant FILL = 3;
    uint8 public constant CANCEL = 4;
    uint8 public constant STOP_REPEATING = 5;

    ISessionModule public immutable session;
    ICoverMarket public immutable market;
    IExitEscrow public immutable exitEscrow;
    INavOracle public immutable oracle;

    mapping(address account => mapping(address key => Usage)) private _usage;

    constructor(
        address usdg_,
        address oracle_,
        address pause_,
        address session_,
        address market_,
        address exitEscrow_
    ) SignedActions("basket cover", usdg_, pause_) {
        if (oracle_.code.length == 0) revert ISessionModule.BadTerms("oracle");
        if (session_.code.length == 0) revert ISessionModule.BadTerms("session module");
        if (market_.code.length == 0) revert ISessionModule.BadTerms("cover market");
        if (exitEscrow_.code.length == 0) revert ISessionModule.BadTerms("exit escrow");
        oracle = INavOracle(oracle_);
        session = ISessionModule(session_);
        market = ICoverMarket(market_);
        exitEscrow = IExitEscrow(exitEscrow_);
    }

    /// @inheritdoc ICoverModule
    function execute(CoverAction calldata action, bytes calldata signature)
        external
        nonReentrant
        returns (uint256 spent)
    {
        bytes32 digest = hashAction(action);
        _checkSignature(digest, action.key, signature);
        ISessionModule.Grant memory given = session.grantOf(action.account, action.key);
        _checkAction(action, given);
        _spendNonce(action.account, action.key, given.epoch, action.nonce);
        if (action.kind == TAKE) spent = _take(action);
        else if (action.kind == REQUEST) spent = _request(action);
        else _cancel(action);
        _count(action.account, action.key, spent, given.coverDailyLimit);
        if (action.fee != 0) session.countFee(action.account, action.key, action.fee);
        emit CoverExecuted(
            action.account, action.key, digest, action.nonce, action.kind, spent, action.fee, msg.sender
        );
        _payFee(action.account, action.fee);
    }

    /// @inheritdoc ICoverModule
    function usageOf(address account, address key) public view returns (uint256 spent) {
        Usage storage used = _usage[account][key];
        // A clock behind the last action's day must not reset it (rule 27: a forced transaction can carry old time).
        if (_today() > used.day) return 0;
        return used.spent;
    }

    /// @inheritdoc ICoverModule
    function nonceUsed(address account, uint256 nonce) external view returns (bool) {
        return _nonceUsed(account, nonce);
    }

    /// @inheritdoc ICoverModule
    function nonceSpaceOf(address account, address key) external view returns (uint96) {
        return _nonceSpace(key, session.grantOf(account, key).epoch);
    }

    /// @inheritdoc ICoverModule
    function hashAction(CoverAction calldata action) public view returns (bytes32 digest) {
        return _hashTypedDataV4(
            keccak256(
                abi.encode(
                    ACTION_TYPEHASH,
                    action.account,
                    action.key,
                    action.kind,
                    keccak256(action.data),
                    action.nonce,
                    action.deadline,
                    action.fee
                )
            )
        );
    }

    /// Everything that can be refused before the market is read.
    function _checkAction(CoverAction calldata action, ISessionModule.Grant memory given) private view {
        uint8 kind = action.kind;
        if (kind > STOP_REPEATING) revert ISessionModule.UnknownKind(kind);
        if (kind == OFFER || kind == FILL || kind == STOP_REPEATING) revert OwnerOnly(kind);
        _checkGrant(given, action.account, session.accountPaused(action.account), action.deadline, action.fee);
        if (!given.coverEnabled) revert CoverDisabled();
        if (kind == CANCEL && action.fee != 0) revert ISessionModule.FeeTooHigh(action.fee, 0);
    }

    function _take(CoverAction calldata action) private returns (uint256 cost) {
        (uint256[] memory ids, uint64[] memory coverUsd, uint256 minCoverUsd, uint256 limit) =
            abi.decode(action.data, (uint256[], uint64[], uint256, uint256));
        if (ids.length != coverUsd.length) revert ISessionModule.BadTerms("lengths");
        if (ids.length == 0 || ids.length > Constants.MAX_SESSION_COVER_OFFERS) {
            revert ISessionModule.BadTerms("ids");
        }
        uint256 total;
        for (uint256 i; i < coverUsd.length; ++i) {
            total += coverUsd[i];
        }
        if (total != minCoverUsd) revert ISessionModule.BadTerms("minCoverUsd");
        uint256 ceiling = total * Constants.USD * Constants.MAX_SESSION_COVER_COST_BPS / Constants.BPS;
        if (limit > ceiling) revert CostAboveCeiling(limit, ceiling);
        // The market refuses offers of several baskets in one take, so the first speaks for all.
        address vault = market.listingOf(ids[0]).terms.vault;
        _checkHolder(action.account, vault);
        bytes memory payload = abi.encodeCall(ICoverMarket.take, (ids, coverUsd, total, limit));
        (bytes memory result, uint256 spent) = _spend(action.account, vault, limit, payload, 2);
        uint256 taken;
        (taken, cost) = abi.decode(result, (uint256, uint256));
        if (taken != total || spent != cost) revert ISessionModule.UnexpectedDelta(address(usdg));
        if (cost > limit) revert CostAboveCeiling(cost, limit);
    }

    function _request(CoverAction calldata action) private returns (uint256 premium) {
        ICoverMarket.Terms memory terms = abi.decode(action.data, (ICoverMarket.Terms));
        if (terms.pricePer1k % Constants.COVER_PRICE_STEP != 0) revert ISessionModule.BadTerms("pricePer1k");
        // The fee is inside the premium, so $30 per $1,000 is the 3% of the cover.
        if (terms.pricePer1k > Constants.MAX_SESSION_COVER_PRICE) {
            revert CostAboveCeiling(terms.pricePer1k, Constants.MAX_SESSION_COVER_PRICE);
        }
        _checkHolder(action.account, terms.vault);
        premium = _premiumOf(terms, terms.coverUsd);
        bytes memory payload = abi.encodeCall(ICoverMarket.request, (terms));
        (, uint256 spent) = _spend(action.account, terms.vault, premium, payload, 1);
        if (spent != premium) revert ISessionModule.UnexpectedDelta(address(usdg));
    }

    /// The rest of the premium comes back, in full and at once.
    function _cancel(CoverAction calldata action) private {
        uint256 id = abi.decode(action.data, (uint256));
        ICoverMarket.Listing memory listing = market.listingOf(id);
        if (listing.side != ICoverMarket.Side.Request || listing.owner != action.account) {
            revert NotARequest(id);
        }
        uint256 before = usdg.balanceOf(action.account);
        action.account.call(address(market), abi.encodeCall(ICoverMarket.cancel, (id)), 0);
        if (usdg.balanceOf(action.account) != before + _premiumOf(listing.terms, listing.openUsd)) {
            revert ISessionModule.UnexpectedDelta(address(usdg));
        }
    }

    /// Calls the market with an allowance of `most`, and finds nothing of it left and no share moved. `spent` is what
    /// the account has less.
    function _spend(address account, address vault, uint256 most, bytes memory payload, uint256 words)
        private
        returns (bytes memory result, uint256 spent)
    {
        uint256 cashBefore = usdg.balanceOf(account);
        uint256 sharesBefore = IERC20(vault).balanceOf(account);
        account.approve(address(usdg), address(market), most);
        result = account.call(address(market), payload, words);
        account.clearAllowance(address(usdg), address(market));
        if (IERC20(vault).balanceOf(account) != sharesBefore) revert ISessionModule.UnexpectedDelta(vault);
        spent = cashBefore - usdg.balanceOf(account); // whoever leaves it richer than before is refused here
    }

    /// Shares, free or in exit orders, worth at least $5 at the reference (rule 21); of a basket that has cover, so
    /// that no stranger's contract is ever asked (rule 17).
    function _checkHolder(address account, address vault) private view {
        if (market.capOf(vault) == 0) revert ISessionModule.UnknownVault(vault);
        uint256 shares = IERC20(vault).balanceOf(account) + exitEscrow.escrowedShares(account, vault);
        uint256 value = TradeBounds.value(shares, oracle.referenceNav(vault), Math.Rounding.Floor);
        if (value < Constants.MIN_COVER_HOLDING) {
            revert NotAHolder(vault, value, Constants.MIN_COVER_HOLDING);
        }
    }

    /// Exact, since a price is in whole cents per $1,000.
    function _premiumOf(ICoverMarket.Terms memory terms, uint256 coverUsd) private pure returns (uint256) {
        return coverUsd * terms.pricePer1k / 1_000;
    }

    /// Adds to what the key locked today; it only grows within a day, whatever happens to the grant or the listing.
    function _count(address account, address key, uint256 spent, uint128 limit) private {
        if (spent == 0) return;
        uint256 total = usageOf(account, key) + spent;
        if (total > limit) revert CoverLimitExceeded(total, limit);
        Usage storage used = _usage[account][key];
        used.day = uint32(Math.max(used.day, _today())); // never back
        used.spent = uint128(total); // at most a coverDailyLimit (uint128) of some moment of the day
    }

    function _today() private view returns (uint32) {
        return uint32(block.timestamp / 1 days);
    }
}
