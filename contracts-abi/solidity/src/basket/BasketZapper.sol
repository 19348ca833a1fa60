// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {IBasketRegistry} from "../interfaces/IBasketRegistry.sol";
import {IBasketVault, IMintPayer} from "../interfaces/IBasketVault.sol";
import {IBasketZapper, SwapCall} from "../interfaces/IBasketZapper.sol";
import {IProtocolPause} from "../interfaces/IProtocolPause.sol";
import {ISwapRouter02} from "../interfaces/uniswap/ISwapRouter02.sol";
import {RouterSwap} from "../libraries/RouterSwap.sol";
import {ShareUnits} from "../libraries/ShareUnits.sol";
import {SwapDecoder} from "../libraries/SwapDecoder.sol";
import {TokenReads} from "../libraries/TokenReads.sol";

/// Holds nothing between calls and owes nobody: each call keeps a ledger of what it pulled, gained and spent, and pays
/// all of it out again. A balance sent here by mistake is in no ledger, so it helps and harms nobody.
/// A pause stops buying; selling has no switch (rule 26).
contract BasketZapper is IBasketZapper, IMintPayer, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;
    using TokenReads for address;

    address public immutable usdg;
    address public immutable weth;
    address public immutable router;
    address public immutable uniswapFactory;
    address public immutable registry;
    address public immutable pause;

    /// The vault that is minting for the call under way; it may ask to be paid, once.
    address private transient _minting;

    /// One call's own money. `held`: base units per constituent, in the vault's order; USDG is counted apart.
    struct Ledger {
        address vault;
        IBasketVault.Constituent[] parts;
        uint256 index; // the vault's fee index in this block
        uint256[] held;
        uint256 funds; // USDG pulled for a buy
        uint256 swapped; // USDG that the swaps spent or yielded
    }

    error RouterMismatch();
    error NotMinting();

    constructor(
        address usdg_,
        address weth_,
        address router_,
        address uniswapFactory_,
        address registry_,
        address pause_
    ) {
        if (ISwapRouter02(router_).factory() != uniswapFactory_ || ISwapRouter02(router_).WETH9() != weth_) {
            revert RouterMismatch();
        }
        usdg = usdg_;
        weth = weth_;
        router = router_;
        uniswapFactory = uniswapFactory_;
        registry = registry_;
        pause = pause_;
    }

    /// Pulls `amountIn` (USDG, 1e6) from the sender and mints as many shares (1e18) to `to` as the swaps' output backs.
    /// gross + fee <= amountIn; the rest goes to `refundTo`. Valid while the block's time is at most `deadline`.
    function buy(
        address vault,
        uint256 amountIn,
        uint256 minShares,
        SwapCall[] calldata swaps,
        address to,
        address refundTo,
        uint256 deadline
    ) external nonReentrant returns (uint256 shares, uint256 gross, uint256 fee) {
        Ledger memory ledger = _openBuy(vault, amountIn, to, refundTo, deadline);
        _spend(ledger, swaps);
        shares = _backedShares(ledger);
        if (shares == 0 || shares < minShares) revert TooFewShares(shares, minShares);
        (gross, fee) = _mint(ledger, shares, to, refundTo);
    }

    /// Pulls `maxUsdg` from the sender and mints exactly `shares` to `to`; what is left of it goes to `refundTo`.
    function buyExact(
        address vault,
        uint256 shares,
        uint256 maxUsdg,
        SwapCall[] calldata swaps,
        address to,
        address refundTo,
        uint256 deadline
    ) external nonReentrant returns (uint256 gross, uint256 fee) {
        Ledger memory ledger = _openBuy(vault, maxUsdg, to, refundTo, deadline);
        _spend(ledger, swaps);
        (gross, fee) = _mint(ledger, shares, to, refundTo);
    }

    /// Pulls `shares` from the sender, redeems them, swaps the constituents and pays gross - fee to `to`. An exact
    /// input above what the redemption yielded sells all of it: units per share fall from second to second.
    function sell(
        address vault,
        uint256 shares,
        uint256 minUsdg,
        SwapCall[] calldata swaps,
        address to,
        address refundTo,
        uint256 deadline
    ) external nonReentrant returns (uint256 net, uint256 gross, uint256 fee) {
        Ledger memory ledger = _open(vault, to, refundTo, deadline);
        _redeem(ledger, shares);
        _liquidate(ledger, swaps);
        gross = ledger.swapped;
        fee = _feeOn(gross, Constants.SELL_FEE_BPS);
        net = gross - fee;
        if (net < minUsdg) revert TooLittleUsdg(net, minUsdg);
        fee = _collect(fee);
        net = gross - fee;
        _pay(usdg, to, net);
        _refundConstituents(ledger, refundTo);
        emit Sold(msg.sender, to, vault, shares, gross, fee);
    }

    /// From the ledger of the call under way, which has set these very amounts aside.
    /// @inheritdoc IMintPayer
    function payForMint(address[] calldata tokens, uint256[] calldata amounts) external {
        if (msg.sender != _minting) revert NotMinting();
        _minting = address(0);
        for (uint256 i; i < amounts.length; ++i) {
            _pay(tokens[i], msg.sender, amounts[i]);
        }
    }

    function _openBuy(address vault, uint256 funds, address to, address refundTo, uint256 deadline)
        private
        returns (Ledger memory ledger)
    {
        if (IProtocolPause(pause).paused()) revert Paused();
        ledger = _open(vault, to, refundTo, deadline);
        ledger.funds = funds;
        IERC20(usdg).safeTransferFrom(msg.sender, address(this), funds);
    }

    function _open(address vault, address to, address refundTo, uint256 deadline)
        private
        view
        returns (Ledger memory ledger)
    {
        if (block.timestamp > deadline) revert Expired(deadline);
        if (!IBasketRegistry(registry).isVault(vault)) revert UnknownVault(vault);
        if (to == address(0) || to == address(this)) revert BadReceiver(to);
        if (refundTo == address(0) || refundTo == address(this)) revert BadReceiver(refundTo);
        ledger.vault = vault;
        (ledger.parts,, ledger.index) = IBasketVault(vault).composition();
        ledger.held = new uint256[](ledger.parts.length);
    }

    /// USDG into constituents. An exact output may cost at most what is left; an exact input must fit into it.
    function _spend(Ledger memory ledger, SwapCall[] calldata swaps) private {
        uint256 most = _grossWithin(ledger.funds);
        SwapDecoder.Venue memory venue = _venue();
        for (uint256 i; i < swaps.length; ++i) {
            SwapCall calldata call_ = swaps[i];
            SwapDecoder.Swap memory swap = SwapDecoder.decode(call_, i, venue);
            if (call_.tokenIn != usdg) revert BadSwap(i, "tokenIn");
            uint256 part = _partOf(ledger, call_.tokenOut, i);
            uint256 left = most - ledger.swapped;
            uint256 amountIn = swap.amountIn;
            if (amountIn > left) {
                if (!swap.exactOut) revert TooMuchUsdg(_withFee(ledger.swapped + amountIn), ledger.funds);
                amountIn = left;
            }
            (uint256 spent, uint256 received) =
                RouterSwap.run(router, RouterSwap.Leg(i, usdg, call_.tokenOut, amountIn, false), swap);
            ledger.swapped += spent;
            ledger.held[part] += received;
        }
    }

    /// Constituents into USDG, never more of one than this call's redemption yielded.
    function _liquidate(Ledger memory ledger, SwapCall[] calldata swaps) private {
        SwapDecoder.Venue memory venue = _venue();
        for (uint256 i; i < swaps.length; ++i) {
            SwapCall calldata call_ = swaps[i];
            SwapDecoder.Swap memory swap = SwapDecoder.decode(call_, i, venue);
            if (call_.tokenOut != usdg) revert BadSwap(i, "tokenOut");
            address token = call_.tokenIn;
            uint256 part = _partOf(ledger, token, i);
            uint256 amountIn = Math.min(swap.amountIn, ledger.held[part]);
            if (amountIn == 0) revert BadSwap(i, "nothing to sell");
            (uint256 spent, uint256 received) =
                RouterSwap.run(router, RouterSwap.Leg(i, token, usdg, amountIn, token == weth), swap);
            ledger.held[part] -= spent;
            ledger.swapped += received;
        }
    }

    function _mint(Ledger memory ledger, uint256 shares, address to, address refundTo)
        private
        returns (uint256 gross, uint256 fee)
    {
        gross = ledger.swapped;
        uint256[] memory amounts = _amountsOf(ledger, shares, Math.Rounding.Ceil);
        for (uint256 i; i < amounts.length; ++i) {
            address token = ledger.parts[i].token;
            if (token == usdg) {
                gross += amounts[i]; // USDG that goes into the basket is paid for like any other constituent
            } else if (ledger.held[i] < amounts[i]) {
                revert TooFewShares(_backedShares(ledger), shares);
            } else {
                ledger.held[i] -= amounts[i];
            }
        }
        fee = _feeOn(gross, Constants.MINT_FEE_BPS);
        if (gross + fee > ledger.funds) revert TooMuchUsdg(gross + fee, ledger.funds);
        _minting = ledger.vault;
        IBasketVault(ledger.vault).mintOnPayment(shares, to);
        fee = _collect(fee);
        _pay(usdg, refundTo, ledger.funds - gross - fee);
        _refundConstituents(ledger, refundTo);
        emit Bought(msg.sender, to, ledger.vault, shares, gross, fee);
    }

    /// Takes the shares and counts what arrives; a constituent that falls short of its due reverts the whole sale.
    function _redeem(Ledger memory ledger, uint256 shares) private {
        IERC20(ledger.vault).safeTransferFrom(msg.sender, address(this), shares);
        uint256[] memory due = _amountsOf(ledger, shares, Math.Rounding.Floor);
        uint256[] memory before = new uint256[](due.length);
        for (uint256 i; i < due.length; ++i) {
            before[i] = ledger.parts[i].token.balanceOf(address(this));
        }
        IBasketVault(ledger.vault).redeem(shares, address(this));
        for (uint256 i; i < due.length; ++i) {
            address token = ledger.parts[i].token;
            uint256 now_ = token.balanceOf(address(this));
            if (now_ < before[i] + due[i]) revert PartialRedeem(token);
            if (token == usdg) ledger.swapped += due[i];
            else ledger.held[i] = due[i];
        }
    }

    /// What the vault takes for `shares`, or gives for them.
    function _amountsOf(Ledger memory ledger, uint256 shares, Math.Rounding rounding)
        private
        pure
        returns (uint256[] memory amounts)
    {
        amounts = new uint256[](ledger.parts.length);
        for (uint256 i; i < amounts.length; ++i) {
            amounts[i] = ShareUnits.amountOf(ledger.parts[i].genesisUnits, shares, ledger.index, rounding);
        }
    }

    /// Shares that `held` (and, for a USDG constituent, the unspent funds less the fee) can back, rounded down.
    function _backedShares(Ledger memory ledger) private view returns (uint256 shares) {
        shares = type(uint256).max;
        for (uint256 i; i < ledger.parts.length; ++i) {
            uint256 available =
                ledger.parts[i].token == usdg ? _grossWithin(ledger.funds) - ledger.swapped : ledger.held[i];
            uint256 backed = ShareUnits.sharesOf(available, ledger.parts[i].genesisUnits, ledger.index);
            if (backed < shares) shares = backed;
        }
    }

    function _refundConstituents(Ledger memory ledger, address refundTo) private {
        for (uint256 i; i < ledger.parts.length; ++i) {
            _pay(ledger.parts[i].token, refundTo, ledger.held[i]);
        }
    }

    /// A treasury that USDG refuses to pay must not be able to stop a sale or a stop-loss: its fee then stays with the
    /// trader. No caller brings that about by too little gas: what a failed transfer leaves of it, a 64th, does not
    /// suffice for the payments that follow.
    function _collect(uint256 fee) private returns (uint256 collected) {
        return IERC20(usdg).trySafeTransfer(IBasketRegistry(registry).treasury(), fee) ? fee : 0;
    }

    function _pay(address token, address to, uint256 amount) private {
        if (amount != 0) IERC20(token).safeTransfer(to, amount);
    }

    /// USDG is never a side to swap into or out of itself, so it is no part here.
    function _partOf(Ledger memory ledger, address token, uint256 index) private view returns (uint256) {
        for (uint256 i; i < ledger.parts.length; ++i) {
            if (ledger.parts[i].token == token && token != usdg) return i;
        }
        revert BadSwap(index, "constituent");
    }

    function _venue() private view returns (SwapDecoder.Venue memory) {
        return SwapDecoder.Venue(router, uniswapFactory, weth);
    }

    function _feeOn(uint256 gross, uint256 bps) private pure returns (uint256) {
        return Math.mulDiv(gross, bps, Constants.BPS, Math.Rounding.Ceil);
    }

    function _withFee(uint256 gross) private pure returns (uint256) {
        return gross + _feeOn(gross, Constants.MINT_FEE_BPS);
    }

    /// The largest gross that fits into `funds` with its fee on top.
    function _grossWithin(uint256 funds) private pure returns (uint256) {
        return Math.mulDiv(funds, Constants.BPS, Constants.BPS + Constants.MINT_FEE_BPS);
    }
}
