// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {TradeBounds} from "../../src/accounts/TradeBounds.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {IBasketVault} from "../../src/interfaces/IBasketVault.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {IUniPool} from "../support/UniswapFixture.sol";
import {KeyBooks} from "./KeyBooks.sol";

/// What a hostile key can sign: honest trades without any limit of its own, trades through a pool that it owns,
/// spoiled ones, cover up to the ceiling.
abstract contract KeyActs is KeyBooks {
    uint256 internal constant ANY_PRICE = 100_000e6;
    uint256 internal constant LEAST_TRADE = 0.06e18; // shares, about $6

    uint256[] internal requests; // of the account, made by its keys

    // ---------------------------------------------------------------- trades

    function _trade(uint256 seed, uint256 amount, bool buy, uint256 fee)
        internal
        returns (ISessionModule.Action memory action)
    {
        _pick(seed);
        BasketVault vault = (seed >> 8) % 4 == 0 ? mixed : covered;
        amount = bound(amount, LEAST_TRADE, 0.9e18);
        if (!buy) amount = Math.min(amount, vault.balanceOf(account));
        action = blankAction(vault, amount);
        action.nonce = _nextNonce();
        action.kind = buy ? 0 : 1;
        action.limit = buy ? type(uint128).max : 0;
        action.slippageBps = module.grantOf(account, key).maxSlippageBps;
        action.fee = bound(fee, 0, 400_000);
        action.data = abi.encode(_swaps(vault, amount, buy));
    }

    /// Swaps through the reference pools, without limits: the module's own bound is the only one.
    function _swaps(BasketVault vault, uint256 amount, bool buy)
        private
        view
        returns (SwapCall[] memory swaps)
    {
        IBasketVault.Constituent[] memory parts = vault.constituents();
        uint256[] memory units = buy ? vault.previewMint(amount) : vault.previewRedeem(amount);
        swaps = new SwapCall[](2); // both baskets have two constituents that are not USDG
        uint256 next;
        for (uint256 i; i < parts.length; i++) {
            if (parts[i].token == address(usdg)) continue;
            Asset memory asset = _asset(parts[i].token);
            swaps[next++] = buy ? _buyLeg(asset, units[i]) : exactInput(asset, units[i]);
        }
    }

    function _asset(address token) private view returns (Asset memory) {
        if (token == address(foxtrot.token)) return foxtrot;
        return token == address(golf.token) ? golf : assetOf(token);
    }

    function _buyLeg(Asset memory asset, uint256 units) internal view returns (SwapCall memory) {
        return SwapCall(
            swapRouter,
            address(usdg),
            address(asset.token),
            ANY_PRICE,
            abi.encodeWithSelector(
                0x5023b4df, // exactOutputSingle
                ExactSingle(
                    address(usdg), address(asset.token), asset.fee, address(zapper), units, ANY_PRICE, 0
                )
            )
        );
    }

    /// The first leg of COVERED goes through the key's own pool of foxtrot.
    function _trapped(ISessionModule.Action memory action)
        internal
        view
        returns (ISessionModule.Action memory)
    {
        SwapCall[] memory swaps = abi.decode(action.data, (SwapCall[]));
        Asset memory trapped = foxtrot;
        trapped.fee = TRAP_FEE;
        swaps[0] = action.kind == 0
            ? _buyLeg(trapped, covered.previewMint(action.amount)[0])
            : exactInput(trapped, swaps[0].amountIn);
        action.data = abi.encode(swaps);
        return action;
    }

    /// A trade of COVERED through the trap. The key pushes the pools from where they stand to `offBps` from the
    /// reference, towards it or away from it, prices the trap so that the account gets what its slippage must leave
    /// it and `slackBps` more, and puts every price back afterwards: a transaction of its own.
    function _sandwich(uint256 seed, uint256 amount, int256 offBps, uint256 slackBps)
        internal
        returns (bool ok, bytes memory result)
    {
        // Of an account that has sold all there is nothing to sell dearer.
        bool buy = seed >> 16 & 1 == 0 || covered.balanceOf(account) < LEAST_TRADE;
        uint256 foxtrotAt = poolPrice(foxtrot.pool, address(foxtrot.token));
        uint256 golfAt = poolPrice(golf.pool, address(golf.token));
        uint256 standing = oracle.spotNav(address(covered));
        (uint256 nav,,) = oracle.tryReferenceNav(address(covered));
        if (nav == 0) nav = standing; // refused then, for want of a reference
        _scalePrices(nav * uint256(10_000 + offBps) / standing);
        ISessionModule.Action memory action = _trade(seed | 1 << 8, amount, buy, 0);
        movePrice(trap, address(foxtrot.token), _trapPrice(action, nav, slackBps));
        Sent memory s = _sign(_trapped(action));
        s.standing = standing;
        (ok, result) = _send(s);
        movePrice(foxtrot.pool, address(foxtrot.token), foxtrotAt);
        movePrice(golf.pool, address(golf.token), golfAt);
        movePrice(trap, address(foxtrot.token), foxtrotAt);
    }

    /// Both pools of COVERED, by one factor.
    function _scalePrices(uint256 bps) internal {
        Asset[2] memory assets = [foxtrot, golf];
        for (uint256 i; i < 2; i++) {
            (IUniPool pool, address token) = (assets[i].pool, address(assets[i].token));
            movePrice(pool, token, poolPrice(pool, token) * bps / 10_000);
        }
    }

    /// Dollars x 1e18 a foxtrot at which the trade just passes: what the bound at the reference `nav` leaves of the
    /// zap fee (0.2%) and of golf's leg (1%), less the trap's own fee (0.05%).
    function _trapPrice(ISessionModule.Action memory action, uint256 nav, uint256 slackBps)
        private
        view
        returns (uint256)
    {
        bool buy = action.kind == 0;
        uint256[] memory units =
            buy ? covered.previewMint(action.amount) : covered.previewRedeem(action.amount);
        uint256 bps = buy
            ? 10_000 + uint256(action.slippageBps) - 20 - slackBps
            : 10_000 - uint256(action.slippageBps) + 20 + slackBps;
        uint256 whole = action.amount * nav / 1e18 * bps / 10_000;
        uint256 golfs = units[1] * poolPrice(golf.pool, address(golf.token)) / 1e18;
        golfs = buy ? golfs * 100 / 99 : golfs * 99 / 100;
        return (whole - golfs) * (buy ? 9_995 : 10_005) / 10_000 * 1e18 / units[0];
    }

    /// One thing wrong with an otherwise fair trade; some of them it may survive.
    function _spoiled(ISessionModule.Action memory action, uint256 seed)
        internal
        returns (ISessionModule.Action memory, bool mayRun)
    {
        SwapCall[] memory swaps = abi.decode(action.data, (SwapCall[]));
        uint256 index = seed % 2;
        uint256 way = (seed >> 4) % 13;
        mayRun = way == 1 || way == 2 || way == 5 || way == 11; // 1: MIXED holds alfa
        if (way == 0) {
            SwapCall[] memory fewer = new SwapCall[](1);
            fewer[0] = swaps[index];
            action.data = abi.encode(fewer);
        } else if (way == 1) {
            SwapCall[] memory more = new SwapCall[](3);
            (more[0], more[1]) = (swaps[0], swaps[1]);
            more[2] = action.kind == 0 ? exactInputBuy(alfa, 1e6) : exactInput(alfa, 1e18);
            action.data = abi.encode(more);
        } else if (way == 2) {
            swaps[index].callData[seed % swaps[index].callData.length] ^= bytes1(uint8(seed >> 96) | 1);
            action.data = abi.encode(swaps);
        } else if (way == 3) {
            swaps[index].router = [address(usdg), address(market), account, address(this)][seed >> 32 & 3];
            action.data = abi.encode(swaps);
        } else if (way == 4) {
            action.vault = [address(blind), address(usdg), account, address(uint160(seed))][seed >> 32 & 3];
        } else if (way == 5) {
            action.amount = seed >> 32 & 1 == 0 ? action.amount * 2 : action.amount / 2;
        } else if (way == 6) {
            action.deadline = seed >> 32 & 1 == 0
                ? uint48(vm.getBlockTimestamp() - 1)
                : uint48(vm.getBlockTimestamp() + 15 minutes + 1);
        } else if (way == 7) {
            action.kind = uint8(2 + (seed >> 32) % 254);
        } else if (way == 8) {
            action.slippageBps = uint16(bound(seed >> 32, uint256(action.slippageBps) + 1, 10_000));
        } else if (way == 9) {
            action.nonce = (seed << 160) | uint160(action.nonce); // some other space
        } else if (way == 10) {
            action.fee = 10e6 + 1;
        } else if (way == 11) {
            // A little more or less of a leg than the shares need: what is left over goes to the account.
            Asset memory asset = _asset(action.kind == 0 ? swaps[index].tokenOut : swaps[index].tokenIn);
            uint256 units = action.kind == 0
                ? BasketVault(action.vault).previewMint(action.amount)[index]
                : swaps[index].amountIn;
            units = units * bound(seed >> 24, 9_950, 10_050) / 10_000;
            swaps[index] = action.kind == 0 ? _buyLeg(asset, units) : exactInput(asset, units);
            action.data = abi.encode(swaps);
        } else {
            action.data = abi.encodePacked(seed, action.data);
        }
        return (action, mayRun);
    }

    // ---------------------------------------------------------------- cover

    function _take(uint256 seed, uint256 coverUsd, uint256 fee)
        internal
        returns (ICoverModule.CoverAction memory action)
    {
        _pick(seed);
        uint256 price = bound(seed >> 8, 1, 2_970) * 10_000;
        uint64 amount = uint64(bound(coverUsd, 50, 300));
        uint256 id = placeOffer(_weekly(seed >> 32, amount, price));
        // Exactly the cost, or all that the ceiling allows.
        action = takeAction(id, amount, seed >> 60 & 1 == 0 ? costOf(amount, price) : amount * 30_000);
        action.nonce = _nextNonce();
        action.fee = bound(fee, 0, 200_000);
    }

    function _request(uint256 seed, uint256 coverUsd, uint256 fee)
        internal
        returns (ICoverModule.CoverAction memory action)
    {
        _pick(seed);
        uint256 price = bound(seed >> 8, 1, 3_000) * 10_000;
        action = requestAction(_weekly(seed >> 32, uint64(bound(coverUsd, 50, 300)), price));
        action.nonce = _nextNonce();
        action.fee = bound(fee, 0, 200_000);
    }

    /// One thing wrong with otherwise good cover, and what it is refused with.
    function _spoiledCover(uint256 seed, uint256 coverUsd)
        internal
        returns (ICoverModule.CoverAction memory action, bytes4 why)
    {
        action = _request(seed, coverUsd, 0);
        ICoverMarket.Terms memory terms = abi.decode(action.data, (ICoverMarket.Terms));
        uint256 way = (seed >> 64) % 12;
        if (way == 0) {
            action.kind = [2, 3, 5][seed >> 96 & 1];
            why = ICoverModule.OwnerOnly.selector;
        } else if (way == 1) {
            action.kind = uint8(bound(seed >> 96, 6, 255));
            why = ISessionModule.UnknownKind.selector;
        } else if (way == 2) {
            terms.pricePer1k = 30_010_000;
            action.data = abi.encode(terms);
            why = ICoverModule.CostAboveCeiling.selector;
        } else if (way == 3) {
            terms.pricePer1k++;
            action.data = abi.encode(terms);
            why = ISessionModule.BadTerms.selector;
        } else if (way == 4) {
            terms.vault = [address(mixed), address(usdg), account, address(uint160(seed))][seed >> 96 & 3];
            action.data = abi.encode(terms);
            why = ISessionModule.UnknownVault.selector;
        } else if (way == 5) {
            terms.toBps = terms.fromBps;
            action.data = abi.encode(terms);
            why = _marketsRefusal();
        } else if (way == 6) {
            terms.week += 3;
            action.data = abi.encode(terms);
            why = _marketsRefusal();
        } else if (way == 7) {
            action.fee = bound(seed >> 96, 10e6 + 1, type(uint256).max);
            why = ISessionModule.FeeTooHigh.selector;
        } else if (way == 8) {
            // The owner's own offer, or a stranger's.
            uint256 offered = seed >> 96 & 1 == 0 ? ownersOffer : placeOffer(terms);
            (action.kind, action.data) = (CANCEL, abi.encode(offered));
            why = ICoverModule.NotARequest.selector;
        } else if (way == 9) {
            uint256 id = placeOffer(terms);
            action.kind = TAKE;
            action.data = takeAction(id, terms.coverUsd, uint256(terms.coverUsd) * 30_000 + 1).data;
            why = ICoverModule.CostAboveCeiling.selector;
        } else if (way == 10) {
            action.deadline = uint48(vm.getBlockTimestamp() + 15 minutes + 1);
            why = ISessionModule.DeadlineTooFar.selector;
        } else {
            action.nonce = uint160(action.nonce); // no space at all
            why = ISessionModule.WrongNonceSpace.selector;
        }
    }

    /// Of terms that only the market looks at; the holding comes before.
    function _marketsRefusal() private view returns (bytes4) {
        (uint256 nav,,) = oracle.tryReferenceNav(address(covered));
        if (nav == 0) return INavOracle.NoReference.selector;
        uint256 value = TradeBounds.value(covered.balanceOf(account), nav, Math.Rounding.Floor);
        return value < 5e6 ? ICoverModule.NotAHolder.selector : ISessionModule.ModuleCallFailed.selector;
    }

    /// A request that costs little beside its fee.
    function _cheapest(uint256 fee) private returns (ICoverModule.CoverAction memory action) {
        action = requestAction(weekTerms(50, 10_000));
        action.nonce = _nextNonce();
        action.fee = fee;
    }

    /// Fair, but for more than the day has left of turnover, cover, or fees.
    function _beyond(uint256 seed, uint256 amount) internal returns (Sent memory s, bytes4 why) {
        uint256 way = (seed >> 64) % 3;
        ISessionModule.Action memory trade = _trade(seed, amount, true, 0);
        ISessionModule.Grant memory given = module.grantOf(account, key);
        (uint256 turnover, uint256 fees) = module.usageOf(account, key);
        if (way == 0) {
            uint256 left = _left(given.dailyLimit, turnover);
            (uint256 nav,,) = oracle.tryReferenceNav(trade.vault);
            if (nav == 0) nav = 100e18;
            trade.amount = left * 1e30 / nav + 0.1e18;
            trade.data = abi.encode(_swaps(BasketVault(trade.vault), trade.amount, true));
            return (_sign(trade), ISessionModule.DailyLimitExceeded.selector);
        }
        if (way == 1) {
            uint256 left = _left(module.dailyFeeCapOf(given.dailyLimit), fees);
            for (; left >= 10e6; left -= 9e6) {
                (bool ok,) = _send(_sign(_cheapest(9e6)));
                if (!ok) break;
            }
            why =
                left >= 10e6 ? ISessionModule.FeeTooHigh.selector : ISessionModule.DailyFeesExceeded.selector;
            trade.fee = left + 1;
            return (seed >> 72 & 1 == 0 ? _sign(trade) : _sign(_cheapest(left + 1)), why);
        }
        uint256 open_ = _left(given.coverDailyLimit, coverModule.usageOf(account, key));
        // At $30 per $1,000 a dollar of cover costs three cents.
        ICoverMarket.Terms memory terms = weekTerms(uint64(open_ / 30_000 + 50), 30e6);
        ICoverModule.CoverAction memory cover = requestAction(terms);
        cover.nonce = _nextNonce();
        return (_sign(cover), ICoverModule.CoverLimitExceeded.selector);
    }

    /// Any of the three weeks that trade.
    function _weekly(uint256 seed, uint64 coverUsd, uint256 price)
        private
        view
        returns (ICoverMarket.Terms memory terms)
    {
        terms = weekTerms(coverUsd, uint128(price));
        terms.week += uint32(seed % 3);
    }
}
