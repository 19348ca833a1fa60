// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {Constants} from "../Constants.sol";
import {IBasketVault} from "../interfaces/IBasketVault.sol";
import {CoverDepth} from "./CoverDepth.sol";
import {CoverLedger} from "./CoverLedger.sol";

/// What is tradable when: published weeks and listed baskets. Both only ever grow, and nothing in them changes.
///
/// Time (rule 27): a week trades while now < cutoff, its snapshots may be taken while T <= now < T + 60 min, and it is
/// void once now >= T + 60 min without one. A transaction forced through the parent chain may carry a timestamp up to
/// a day old, if the chain itself stood still: it can then trade a week whose cutoff has passed in the world outside,
/// and take a snapshot after its hour. It cannot choose the snapshot's value, nor trade once one is taken.
abstract contract CoverCalendar is CoverLedger, Ownable2Step {
    struct Week {
        uint48 close;
        uint48 settle;
        uint32 number; // place in `_weekIds`, from 1; zero when never published
    }

    uint32[] private _weekIds;
    mapping(uint32 week => Week) private _weeks;
    address[] private _vaults;
    mapping(address vault => uint64) public capOf;
    mapping(address pool => uint256) private _pledged; // cover times weight, of all listed baskets, USDG base units

    /// Reverts BadWeek for the first one that is out of order, too short, too long, too soon or too far.
    function publishWeeks(WeekTimes[] calldata times) external onlyOwner {
        for (uint256 i; i < times.length; ++i) {
            (uint48 close, uint48 settle) = (times[i].close, times[i].settle);
            uint256 count = _weekIds.length;
            uint32 id = uint32(close / 7 days);
            if (
                settle < close + Constants.MIN_COVER_WEEKEND || settle > close + Constants.MAX_COVER_WEEKEND
                    || close < block.timestamp + Constants.COVER_CUTOFF + Constants.COVER_PUBLISH_LEAD
                    || close > block.timestamp + Constants.COVER_PUBLISH_AHEAD
            ) revert BadWeek(close, settle);
            uint256 from = block.timestamp;
            if (count != 0) {
                uint32 last = _weekIds[count - 1];
                if (id <= last || close <= _weeks[last].settle) revert BadWeek(close, settle);
                if (_weeks[last].close > from) from = _weeks[last].close;
            }
            if (close > from + Constants.MAX_COVER_GAP) revert BadWeek(close, settle);
            _weekIds.push(id);
            _weeks[id] = Week(close, settle, uint32(count + 1));
            emit WeekPublished(id, close, settle);
        }
    }

    function listVault(address vault, uint64 capUsd) external onlyOwner {
        if (capOf[vault] != 0) revert AlreadyListed(vault);
        if (!registry.isVault(vault)) revert UnknownVault(vault);
        if (!registry.ordersEnabled(vault)) revert BadTerms("orders disabled");
        // A snapshot must fit into a block, with rings as long and as crooked as anyone may make them.
        if (IBasketVault(vault).constituentCount() > Constants.MAX_COVER_CONSTITUENTS) {
            revert BadTerms("constituents");
        }
        if (!CoverDepth.remembers(vault, address(oracle))) revert BadTerms("cardinality");
        if (capUsd < Constants.MIN_COVER_USD) revert BelowMinimum(capUsd, Constants.MIN_COVER_USD);
        uint64 most = depthCapOf(vault);
        if (capUsd > most) revert CapTooHigh(capUsd, most);
        CoverDepth.pledge(vault, address(oracle), capUsd, _pledged);
        capOf[vault] = capUsd;
        _vaults.push(vault);
        emit VaultListed(vault, capUsd);
    }

    function weekOf(uint32 week) public view returns (WeekTimes memory) {
        return WeekTimes(_weeks[week].close, _weeks[week].settle);
    }

    function publishedWeeks() external view returns (uint32[] memory) {
        return _weekIds;
    }

    /// By bisection: weeks are in order, so those whose cutoff has passed come first.
    function currentWeek() public view returns (bool some, uint32 week) {
        uint256 low;
        uint256 high = _weekIds.length;
        while (low < high) {
            uint256 middle = (low + high) / 2;
            if (_trades(_weekIds[middle])) high = middle;
            else low = middle + 1;
        }
        some = low < _weekIds.length;
        if (some) week = _weekIds[low];
    }

    /// Whether the week is published, its cutoff ahead, and at most COVER_WEEKS_AHEAD after the current one: that is,
    /// the one before these no longer trades. A pause is not seen here.
    function tradingOpen(uint32 week) public view returns (bool) {
        uint256 number = _weeks[week].number;
        if (number == 0 || !_trades(week)) return false;
        uint256 ahead = Constants.COVER_WEEKS_AHEAD + 1;
        return number <= ahead || !_trades(_weekIds[number - 1 - ahead]);
    }

    function coverVaults() external view returns (address[] memory) {
        return _vaults;
    }

    function depthCapOf(address vault) public view returns (uint64 capUsd) {
        return CoverDepth.capUsd(vault, address(oracle), _pledged);
    }

    function _requireTrading(uint32 week) internal view {
        if (pause.paused()) revert Paused();
        if (!tradingOpen(week)) revert TradingClosed(week);
    }

    function _trades(uint32 week) internal view returns (bool) {
        return block.timestamp + Constants.COVER_CUTOFF < _weeks[week].close;
    }
}
