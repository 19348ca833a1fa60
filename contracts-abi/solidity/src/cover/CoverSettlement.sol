// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Constants} from "../Constants.sol";
import {ICoverMarket} from "../interfaces/ICoverMarket.sol";
import {INavOracle} from "../interfaces/INavOracle.sol";
import {CoverCalendar} from "./CoverCalendar.sol";
import {CoverMath} from "./CoverMath.sol";

/// From sold cover to money: two snapshots or a void, then payouts. All of it by anyone, none of it under the pause.
///
/// Rewards cannot be farmed. Out of a market that settles, the two snapshots take at most a half of its fees and its
/// payouts at most the other half, and these fees are never given back. A void gives them back, so there a close
/// snapshot and the void together take at most one step's reward, and its payouts none.
///
/// A pool that somebody funded pays within the same bounds. A market that settles borrows at most $0.20 of it, and its
/// positions put back at least all that was taken; one that is voided, by neglect or by force, costs it $0.10 at most.
/// For good it so loses no more than $0.10 per listed basket and week, and to the treasury what is above the reserve.
abstract contract CoverSettlement is CoverCalendar {
    using SafeCast for uint256;

    /// @inheritdoc ICoverMarket
    function snapshot(uint32 week, address vault, address executor)
        external
        nonReentrant
        returns (uint256 reward)
    {
        address payee = _payee(executor);
        Market storage market = _soldMarket(week, vault);
        if (market.outcome != Outcome.Open) revert WrongOutcome(week, vault, market.outcome);
        (uint128 nav, uint256 endsAt) = _navOf(vault, weekOf(week).close);
        market.outcome = Outcome.Closed;
        market.closeNav = nav;
        reward = _takeReward(CoverMath.stepReward(market.fees));
        market.closeReward = uint32(reward);
        emit SnapshotTaken(week, vault, nav, endsAt, payee, reward);
        _pay(payee, reward);
    }

    /// @inheritdoc ICoverMarket
    function settle(uint32 week, address vault, address executor)
        external
        nonReentrant
        returns (uint256 reward)
    {
        address payee = _payee(executor);
        Market storage market = _soldMarket(week, vault);
        if (market.outcome != Outcome.Closed) revert WrongOutcome(week, vault, market.outcome);
        (uint128 nav, uint256 endsAt) = _navOf(vault, weekOf(week).settle);
        market.outcome = Outcome.Settled;
        market.settleNav = nav;
        reward = _takeReward(CoverMath.stepReward(market.fees));
        emit WeekSettled(week, vault, nav, endsAt, payee, reward);
        _pay(payee, reward);
    }

    /// @inheritdoc ICoverMarket
    function voidWeek(uint32 week, address vault, address executor)
        external
        nonReentrant
        returns (uint256 reward)
    {
        address payee = _payee(executor);
        Market storage market = _soldMarket(week, vault);
        Outcome outcome = market.outcome;
        if (outcome != Outcome.Open && outcome != Outcome.Closed) revert WrongOutcome(week, vault, outcome);
        WeekTimes memory times = weekOf(week);
        uint256 missedAt =
            (outcome == Outcome.Open ? times.close : times.settle) + Constants.SNAPSHOT_VALIDITY;
        if (block.timestamp < missedAt) revert TooEarly(missedAt);
        market.outcome = Outcome.Void;
        reward = _takeReward(CoverMath.stepReward(market.fees) - market.closeReward);
        emit WeekVoided(week, vault, payee, reward);
        _pay(payee, reward);
    }

    /// @inheritdoc ICoverMarket
    function payout(uint256[] calldata positionIds, address executor)
        external
        nonReentrant
        returns (uint256 paid, uint256 reward)
    {
        address payee = _payee(executor);
        for (uint256 i; i < positionIds.length; ++i) {
            (bool due, uint256 earned) = _payOut(positionIds[i]);
            if (!due) continue;
            ++paid;
            reward += earned;
        }
        if (paid == 0) revert NothingToPay();
        reward = _takeReward(reward);
        emit RewardPaid(payee, paid, reward);
        _pay(payee, reward);
    }

    /// @inheritdoc ICoverMarket
    function payoutOf(uint256 positionId) external view returns (uint256 toBuyer, uint256 toUnderwriter) {
        Position storage position = _positions[positionId];
        Market storage market = _markets[position.week][position.vault];
        if (!_isDue(position, market)) return (0, 0);
        return _split(position, market);
    }

    // ---------------------------------------------------------------- steps

    /// Pays a position that is due; `earned` is the executor's reward for it.
    function _payOut(uint256 positionId) private returns (bool due, uint256 earned) {
        Position storage position = _positions[positionId];
        Market storage market = _markets[position.week][position.vault];
        if (!_isDue(position, market)) return (false, 0);
        (uint256 toBuyer, uint256 toUnderwriter) = _split(position, market);
        uint256 fee = market.outcome == Outcome.Settled ? position.fee : 0;
        (address buyer, address underwriter) = (position.buyer, position.underwriter);
        position.paid = true;
        feePool += fee;
        emit PaidOut(positionId, buyer, underwriter, toBuyer, toUnderwriter, fee);
        _pay(buyer, toBuyer);
        _pay(underwriter, toUnderwriter);
        return (true, CoverMath.payoutReward(fee));
    }

    /// An id that does not exist has sold nothing, in week zero of no vault, which is never settled.
    function _isDue(Position storage position, Market storage market) private view returns (bool) {
        return !position.paid && (market.outcome == Outcome.Settled || market.outcome == Outcome.Void);
    }

    /// Of what a position has locked, all but the fee of a settled one.
    function _split(Position storage position, Market storage market)
        private
        view
        returns (uint256 toBuyer, uint256 toUnderwriter)
    {
        uint256 locked = CoverMath.locked(position.coverUsd);
        if (market.outcome == Outcome.Void) return (uint256(position.premium) + position.fee, locked);
        toBuyer = CoverMath.payout(
            position.coverUsd, position.fromBps, position.toBps, market.closeNav, market.settleNav
        );
        toUnderwriter = locked - toBuyer + position.premium;
    }

    /// Rule 22: the NAV *of* `time`, whoever asks whenever. The window that ends then, or the earliest valid one of the
    /// next three, those before it proven invalid here and now.
    function _navOf(address vault, uint256 time) private view returns (uint128 nav, uint256 endsAt) {
        if (block.timestamp < time) revert TooEarly(time);
        uint256 closedAt = time + Constants.SNAPSHOT_VALIDITY;
        if (block.timestamp >= closedAt) revert TooLate(closedAt);
        for (uint256 i; i < Constants.SNAPSHOT_WINDOWS; ++i) {
            endsAt = time + i * Constants.REFERENCE_WINDOW;
            if (endsAt > block.timestamp) revert NoValidWindow(endsAt);
            (uint256 found, INavOracle.Invalid reason,) = oracle.tryNavAt(vault, endsAt);
            if (reason == INavOracle.Invalid.None) return (found.toUint128(), endsAt);
        }
        revert NoValidWindow(0);
    }

    function _soldMarket(uint32 week, address vault) private view returns (Market storage market) {
        market = _markets[week][vault];
        if (market.soldUsd == 0) revert NothingSold(week, vault);
    }
}
