// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {TradeBounds} from "../../src/accounts/TradeBounds.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {ISafe} from "../../src/interfaces/ISafe.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {HandlerStats} from "../support/HandlerStats.sol";
import {IUniPool} from "../support/UniswapFixture.sol";
import {CoverActions} from "./CoverActions.sol";

interface ISafeModules {
    function getModulesPaginated(address start, uint256 pageSize)
        external
        view
        returns (address[] memory modules, address next);
}

/// The books of an account with two hostile keys: whatever is sent goes through `_submit`, which looks at the
/// account before and after and writes down, per key and UTC day, what it cost. Worth is at the reference, which a
/// trade cannot move within its own block, and once more at the spot prices that stood before the key touched a pool.
///
/// At the reference R a trade of `a` shares costs at most its slippage s of a x R, which is what the day counts at
/// least. At prices S that stood, it costs a x |R - S| more where they stood on the side that hurts: below R for a
/// buy, above it for a sale. Rule 4 keeps that gap within 3% only if nobody moves spot first: a key that pushes
/// it up to R within its own transaction trades however far S was off.
abstract contract KeyBooks is CoverActions, HandlerStats {
    uint256 internal constant KEYS = 2;
    uint24 internal constant TRAP_FEE = 500; // a second pool of foxtrot, at the key's own price

    struct Sent {
        bool cover;
        bool succeeded;
        uint8 who;
        uint32 epoch; // when it was signed
        uint16 slippageBps;
        address vault;
        uint256 nonce;
        uint256 fee;
        uint256 standing; // spot NAV before the key moved the pools; zero where it left them alone
        bytes payload;
    }

    struct Look {
        uint256 cash;
        uint256 coveredShares;
        uint256 mixedShares;
        uint256[7] others; // what no session may lower: the constituents and ETH
        uint256 turnover;
        uint256 fees;
        uint256 cover;
    }

    /// Of one key's UTC day. The terms are the widest that were in force in it.
    struct Day {
        uint256 number;
        uint256 turnover;
        uint256 fees;
        uint256 cover;
        uint256 loss;
        uint256 standingLoss;
        uint256 gap; // the part of the turnover that lay between the reference and the prices that stood
        uint256 actions;
        uint256 dailyLimit;
        uint256 coverDailyLimit;
        uint256 slippageBps;
    }

    IUniPool internal trap;
    bytes32 internal founded; // the account, but for what its keys may move
    uint256 internal ownersOffer; // of cover, from the account
    address[KEYS] internal keys;
    uint256[KEYS] internal keyKeys;
    uint160[KEYS] internal lows; // last nonce of each key, without its space
    Day[KEYS] internal days_;
    uint8 internal who; // the key that acts now; `key` and `keyKey` of the fixture follow it
    Sent[8] internal sent; // the latest, for replays
    uint256 internal sentCount;

    function foundWorld() internal {
        deployAccounts();
        openCover();
        trap = createPool(address(foxtrot.token), address(usdg), TRAP_FEE, foxtrot.price, 200_000e6);
        giveShares(covered, account, 5e18);
        giveShares(mixed, account, 5e18);
        giveShares(tech, account, 1e18);
        usdg.mint(account, 20_000e6);
        alfa.token.mint(account, 5e18);
        bravo.token.mint(account, 5e8);
        charlie.token.mint(account, 5e18);
        foxtrot.token.mint(account, 5e18);
        golf.token.mint(account, 5e18);
        vm.deal(account, 1 ether);
        ICoverMarket.Terms memory terms = weekTerms(100, 10e6);
        vm.startPrank(account);
        usdg.approve(address(market), 100e6);
        ownersOffer = market.offer(terms, true);
        vm.stopPrank();
        founded = _restOfTheAccount();
        for (uint8 i; i < KEYS; i++) {
            (keys[i], keyKeys[i]) = makeAddrAndKey(i == 0 ? "session key" : "second session key");
            days_[i].number = vm.getBlockTimestamp() / 1 days;
            _pick(i);
            _grant(i == 0 ? 500e6 : 120e6, i == 0 ? 100 : 200, i == 0 ? 40e6 : 10e6);
        }
    }

    /// The fuzzer likes small numbers; decisions are read from all bits.
    function _dice(uint256 seed) internal pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed)));
    }

    function _pick(uint256 seed) internal {
        who = uint8(seed % KEYS);
        (key, keyKey) = (keys[who], keyKeys[who]);
    }

    /// The owner grants to the key that acts now, and the day's books take the wider terms.
    function _grant(uint128 dailyLimit, uint16 slippageBps, uint128 coverDailyLimit) internal {
        ISessionModule.GrantTerms memory terms = coverTerms();
        terms.validUntil = uint48(vm.getBlockTimestamp() + 30 days);
        (terms.dailyLimit, terms.maxSlippageBps) = (dailyLimit, slippageBps);
        terms.coverDailyLimit = coverDailyLimit;
        grantAgain(terms);
        _noteGrant();
    }

    function _noteGrant() internal {
        _widen(module.grantOf(account, key));
    }

    function _widen(ISessionModule.Grant memory given) private {
        Day storage day = days_[who];
        day.dailyLimit = Math.max(day.dailyLimit, given.dailyLimit);
        day.coverDailyLimit = Math.max(day.coverDailyLimit, given.coverDailyLimit);
        day.slippageBps = Math.max(day.slippageBps, given.maxSlippageBps);
    }

    /// After every action: a new day starts from the terms in force; within one, no counter ever falls (invariant 16).
    function _turnDay() internal {
        uint256 today = vm.getBlockTimestamp() / 1 days;
        for (uint8 i; i < KEYS; i++) {
            Day storage day = days_[i];
            (uint256 turnover, uint256 fees) = module.usageOf(account, keys[i]);
            uint256 cover = coverModule.usageOf(account, keys[i]);
            if (today != day.number) {
                delete days_[i];
                day.number = today;
                who = i;
                _widen(module.grantOf(account, keys[i]));
            }
            assertGe(turnover, day.turnover, "turnover fell within the day");
            assertGe(fees, day.fees, "fees fell within the day");
            assertGe(cover, day.cover, "cover spent fell within the day");
            (day.turnover, day.fees, day.cover) = (turnover, fees, cover);
        }
    }

    // ---------------------------------------------------------------- sending

    function _sign(ISessionModule.Action memory action) internal view returns (Sent memory s) {
        s.who = who;
        s.epoch = module.grantOf(account, action.key).epoch;
        (s.slippageBps, s.vault, s.nonce, s.fee) =
        (action.slippageBps, action.vault, action.nonce, action.fee);
        s.payload = abi.encodeCall(module.execute, (action, signed(action)));
    }

    function _sign(ICoverModule.CoverAction memory action) internal view returns (Sent memory s) {
        s.who = who;
        s.cover = true;
        s.epoch = module.grantOf(account, action.key).epoch;
        (s.nonce, s.fee) = (action.nonce, action.fee);
        s.payload = abi.encodeCall(coverModule.execute, (action, signedCover(action)));
    }

    function _nextNonce() internal returns (uint256) {
        return nonceFor(key, ++lows[who]);
    }

    function _send(Sent memory s) internal returns (bool ok, bytes memory result) {
        (ok, result) = _submit(s, gasleft());
        s.succeeded = ok;
        sent[sentCount++ % sent.length] = s;
    }

    /// Sends as the relayer; everything that must hold of one action is asserted here.
    function _submit(Sent memory s, uint256 gasLimit) internal returns (bool ok, bytes memory result) {
        Look memory before = _look(s.who);
        bool usedBefore = _used(s);
        uint256 relayerBefore = usdg.balanceOf(relayer);
        uint256 spot = s.vault == address(covered) || s.vault == address(mixed) ? oracle.spotNav(s.vault) : 0;
        address target = s.cover ? address(coverModule) : address(module);
        vm.prank(relayer);
        (ok, result) = target.call{gas: gasLimit}(s.payload);
        if (!ok) {
            assertEq(_used(s), usedBefore, "a refused action changed its nonce");
            return (ok, result);
        }
        assertFalse(usedBefore, "a nonce ran twice");
        assertTrue(_used(s), "a nonce that ran is unused");
        assertEq(s.epoch, module.grantOf(account, keys[s.who]).epoch, "an action of another epoch ran");
        assertEq(usdg.balanceOf(relayer), relayerBefore + s.fee, "the fee is not exact");
        if (!s.cover) {
            assertLe(
                s.slippageBps,
                module.grantOf(account, keys[s.who]).maxSlippageBps,
                "a slippage that was not granted"
            );
            assertTrue(
                TradeBounds.spotIsNear(spot, oracle.referenceNav(s.vault)),
                "traded while spot was off (rule 4)"
            );
        }
        _book(s, before, _look(s.who), s.standing == 0 ? spot : s.standing);
    }

    function _book(Sent memory s, Look memory before, Look memory after_, uint256 standing) private {
        for (uint256 i; i < before.others.length; i++) {
            assertGe(after_.others[i], before.others[i], "another token left the account");
        }
        _assertIntact();
        assertEq(after_.fees, before.fees + s.fee, "fees miscounted");
        Day storage day = days_[s.who];
        day.actions++;
        if (s.cover) {
            assertEq(after_.coveredShares, before.coveredShares, "cover moved shares");
            assertEq(after_.mixedShares, before.mixedShares, "cover moved shares");
            assertEq(after_.turnover, before.turnover, "cover counted as turnover");
            uint256 locked = after_.cover - before.cover;
            assertLe(before.cash, after_.cash + locked + s.fee, "cover cost more than was counted");
            if (before.cash > after_.cash) {
                day.loss += before.cash - after_.cash;
                day.standingLoss += before.cash - after_.cash;
            }
            return;
        }
        assertEq(after_.cover, before.cover, "a trade counted as cover");
        uint256 nav = oracle.referenceNav(s.vault);
        bool ofCovered = s.vault == address(covered);
        if (ofCovered) assertEq(after_.mixedShares, before.mixedShares, "another basket moved");
        else assertEq(after_.coveredShares, before.coveredShares, "another basket moved");
        uint256 counted = after_.turnover - before.turnover;
        uint256 most = counted * s.slippageBps / 10_000 + s.fee + 2;
        uint256 loss = _loss(s, before, after_, nav);
        assertLe(loss, most, "a trade lost too much");
        day.loss += loss;
        bool bought = after_.coveredShares + after_.mixedShares > before.coveredShares + before.mixedShares;
        uint256 gap = bought ? _left(nav, standing) : _left(standing, nav);
        gap = Math.mulDiv(counted, gap, nav, Math.Rounding.Ceil);
        loss = _loss(s, before, after_, standing);
        assertLe(loss, most + gap, "a trade lost too much against the prices that stood");
        day.standingLoss += loss;
        day.gap += gap;
    }

    function _left(uint256 limit, uint256 used) internal pure returns (uint256) {
        return limit > used ? limit - used : 0;
    }

    /// USDG that a trade made the account poorer by, its shares at `nav`.
    function _loss(Sent memory s, Look memory before, Look memory after_, uint256 nav)
        private
        view
        returns (uint256)
    {
        return _left(before.cash + _worth(s, before, nav), after_.cash + _worth(s, after_, nav));
    }

    function _worth(Sent memory s, Look memory look, uint256 nav) private view returns (uint256) {
        uint256 shares = s.vault == address(covered) ? look.coveredShares : look.mixedShares;
        return TradeBounds.value(shares, nav, Math.Rounding.Floor);
    }

    /// Invariant 15 of each key's day so far, at the reference and at the prices that stood.
    function _assertDaysWithinTheirLimits() internal view {
        for (uint256 i; i < KEYS; i++) {
            Day storage day = days_[i];
            uint256 fees = TradeBounds.dailyFeeCap(day.dailyLimit);
            assertLe(day.turnover, day.dailyLimit, "turnover above the limit");
            assertLe(day.fees, fees, "fees above the cap");
            assertLe(day.cover, day.coverDailyLimit, "cover above its limit");
            // Each trade may round a few base units against the account.
            uint256 most =
                day.dailyLimit * day.slippageBps / 10_000 + fees + day.coverDailyLimit + 2 * day.actions;
            assertLe(day.loss, most, "lost too much");
            assertLe(day.standingLoss, most + day.gap, "lost too much against the prices that stood");
        }
    }

    function _used(Sent memory s) internal view returns (bool) {
        return s.cover ? coverModule.nonceUsed(account, s.nonce) : module.nonceUsed(account, s.nonce);
    }

    function _look(uint8 ofKey) internal view returns (Look memory look) {
        look.cash = usdg.balanceOf(account);
        look.coveredShares = covered.balanceOf(account);
        look.mixedShares = mixed.balanceOf(account);
        look.others = [
            alfa.token.balanceOf(account),
            bravo.token.balanceOf(account),
            charlie.token.balanceOf(account),
            foxtrot.token.balanceOf(account),
            golf.token.balanceOf(account),
            weth.balanceOf(account),
            account.balance
        ];
        (look.turnover, look.fees) = module.usageOf(account, keys[ofKey]);
        look.cover = coverModule.usageOf(account, keys[ofKey]);
    }

    /// Owners, threshold, modules, guard, handler, singleton; a basket that no key trades; allowances: as founded.
    function _assertIntact() internal view {
        assertEq(_restOfTheAccount(), founded, "the account itself changed");
        assertEq(_allowances(), 0, "an allowance is left");
    }

    function _restOfTheAccount() private view returns (bytes32) {
        (address[] memory modules,) = ISafeModules(account).getModulesPaginated(SENTINEL, 10);
        return keccak256(
            abi.encode(
                tech.balanceOf(account),
                exits.escrowedShares(account, address(covered)),
                ISafe(account).getOwners(),
                ISafe(account).getThreshold(),
                modules,
                account.codehash,
                // SafeStorage's singleton; keccak256("guard_manager.guard.address"); FallbackManager's handler
                vm.load(account, 0),
                vm.load(account, 0x4a204f620c8c5ccdca3fd54d003badd85ba500436a431f0cbda4f558c93c34c8),
                vm.load(account, 0x6c9a6c4a39284e37ed1cf53d337577d14212a4870fb976a4366c693b939918d5)
            )
        );
    }

    /// The sum of what anyone could still pull; zero at rest.
    function _allowances() private view returns (uint256 total) {
        BasketVault[3] memory vaults = [covered, mixed, tech];
        address[4] memory spenders = [address(zapper), address(market), address(exits), swapRouter];
        for (uint256 i; i < spenders.length; i++) {
            total += usdg.allowance(account, spenders[i]);
        }
        for (uint256 i; i < vaults.length; i++) {
            total += IERC20(vaults[i]).allowance(account, address(zapper));
        }
    }
}
