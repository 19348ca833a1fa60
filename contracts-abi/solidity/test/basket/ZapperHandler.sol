// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {HandlerStats} from "../support/HandlerStats.sol";
import {TestToken} from "../support/TestToken.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ZapperBooks} from "./ZapperBooks.sol";

/// Three traders on a moving market, with honest swaps, mangled ones, gifts in the wrong places and tokens that fail.
/// Nothing here may revert but by a broken rule: the campaign fails on a revert.
contract ZapperHandler is ZapperBooks, HandlerStats {
    /// Not in the constructor: pools call back, and a contract under construction has no code to be called.
    function found() external {
        deployProtocol();
        people = [alice, bob, carol];
    }

    // ---------------------------------------------------------------- trades

    function buy(uint256 which, uint256 amountIn, uint256 roles, bool bounded) external {
        Trade memory trade = _trade(which, roles);
        if (pause.paused()) return _refusedWhilePaused(trade);
        _try("buy");
        trade.cash = bound(amountIn, 20e6, 50_000e6);
        // `spendByWeight` counts a share as $100.
        uint256 nav = oracle.spotNav(address(trade.vault));
        trade.swaps = spendByWeight(trade.vault, trade.cash * 97e18 / nav);
        trade.least = bounded ? trade.cash * 90e28 / nav : 0;
        _fundBuy(trade);
        Before memory before = _before(trade);
        vm.prank(trade.payer);
        (uint256 shares, uint256 gross, uint256 fee) = zapper.buy(
            address(trade.vault), trade.cash, trade.least, trade.swaps, trade.to, trade.refundTo, WHENEVER
        );
        assertGe(shares, trade.least, "fewer shares than asked for");
        _checkBuy(trade, before, shares, gross, fee);
        _succeed("buy");
    }

    function buyExact(uint256 which, uint256 shares, uint256 roles, uint256 slack) external {
        Trade memory trade = _trade(which, roles);
        if (pause.paused()) return _refusedWhilePaused(trade);
        _try("buyExact");
        shares = bound(shares, 1e15, 400e18);
        uint256 quoted;
        (trade.swaps, quoted) = quoteBuy(trade.vault, shares);
        trade.cash = quoted + zapFee(quoted) + bound(slack, 0, 1_000e6);
        _fundBuy(trade);
        Before memory before = _before(trade);
        vm.prank(trade.payer);
        (uint256 gross, uint256 fee) = zapper.buyExact(
            address(trade.vault), shares, trade.cash, trade.swaps, trade.to, trade.refundTo, WHENEVER
        );
        _checkBuy(trade, before, shares, gross, fee);
        _succeed("buyExact");
    }

    /// A pause stops nobody from selling.
    function sell(uint256 which, uint256 shares, uint256 roles, uint256 share) external {
        _try("sell");
        Trade memory trade = _trade(which, roles);
        trade.shares = bound(shares, 1e15, 400e18);
        uint256 quoted;
        (trade.swaps, quoted) = quoteSell(trade.vault, trade.shares);
        trade.least = (quoted - zapFee(quoted)) * bound(share, 0, 100) / 100;
        _fundSale(trade);
        Before memory before = _before(trade);
        vm.prank(trade.payer);
        (uint256 net, uint256 gross, uint256 fee) = zapper.sell(
            address(trade.vault), trade.shares, trade.least, trade.swaps, trade.to, trade.refundTo, WHENEVER
        );
        assertGe(net, trade.least, "less USDG than asked for");
        _checkSale(trade, before, net, gross, fee);
        _succeed("sell");
    }

    function _refusedWhilePaused(Trade memory trade) private {
        _try("buy refused while paused");
        trade.cash = 100e6;
        _fundBuy(trade);
        SwapCall[] memory swaps = spendByWeight(trade.vault, 90e6);
        vm.prank(trade.payer);
        try zapper.buy(address(trade.vault), trade.cash, 0, swaps, trade.to, trade.refundTo, WHENEVER) {
            fail("bought while paused");
        } catch {
            _succeed("buy refused while paused");
        }
    }

    // ---------------------------------------------------------------- invariant 6

    /// One word of a sound swap replaced, by anything or by something plausible. Done: it went through, within bounds.
    function mangleCalldata(uint256 which, uint256 roles, uint256 seed, bytes32 word, bool buying) external {
        Trade memory trade = _trade(which, roles);
        if (pause.paused() && buying) return;
        _try("mangled calldata");
        _prepare(trade, buying);
        SwapCall memory victim = trade.swaps[seed % trade.swaps.length];
        bytes memory callData = victim.callData;
        uint256 place = (seed >> 8) % ((callData.length - 4) / 32);
        uint256 shape = (seed >> 16) % 10;
        if (shape == 1) word = bytes32(uint256(word) % 1_000);
        if (shape == 2) word = bytes32(uint256(uint160(uint256(word))));
        if (shape == 3) word = bytes32(uint256(uint160(people[seed % 3])));
        if (shape == 4) word = bytes32(uint256(uint160(address(pools[seed % pools.length]))));
        if (shape >= 5) {
            // What is stated changes along with the calldata: the decoder agrees, and only the bounds protect.
            place = _placeOf(callData, victim.amountIn);
            victim.amountIn = bound(uint256(word), victim.amountIn * 98 / 100, 2 * victim.amountIn);
            word = bytes32(victim.amountIn);
        }
        assembly ("memory-safe") {
            mstore(add(add(callData, 36), mul(place, 32)), word)
        }
        if (_tradeWithin(trade, buying)) _succeed("mangled calldata");
    }

    /// A known selector, or any, before noise.
    function noiseCalldata(uint256 which, uint256 roles, bytes calldata noise, uint32 selector, bool buying)
        external
    {
        Trade memory trade = _trade(which, roles);
        if (pause.paused() && buying) return;
        _try("random calldata keeps the bounds");
        _prepare(trade, buying);
        bytes4[4] memory known =
            [bytes4(0x04e45aaf), bytes4(0xb858183f), bytes4(0x5023b4df), bytes4(0x09b81346)];
        bytes4 chosen = selector % 3 == 0 ? bytes4(selector) : known[selector % 4];
        trade.swaps[0].callData = abi.encodePacked(chosen, noise);
        _tradeWithin(trade, buying);
        _succeed("random calldata keeps the bounds");
    }

    /// Some of the swaps are missing, doubled or in another order.
    function shuffleSwaps(uint256 which, uint256 roles, uint256 seed, bool buying) external {
        Trade memory trade = _trade(which, roles);
        if (pause.paused() && buying) return;
        _try("shuffled swaps keep the bounds");
        _prepare(trade, buying);
        SwapCall[] memory chosen = new SwapCall[](seed % (trade.swaps.length + 2));
        for (uint256 i; i < chosen.length; ++i) {
            chosen[i] = trade.swaps[(seed >> (8 * (i + 1))) % trade.swaps.length];
        }
        trade.swaps = chosen;
        _tradeWithin(trade, buying);
        _succeed("shuffled swaps keep the bounds");
    }

    /// A constituent, or USDG, that fails in the middle. USDG does what the live one can: pause and block.
    function failingToken(uint256 which, uint256 roles, uint256 token, uint256 kind, bool buying) external {
        Trade memory trade = _trade(which, roles);
        if (pause.paused() && buying) return;
        _try("a failing token keeps the bounds");
        _prepare(trade, buying);
        TestToken failing = _failable(trade.vault, token, true);
        TestToken.Misbehaviour chosen = TestToken.Misbehaviour(1 + kind % 9);
        if (address(failing) == address(usdg) || kind % 11 == 0) {
            failing = usdg;
            if (kind % 2 == 0) usdg.setPaused(true);
            else usdg.setBlocked(kind % 3 == 0 ? treasury : people[kind % 3], true);
        } else if (kind % 5 == 0) {
            failing.setMisbehaviourFor(chosen, people[kind % 3]);
        } else {
            failing.setMisbehaviour(chosen);
        }
        _tradeWithin(trade, buying);
        bool lied = chosen == TestToken.Misbehaviour.LiesTrue && address(failing) != address(usdg);
        _mend(failing);
        // What a token says that it moved out of the zapper, and did not, is that token's own doing.
        if (lied) strays[address(failing)] = failing.balanceOf(address(zapper));
        _succeed("a failing token keeps the bounds");
    }

    // ---------------------------------------------------------------- calling back

    /// A constituent calls into the zapper from the middle of a sale, and finds it shut.
    function reenter(uint256 which, uint256 token, uint256 door, uint256 roles) external {
        _try("call back refused");
        Trade memory trade = _trade(which, roles);
        _prepare(trade, false);
        TestToken caller = _failable(trade.vault, token, false);
        SwapCall[] memory none;
        address vault = address(trade.vault);
        bytes[3] memory doors = [
            abi.encodeCall(zapper.buy, (vault, 1e6, 0, none, bob, carol, WHENEVER)),
            abi.encodeCall(zapper.buyExact, (vault, 1, 1e6, none, bob, carol, WHENEVER)),
            abi.encodeCall(zapper.sell, (vault, 1e15, 0, none, bob, carol, WHENEVER))
        ];
        caller.setMisbehaviour(TestToken.Misbehaviour.Reenters);
        caller.setHook(address(zapper), doors[door % 3], false);
        assertTrue(_tradeWithin(trade, false), "a refused call back stopped a sale");
        assertFalse(caller.hookSucceeded(), "a door was open");
        assertEq(caller.hookResult(), abi.encodePacked(ReentrancyGuard.ReentrancyGuardReentrantCall.selector));
        _mend(caller);
        _succeed("call back refused");
    }

    /// Somebody slips tokens into the zapper in mid-trade: they go to the trader or stay, and nothing else follows them.
    function giftInMidTrade(
        uint256 which,
        uint256 token,
        uint256 amount,
        uint256 roles,
        bool cash,
        bool buying
    ) external {
        Trade memory trade = _trade(which, roles);
        if (pause.paused() && buying) return;
        _try("a gift in mid-trade keeps the bounds");
        _prepare(trade, buying);
        TestToken caller = _failable(trade.vault, token, false);
        TestToken gift = cash ? usdg : caller;
        amount = bound(amount, 1, cash ? 1_000e6 : 1e18);
        caller.setMisbehaviourFor(TestToken.Misbehaviour.Reenters, address(zapper));
        caller.setHook(address(gift), abi.encodeCall(gift.mint, (address(zapper), amount)), true);
        if (cash) trade.gift = amount;
        _tradeWithin(trade, buying);
        uint256 stays = gift.balanceOf(address(zapper));
        assertGe(stays, strays[address(gift)]);
        assertLe(stays, strays[address(gift)] + amount);
        strays[address(gift)] = stays;
        _mend(caller);
        _succeed("a gift in mid-trade keeps the bounds");
    }

    // ---------------------------------------------------------------- what must be refused, and what must not matter

    function trespass(uint256 which, uint256 kind, uint256 roles) external {
        _try("trespass refused");
        Trade memory trade = _trade(which, roles);
        kind = kind % 7;
        _prepare(trade, false);
        uint256 deadline = kind == 0 ? vm.getBlockTimestamp() - 1 : WHENEVER;
        address vault = kind == 1 ? address(usdg) : address(trade.vault);
        if (kind == 2) trade.to = address(0);
        if (kind == 3) trade.refundTo = address(zapper);
        if (kind == 4) trade.swaps[0].router = quoter;
        if (kind == 5) trade.least = 1e12; // a million dollars for a share
        if (kind == 6) trade.payer = makeAddr("nobody"); // without shares
        vm.prank(trade.payer);
        try zapper.sell(vault, trade.shares, trade.least, trade.swaps, trade.to, trade.refundTo, deadline) {
            fail("a trespass went through");
        } catch {
            _succeed("trespass refused");
        }
    }

    /// Invariant 3: gifts to the vault, the zapper, the router or a pool move no NAV, no preview and no quote.
    function donate(uint256 which, uint256 token, uint256 place, uint256 amount) external {
        _try("donate");
        BasketVault vault = vaultNamed(which);
        TestToken gift = _constituent(vault, token);
        amount = bound(amount, 1, 1e24);
        bytes32 before = _pricesOf(vault);
        if (place % 5 == 4) {
            vm.deal(swapRouter, swapRouter.balance + amount);
        } else {
            address[4] memory places =
                [address(vault), address(zapper), swapRouter, address(pools[token % 5])];
            _give(gift, places[place % 4], amount);
            if (place % 4 == 1) strays[address(gift)] += amount;
        }
        assertEq(_pricesOf(vault), before, "a donation moved a price");
        _succeed("donate");
    }

    /// Invariant 4: NAV before a poke is NAV after it.
    function poke(uint256 which) external {
        _try("accrueFee");
        BasketVault vault = vaultNamed(which);
        uint256 supply = vault.totalSupply();
        uint256 treasuryHad = vault.balanceOf(treasury);
        bytes32 before = _navsOf(vault);
        uint256 feeShares = vault.accrueFee();
        assertEq(_navsOf(vault), before, "a poke moved a NAV");
        assertEq(vault.totalSupply(), supply + feeShares);
        assertEq(vault.balanceOf(treasury), treasuryHad + feeShares);
        _succeed("accrueFee");
    }

    function togglePause() external {
        if (pause.paused()) {
            vm.prank(guardian);
            pause.unpause();
            _happened("unpause");
        } else if (vm.getBlockTimestamp() >= pause.pausedUntil() + 1 days) {
            vm.prank(guardian);
            pause.pause();
            _happened("pause");
        }
    }

    function moveMarket(uint256 which, uint256 bps) external {
        if (which % 5 == 4) {
            movePrice(ether_.pool, address(weth), ETH_PRICE * bound(bps, 9_000, 11_000) / 10_000);
        } else if (which % 5 == 0) {
            setPrice(alfa, alfa.price * bound(bps, 9_000, 11_000) / 10_000);
        } else if (which % 5 == 1) {
            setPrice(bravo, bravo.price * bound(bps, 9_000, 11_000) / 10_000);
        } else if (which % 5 == 2) {
            setPrice(charlie, charlie.price * bound(bps, 9_000, 11_000) / 10_000);
        } else {
            setPrice(delta, delta.price * bound(bps, 9_000, 11_000) / 10_000);
        }
        _happened("market moves");
    }

    function wait(uint256 time, bool observed) external {
        skip(bound(time, 0, 3 days));
        if (observed) refreshPools();
        _happened("time passes");
    }
}
