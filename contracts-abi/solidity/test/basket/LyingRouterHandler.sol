// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {HandlerStats} from "../support/HandlerStats.sol";
import {LyingRouter} from "./LyingRouter.sol";
import {LyingRouterFixture} from "./LyingRouterFixture.sol";

/// Three traders whose router tells any of its lies, on any swap, by any measure. Nothing here may revert but by a
/// broken rule: the campaign fails on a revert.
contract LyingRouterHandler is LyingRouterFixture, HandlerStats {
    uint256 private constant LIES = uint256(type(LyingRouter.Lie).max);

    /// Not in the constructor: pools call back, and a contract under construction has no code to be called.
    function found() external {
        deployLiar();
        giveShares(tech, address(liar), 1e18);
        giveShares(mixed, address(liar), 1e18);
        delete pools; // nothing trades there, so no book needs to look
        for (uint256 i; i < people.length; ++i) {
            giveShares(tech, people[i], 10_000e18);
            giveShares(mixed, people[i], 10_000e18);
            giveShares(stock, people[i], 10_000e18);
        }
    }

    /// The shares that a sale needs are there; minting them each time would take half of the campaign.
    function _fundSale(Trade memory trade) internal view override {
        assertGe(trade.vault.balanceOf(trade.payer), trade.shares, "the campaign ran out of shares");
    }

    function honest(uint256 which, uint256 roles, uint256 kind) external {
        _try("trade through an honest turn");
        liar.arm(LyingRouter.Lie.None, 0, 0);
        if (_run(which, roles, kind)) _succeed("trade through an honest turn");
    }

    /// On a sale, whose inputs are exact: what moved must be the whole input.
    function lieToASeller(uint256 which, uint256 roles, uint256 lie, uint256 place, uint256 size) external {
        LyingRouter.Lie kind = _arm(lie, place, size);
        bool hopeless = kind == LyingRouter.Lie.TakesShort || kind == LyingRouter.Lie.GivesBack
            || kind == LyingRouter.Lie.TakesMore || _breaks(kind);
        _judge("sale", hopeless, _run(which, roles, 1));
    }

    /// On a purchase of so many shares, by exact outputs: the cost must be what the router says, the output enough.
    function lieToABuyer(uint256 which, uint256 roles, uint256 lie, uint256 place, uint256 size) external {
        LyingRouter.Lie kind = _arm(lie, place, size);
        bool harmless = kind == LyingRouter.Lie.PaysMore || kind == LyingRouter.Lie.Undercharges
            || kind == LyingRouter.Lie.Overcharges || kind == LyingRouter.Lie.CallsBack
            || kind == LyingRouter.Lie.ReturnsBomb;
        bool done = _run(which, roles, 0);
        _judge("exact purchase", !harmless, done);
        if (harmless) assertTrue(done, "a harmless lie stopped a purchase");
    }

    /// On a purchase for so much USDG, by exact inputs.
    function lieToASpender(uint256 which, uint256 roles, uint256 lie, uint256 place, uint256 size) external {
        LyingRouter.Lie kind = _arm(lie, place, size);
        bool hopeless = kind == LyingRouter.Lie.TakesShort || kind == LyingRouter.Lie.TakesNothing
            || kind == LyingRouter.Lie.GivesBack || kind == LyingRouter.Lie.TakesMore
            || kind == LyingRouter.Lie.PaysNothing || kind == LyingRouter.Lie.PaysElsewhere || _breaks(kind);
        _judge("purchase", hopeless, _run(which, roles, 2));
    }

    /// From within a swap into the zapper and the vault, for the router's friend.
    function callBack(uint256 which, uint256 roles, uint256 door, uint256 place, uint256 kind) external {
        _try("call back refused or harmless");
        Trade memory trade = _trade(which, roles);
        address vault = address(trade.vault);
        bool shut = door % 8 < 4;
        bytes memory payload;
        if (door % 8 == 0) {
            payload = abi.encodeCall(zapper.buy, (vault, 1e6, 0, trade.swaps, thief, thief, WHENEVER));
        } else if (door % 8 == 1) {
            payload = abi.encodeCall(zapper.buyExact, (vault, 1, 1e6, trade.swaps, thief, thief, WHENEVER));
        } else if (door % 8 == 2) {
            payload = abi.encodeCall(zapper.sell, (vault, 1, 0, trade.swaps, thief, thief, WHENEVER));
        } else if (door % 8 == 3) {
            payload = abi.encodeCall(zapper.payForMint, (new address[](1), new uint256[](1)));
        } else if (door % 8 == 4) {
            payload = abi.encodeCall(trade.vault.redeem, (1e12, thief));
        } else if (door % 8 == 5) {
            payload = abi.encodeCall(trade.vault.accrueFee, ());
        } else if (door % 8 == 6) {
            payload = abi.encodeCall(trade.vault.transferFrom, (trade.payer, thief, 1));
        } else {
            payload = abi.encodeCall(trade.vault.mintOnPayment, (1e18, thief));
        }
        liar.setCall(door % 8 < 4 ? address(zapper) : vault, payload);
        liar.arm(LyingRouter.Lie.CallsBack, place % 2, 0);
        assertTrue(_run(which, roles, kind), "a call back stopped a trade");
        assertTrue(liar.calledBack(), "it never called back");
        if (shut || door % 8 >= 6) assertFalse(liar.callSucceeded(), "a door was open");
        _succeed("call back refused or harmless");
    }

    /// Whatever was traded before, and with gifts lying in the zapper.
    function grab(uint256 amount) external {
        _try("grab refused");
        usdg.mint(address(zapper), bound(amount, 1, 1_000e6));
        strays[address(usdg)] = usdg.balanceOf(address(zapper));
        _grabNothing();
        _succeed("grab refused");
    }

    function wait(uint256 time) external {
        skip(bound(time, 0, 1 days));
        _happened("time passes");
    }

    // ---------------------------------------------------------------- steps

    function _arm(uint256 lie, uint256 place, uint256 size) private returns (LyingRouter.Lie kind) {
        kind = LyingRouter.Lie(1 + uint256(keccak256(abi.encode(lie))) % LIES);
        liar.setJunk(abi.encode(lie, size));
        liar.setCall(address(zapper), abi.encode(lie, place, size));
        // Stock has two swaps, the others three or two. A share of zero would take nothing, a lie of its own: of WETH
        // it may pass, since what the router did not take goes back to the seller.
        liar.arm(kind, place % 2, bound(size, 1, 9_999));
    }

    /// Whoever is lied to so loses the trade, and nothing else.
    function _breaks(LyingRouter.Lie kind) private pure returns (bool) {
        return kind == LyingRouter.Lie.SaysNothing || kind == LyingRouter.Lie.RevertsJunk
            || kind == LyingRouter.Lie.RevertsBomb || kind == LyingRouter.Lie.BurnsGas;
    }

    function _judge(string memory trade, bool hopeless, bool done) private {
        string memory name = string.concat(trade, hopeless ? " refused over a lie" : " within its bounds");
        _try(name);
        if (hopeless) assertFalse(done, "went through a lie");
        // The others may pass or not; they kept the bounds, or changed nothing.
        if (hopeless || done) _succeed(name);
    }

    /// A sound plan, bounds 3% off the fair price: 0 buys shares exactly, 1 sells, 2 spends USDG.
    function _run(uint256 which, uint256 roles, uint256 kind) private returns (bool done) {
        Trade memory trade = _trade(which, roles);
        if (kind % 3 == 2) {
            trade.cash = 1_000e6;
            trade.swaps = spendByWeight(trade.vault, 970e6);
            trade.least = 960e34 / oracle.spotNav(address(trade.vault)) * 97 / 100 * 100;
            _fundBuy(trade);
            done = _spendWithin(trade);
        } else {
            _prepare(trade, kind % 3 == 0);
            done = _tradeWithin(trade, kind % 3 == 0);
        }
        // Gifts of a token that the trade did not ask for stay where they were put.
        address strayed = liar.strayed();
        if (done && strayed != address(0)) strays[strayed] += liar.strayAmount();
    }

    function _spendWithin(Trade memory trade) private returns (bool done) {
        Before memory before = _before(trade);
        vm.prank(trade.payer);
        try zapper.buy{gas: 30_000_000}(
            address(trade.vault), trade.cash, trade.least, trade.swaps, trade.to, trade.refundTo, WHENEVER
        ) returns (
            uint256 shares, uint256 gross, uint256 fee
        ) {
            assertGe(shares, trade.least, "fewer shares than asked for");
            _checkBuy(trade, before, shares, gross, fee);
            return true;
        } catch {}
        _assertUnchanged(trade, before);
    }
}
