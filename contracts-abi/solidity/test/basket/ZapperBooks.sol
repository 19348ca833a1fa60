// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {TestToken} from "../support/TestToken.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {IBasketVault} from "../../src/interfaces/IBasketVault.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ZapperFixture} from "./ZapperFixture.sol";

/// Who may lose and gain what by one trade, base unit by base unit.
abstract contract ZapperBooks is ZapperFixture {
    struct Trade {
        BasketVault vault;
        address payer;
        address to;
        address refundTo;
        SwapCall[] swaps;
        uint256 cash; // USDG that a buy may take
        uint256 shares; // that a sale takes, or that a buy asks for
        uint256 least; // shares or USDG that must arrive
        uint256 gift; // USDG that somebody slips in on the way
    }

    struct Before {
        uint256[3] cash;
        uint256[3] shares;
        uint256[3] parts; // constituents but USDG, all added up
        uint256 elsewhere; // of these, what neither the three, the market nor the zapper holds
        uint256 treasury;
        uint256 market; // USDG in the pools, in the vault and in `_pockets`
        uint256 supply;
    }

    uint256 private constant GAS = 30_000_000; // so that a token that eats its gas leaves some for the checks

    address[3] internal people;
    mapping(address token => uint256) public strays; // sent to the zapper outside any trade

    /// Invariant 5.
    function assertZapperKeepsNothing() external view {
        address[6] memory tokens = [
            address(usdg),
            address(weth),
            address(alfa.token),
            address(bravo.token),
            address(charlie.token),
            address(delta.token)
        ];
        BasketVault[3] memory vaults = [tech, mixed, stock];
        // Summed, since this runs after every call of a campaign and a cheatcode costs more than a comparison.
        uint256 allowances;
        uint256 shares;
        for (uint256 i; i < tokens.length; ++i) {
            TestToken token = TestToken(tokens[i]);
            assertEq(token.balanceOf(address(zapper)), strays[tokens[i]], "left over");
            allowances |= token.allowance(address(zapper), swapRouter);
            for (uint256 j; j < vaults.length; ++j) {
                allowances |= token.allowance(address(zapper), address(vaults[j]));
            }
        }
        for (uint256 j; j < vaults.length; ++j) {
            shares |= vaults[j].balanceOf(address(zapper));
        }
        assertEq(allowances, 0, "the router's or a vault's allowance");
        assertEq(shares, 0, "shares left over");
        assertEq(address(zapper).balance, 0, "ether");
    }

    function _trade(uint256 which, uint256 roles) internal view returns (Trade memory trade) {
        trade.vault = vaultNamed(which);
        trade.payer = people[roles % 3];
        trade.to = people[roles / 3 % 3];
        trade.refundTo = people[roles / 9 % 3];
    }

    /// A sound trade of ten shares or of what they cost, its bounds 3% off the market, for the actions that spoil it.
    function _prepare(Trade memory trade, bool buying) internal {
        trade.shares = 10e18;
        uint256 cash = trade.shares * oracle.spotNav(address(trade.vault)) / 1e30;
        trade.swaps = _roughSwaps(trade.vault, trade.shares, buying);
        if (buying) {
            trade.cash = cash * 103 / 100;
            _fundBuy(trade);
        } else {
            trade.least = cash * 97 / 100;
            _fundSale(trade);
        }
    }

    /// Swaps for `shares` without the quoter's cost: purchases may cost 2% more than the pools' prices say.
    function _roughSwaps(BasketVault vault, uint256 shares, bool buying)
        private
        view
        returns (SwapCall[] memory swaps)
    {
        IBasketVault.Constituent[] memory parts = vault.constituents();
        uint256[] memory amounts = buying ? vault.previewMint(shares) : vault.previewRedeem(shares);
        uint256[] memory prices = oracle.spotPrices(address(vault));
        bool hasCash = address(vault) == address(mixed); // its last constituent is USDG, which nothing swaps
        swaps = new SwapCall[](parts.length - (hasCash ? 1 : 0));
        for (uint256 i; i < swaps.length; ++i) {
            Asset memory asset = assetOf(parts[i].token);
            uint256 worth = amounts[i] * prices[i] / 10 ** asset.token.decimals() / 1e12;
            swaps[i] = buying
                ? exactOutput(asset, amounts[i], worth * 102 / 100 + 1)
                : exactInput(asset, amounts[i]);
        }
    }

    /// Runs a trade that may have been spoilt: it keeps every bound, or it changes nothing at all.
    function _tradeWithin(Trade memory trade, bool buying) internal returns (bool done) {
        Before memory before = _before(trade);
        vm.prank(trade.payer);
        if (buying) {
            try zapper.buyExact{gas: GAS}(
                address(trade.vault),
                trade.shares,
                trade.cash,
                trade.swaps,
                trade.to,
                trade.refundTo,
                WHENEVER
            ) returns (
                uint256 gross, uint256 fee
            ) {
                _checkBuy(trade, before, trade.shares, gross, fee);
                return true;
            } catch {}
        } else {
            try zapper.sell{gas: GAS}(
                address(trade.vault),
                trade.shares,
                trade.least,
                trade.swaps,
                trade.to,
                trade.refundTo,
                WHENEVER
            ) returns (
                uint256 net, uint256 gross, uint256 fee
            ) {
                assertGe(net, trade.least, "less USDG than asked for");
                _checkSale(trade, before, net, gross, fee);
                return true;
            } catch {}
        }
        _assertUnchanged(trade, before);
    }

    function _assertUnchanged(Trade memory trade, Before memory before) internal view {
        assertEq(
            keccak256(abi.encode(_before(trade))),
            keccak256(abi.encode(before)),
            "a failed trade changed something"
        );
    }

    function _checkBuy(Trade memory trade, Before memory before, uint256 shares, uint256 gross, uint256 fee)
        internal
        view
    {
        Before memory now_ = _before(trade);
        assertEq(fee, _feeDue(gross), "mint fee");
        assertEq(now_.treasury, before.treasury + fee, "the fee arrives");
        assertEq(now_.market, before.market + gross, "the market got something else");
        uint256 back = trade.cash - gross - fee;
        for (uint256 i; i < 3; ++i) {
            uint256 cash = before.cash[i] + (people[i] == trade.refundTo ? back : 0);
            assertEq(now_.cash[i], cash - (people[i] == trade.payer ? trade.cash : 0), "USDG of a person");
            uint256 got = people[i] == trade.to ? shares : 0;
            assertEq(now_.shares[i], before.shares[i] + got, "shares of a person");
        }
        _checkLeftovers(trade, before, now_);
    }

    /// What swaps bring or leave beyond the trade goes to who is named for it, and to nobody else.
    function _checkLeftovers(Trade memory trade, Before memory before, Before memory now_) private view {
        assertEq(now_.elsewhere, before.elsewhere, "constituents of somebody else");
        for (uint256 i; i < 3; ++i) {
            if (people[i] == trade.refundTo) {
                assertGe(now_.parts[i], before.parts[i], "constituents of who gets what is left");
            } else {
                assertEq(now_.parts[i], before.parts[i], "constituents of a person");
            }
        }
    }

    function _checkSale(Trade memory trade, Before memory before, uint256 net, uint256 gross, uint256 fee)
        internal
        view
    {
        Before memory now_ = _before(trade);
        assertEq(fee, _feeDue(gross), "sell fee");
        assertEq(net, gross - fee);
        assertEq(now_.treasury, before.treasury + fee, "the fee arrives");
        assertGe(now_.market + gross, before.market, "the market gave more than was paid out");
        assertLe(now_.market + gross, before.market + trade.gift, "the market gave less than was paid out");
        for (uint256 i; i < 3; ++i) {
            uint256 got = people[i] == trade.to ? net : 0;
            assertEq(now_.cash[i], before.cash[i] + got, "USDG of a person");
            uint256 sold = people[i] == trade.payer ? trade.shares : 0;
            assertEq(now_.shares[i], before.shares[i] - sold, "shares of a person");
        }
        _checkLeftovers(trade, before, now_);
    }

    /// None while the treasury cannot be paid.
    function _feeDue(uint256 gross) private view returns (uint256) {
        return usdg.blocked(treasury) ? 0 : zapFee(gross);
    }

    function _before(Trade memory trade) internal view returns (Before memory before) {
        for (uint256 i; i < 3; ++i) {
            before.cash[i] = usdg.balanceOf(people[i]);
            before.shares[i] = trade.vault.balanceOf(people[i]);
        }
        (before.parts, before.elsewhere) = _parts(trade.vault);
        before.treasury = usdg.balanceOf(treasury);
        before.market = usdg.balanceOf(address(trade.vault));
        for (uint256 i; i < pools.length; ++i) {
            before.market += usdg.balanceOf(address(pools[i]));
        }
        before.market += _pockets(usdg);
    }

    function _parts(BasketVault vault) private view returns (uint256[3] memory parts, uint256 elsewhere) {
        IBasketVault.Constituent[] memory constituents = vault.constituents();
        for (uint256 j; j < constituents.length; ++j) {
            TestToken token = TestToken(constituents[j].token);
            if (token == usdg) continue;
            uint256 placed =
                token.balanceOf(address(vault)) + token.balanceOf(address(zapper)) + _pockets(token);
            for (uint256 i; i < 3; ++i) {
                uint256 held = token.balanceOf(people[i]);
                (parts[i], placed) = (parts[i] + held, placed + held);
            }
            for (uint256 i; i < pools.length; ++i) {
                placed += token.balanceOf(address(pools[i]));
            }
            elsewhere += token.totalSupply() - placed;
        }
    }

    /// What a market holds beyond the pools.
    function _pockets(TestToken token) internal view virtual returns (uint256) {}

    function _fundBuy(Trade memory trade) internal virtual {
        usdg.mint(trade.payer, trade.cash);
        vm.prank(trade.payer);
        usdg.approve(address(zapper), trade.cash);
    }

    function _fundSale(Trade memory trade) internal virtual {
        giveShares(trade.vault, trade.payer, trade.shares);
        vm.prank(trade.payer);
        trade.vault.approve(address(zapper), trade.shares);
    }

    function _constituent(BasketVault vault, uint256 index) internal view returns (TestToken) {
        return TestToken(vault.constituents()[index % vault.constituentCount()].token);
    }

    /// WETH cannot fail, and USDG only in its own ways.
    function _failable(BasketVault vault, uint256 index, bool orUsdg)
        internal
        view
        returns (TestToken token)
    {
        token = _constituent(vault, index);
        if (address(token) == address(weth) || (token == usdg && !orUsdg)) return alfa.token;
    }

    function _mend(TestToken token) internal {
        token.setPaused(false);
        token.setMisbehaviour(TestToken.Misbehaviour.None);
        token.setHook(address(0), "", false); // a reverted trade has not used it up
        token.setBlocked(treasury, false);
        for (uint256 i; i < 3; ++i) {
            token.setBlocked(people[i], false);
        }
    }

    function _give(TestToken token, address to, uint256 amount) internal {
        if (address(token) != address(weth)) return token.mint(to, amount);
        vm.deal(address(this), address(this).balance + amount);
        weth.deposit{value: amount}();
        weth.transfer(to, amount);
    }

    function _navsOf(BasketVault vault) internal view returns (bytes32) {
        (uint256 nav, INavOracle.Invalid reason, address pool) = oracle.tryReferenceNav(address(vault));
        return keccak256(abi.encode(nav, reason, pool, oracle.spotNav(address(vault)), vault.unitsPerShare()));
    }

    function _pricesOf(BasketVault vault) internal returns (bytes32) {
        (, uint256 cost) = quoteBuy(vault, 3e18);
        (, uint256 yield) = quoteSell(vault, 3e18);
        return
            keccak256(abi.encode(_navsOf(vault), cost, yield, vault.totalSupply(), vault.previewMint(3e18)));
    }

    /// The word of a call that holds `amount`.
    function _placeOf(bytes memory callData, uint256 amount) internal pure returns (uint256 place) {
        uint256 word;
        for (; place < (callData.length - 4) / 32; ++place) {
            assembly ("memory-safe") {
                word := mload(add(add(callData, 36), mul(place, 32)))
            }
            if (word == amount) return place;
        }
    }
}
