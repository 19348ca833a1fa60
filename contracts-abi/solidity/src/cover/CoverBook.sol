// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {ICoverMarket} from "../interfaces/ICoverMarket.sol";
import {CoverCalendar} from "./CoverCalendar.sol";
import {CoverMath} from "./CoverMath.sol";

/// Offers and requests, and what is sold out of them. An offer has locked its cover, a request its premium; what is
/// open leaves by a sale, or goes back to the owner, and never twice. Cancelling reads no oracle, registry or pause.
abstract contract CoverBook is CoverCalendar {
    uint256 private _listingCount;
    mapping(uint256 id => Listing) private _listings;

    // ---------------------------------------------------------------- listing

    /// @inheritdoc ICoverMarket
    function offer(Terms calldata terms, bool repeats) external nonReentrant returns (uint256 id) {
        _checkTerms(terms);
        id = _list(msg.sender, Side.Offer, repeats, terms);
        _pull(CoverMath.locked(terms.coverUsd));
    }

    /// @inheritdoc ICoverMarket
    function request(Terms calldata terms) external nonReentrant returns (uint256 id) {
        _checkTerms(terms);
        id = _list(msg.sender, Side.Request, false, terms);
        _pull(CoverMath.premium(terms.coverUsd, terms.pricePer1k));
    }

    /// @inheritdoc ICoverMarket
    function cancel(uint256 id) external nonReentrant {
        Listing storage listing = _openListing(id);
        if (msg.sender != listing.owner) revert NotOwner(id);
        (address owner, uint256 returned) = _close(listing);
        emit ListingCancelled(id, owner, returned);
        _pay(owner, returned);
    }

    /// @inheritdoc ICoverMarket
    function stopRepeating(uint256 id) external nonReentrant {
        Listing storage listing = _openListing(id);
        if (msg.sender != listing.owner) revert NotOwner(id);
        if (!listing.repeats) revert DoesNotRepeat(id);
        listing.repeats = false;
        emit RepeatStopped(id);
    }

    /// @inheritdoc ICoverMarket
    function sendBack(uint256 id) external nonReentrant {
        Listing storage listing = _openListing(id);
        _requireCutOff(listing);
        if (listing.repeats) revert Repeats(id);
        (address owner, uint256 returned) = _close(listing);
        emit ListingSentBack(id, owner, returned);
        _pay(owner, returned);
    }

    /// A new id each week (rule 24): what was signed for one weekend is never sold for another.
    /// @inheritdoc ICoverMarket
    function roll(uint256 id) external nonReentrant returns (uint256 next) {
        Listing storage listing = _openListing(id);
        _requireCutOff(listing);
        if (!listing.repeats) revert DoesNotRepeat(id);
        if (pause.paused()) revert Paused();
        Terms memory terms = listing.terms;
        (bool some, uint32 week) = currentWeek();
        if (!some) revert TradingClosed(terms.week);
        (terms.week, terms.coverUsd) = (week, listing.openUsd);
        listing.openUsd = 0;
        next = _list(listing.owner, Side.Offer, true, terms);
        emit ListingRolled(id, next);
    }

    // ---------------------------------------------------------------- sales

    /// @inheritdoc ICoverMarket
    function take(uint256[] calldata ids, uint64[] calldata coverUsd, uint256 minCoverUsd, uint256 limit)
        external
        nonReentrant
        returns (uint256 takenUsd, uint256 cost)
    {
        if (ids.length != coverUsd.length) revert BadTerms("lengths");
        if (ids.length == 0) revert TooLittleCover(0, minCoverUsd);
        (uint32 week, address vault) = _sellingMarket(ids[0]);
        for (uint256 i; i < ids.length; ++i) {
            Listing storage listing = _knownListing(ids[i]);
            if (listing.terms.week != week || listing.terms.vault != vault) revert MixedListings();
            _requireOther(listing, ids[i], Side.Offer);
            uint64 part = _takeable(listing.openUsd, coverUsd[i], _leftUsd(week, vault));
            if (part == 0) continue;
            uint256 premium = CoverMath.premium(part, listing.terms.pricePer1k);
            uint256 fee = CoverMath.fee(premium);
            _sell(ids[i], listing, part, premium, fee);
            takenUsd += part;
            cost += premium + fee;
        }
        if (takenUsd == 0 || takenUsd < minCoverUsd) revert TooLittleCover(takenUsd, minCoverUsd);
        if (cost > limit) revert TooDear(cost, limit);
        _pull(cost);
    }

    /// @inheritdoc ICoverMarket
    function fill(uint256 id, uint64 coverUsd) external nonReentrant returns (uint256 positionId) {
        Listing storage listing = _openListing(id);
        (uint32 week, address vault) = _sellingMarket(id);
        _requireOther(listing, id, Side.Request);
        if (coverUsd > listing.openUsd) revert TooLittleCover(listing.openUsd, coverUsd);
        _requireEnough(listing.openUsd, coverUsd);
        uint64 left = _leftUsd(week, vault);
        if (coverUsd > left) revert CapReached(week, vault, left);
        uint256 locked = CoverMath.premium(coverUsd, listing.terms.pricePer1k);
        uint256 fee = CoverMath.fee(locked);
        positionId = _sell(id, listing, coverUsd, locked - fee, fee);
        _pull(CoverMath.locked(coverUsd));
    }

    // ---------------------------------------------------------------- reads

    /// All zero for an id that never existed.
    /// @inheritdoc ICoverMarket
    function listingOf(uint256 id) external view returns (Listing memory) {
        return _listings[id];
    }

    // ---------------------------------------------------------------- steps

    function _checkTerms(Terms calldata terms) private view {
        if (capOf[terms.vault] == 0) revert UnknownVault(terms.vault);
        _requireTrading(terms.week);
        (uint256 from, uint256 to) = (terms.fromBps, terms.toBps);
        if (from % Constants.COVER_RANGE_STEP_BPS != 0 || to % Constants.COVER_RANGE_STEP_BPS != 0) {
            revert BadTerms("range off the grid");
        }
        if (
            from < Constants.MIN_COVER_FROM_BPS || to < from + Constants.MIN_COVER_WIDTH_BPS
                || to > Constants.MAX_COVER_TO_BPS
        ) revert BadTerms("range");
        if (
            terms.pricePer1k == 0 || terms.pricePer1k % Constants.COVER_PRICE_STEP != 0
                || terms.pricePer1k > Constants.MAX_COVER_PRICE
        ) revert BadTerms("price");
        if (terms.coverUsd < Constants.MIN_COVER_USD) {
            revert BelowMinimum(terms.coverUsd, Constants.MIN_COVER_USD);
        }
    }

    /// The id binds everything that a buyer or an underwriter agrees to, so that a reorganised chain cannot put other
    /// terms under it.
    function _list(address owner, Side side, bool repeats, Terms memory terms) private returns (uint256 id) {
        id = uint256(
            keccak256(
                abi.encode(
                    block.chainid,
                    address(this),
                    owner,
                    side,
                    terms.week,
                    terms.vault,
                    terms.fromBps,
                    terms.toBps,
                    terms.pricePer1k,
                    _listingCount++
                )
            )
        );
        _listings[id] = Listing(owner, side, repeats, terms.coverUsd, terms);
        emit Listed(id, owner, side, repeats, terms);
    }

    /// The sender is the other side of the listing.
    function _sell(uint256 id, Listing storage listing, uint64 coverUsd, uint256 premium, uint256 fee)
        private
        returns (uint256 positionId)
    {
        Position memory sold;
        (sold.buyer, sold.underwriter) =
            listing.side == Side.Offer ? (msg.sender, listing.owner) : (listing.owner, msg.sender);
        sold.coverUsd = coverUsd;
        sold.week = listing.terms.week;
        sold.vault = listing.terms.vault;
        (sold.fromBps, sold.toBps) = (listing.terms.fromBps, listing.terms.toBps);
        (sold.premium, sold.fee) = (uint128(premium), uint128(fee));

        listing.openUsd -= coverUsd;
        Market storage market = _markets[sold.week][sold.vault];
        market.soldUsd += coverUsd;
        market.fees += sold.fee;
        positionId = ++positionCount;
        _positions[positionId] = sold;
        emit CoverSold(positionId, sold.buyer, sold.underwriter, id, coverUsd, sold.premium, sold.fee);
    }

    function _close(Listing storage listing) private returns (address owner, uint256 returned) {
        uint64 openUsd = listing.openUsd;
        listing.openUsd = 0;
        returned = listing.side == Side.Offer
            ? CoverMath.locked(openUsd)
            : CoverMath.premium(openUsd, listing.terms.pricePer1k);
        return (listing.owner, returned);
    }

    /// What of `asked` can be sold: within what is open, and within the cap where that leaves at least the minimum.
    function _takeable(uint64 openUsd, uint64 asked, uint64 left) private pure returns (uint64 part) {
        part = uint64(Math.min(openUsd, asked));
        _requireEnough(openUsd, part);
        if (part <= left) return part;
        return left < Constants.MIN_COVER_USD ? 0 : left;
    }

    /// $50 or all that is left, so that no listing is worn down to crumbs.
    function _requireEnough(uint64 openUsd, uint64 coverUsd) private pure {
        if (coverUsd < Constants.MIN_COVER_USD && coverUsd != openUsd) {
            revert BelowMinimum(coverUsd, Constants.MIN_COVER_USD);
        }
    }

    function _leftUsd(uint32 week, address vault) private view returns (uint64) {
        return capOf[vault] - _markets[week][vault].soldUsd;
    }

    function _requireOther(Listing storage listing, uint256 id, Side side) private view {
        if (listing.side != side) revert WrongSide(id);
        if (listing.owner == msg.sender) revert OwnListing(id);
    }

    function _requireCutOff(Listing storage listing) private view {
        if (_trades(listing.terms.week)) revert StillTrading(listing.terms.week);
    }

    /// The listing's market, while it trades. The outcome is checked for itself: once a snapshot is known, nothing may
    /// be sold, whatever time a block claims (rule 27).
    function _sellingMarket(uint256 id) private view returns (uint32 week, address vault) {
        Terms storage terms = _knownListing(id).terms;
        (week, vault) = (terms.week, terms.vault);
        _requireTrading(week);
        if (_markets[week][vault].outcome != Outcome.Open) revert TradingClosed(week);
    }

    function _knownListing(uint256 id) private view returns (Listing storage listing) {
        listing = _listings[id];
        if (listing.side == Side.None) revert UnknownListing(id);
    }

    function _openListing(uint256 id) private view returns (Listing storage listing) {
        listing = _knownListing(id);
        if (listing.openUsd == 0) revert NotOpen(id);
    }
}
