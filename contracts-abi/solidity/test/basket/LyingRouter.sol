// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISwapRouter02} from "../../src/interfaces/uniswap/ISwapRouter02.sol";
import {TestToken} from "../support/TestToken.sol";

/// SwapRouter02's interface over a stock of tokens at fixed prices. It trades honestly but for one swap of a trade, on
/// which it tells the lie that it was armed with.
contract LyingRouter {
    enum Lie {
        None,
        SaysMore, // moves the right amounts, answers another
        SaysLess,
        SaysNothing, // answers no data
        PaysShort, // `size` bps of what it should
        PaysNothing,
        PaysElsewhere, // to `thief`
        PaysAnother, // a token that nobody asked for
        PaysMore,
        TakesShort, // `size` bps of what it should, and says the whole
        TakesNothing, // and says the whole
        TakesMore, // one base unit and `size` more than it was allowed
        GivesBack, // takes the whole, returns all but `size` bps of it, and says the whole
        Undercharges, // an exact output for `size` bps of its price, and says so
        Overcharges, // an exact output for all that is allowed, and says so
        OverchargesInSecret, // the same, and says the price
        CallsBack, // calls `target` before it trades
        RevertsJunk, // with `junk`
        RevertsBomb, // with 100,000 bytes
        ReturnsBomb, // trades, and answers 100,000 bytes
        BurnsGas
    }

    struct Deal {
        TestToken tokenIn;
        TestToken tokenOut;
        uint256 takes;
        uint256 pays;
        uint256 allowed; // what the caller said it may take
        bool exactOut;
    }

    address public immutable factory;
    address public immutable WETH9;
    address public immutable thief;
    mapping(address token => uint256) public priceOf; // dollars x 1e18 per whole token
    address[] private _tokens;

    Lie public lie;
    uint256 public lieAt; // the swap, counted from the arming, on which it lies
    uint256 public size; // bps
    bytes public junk;
    address public target;
    bytes public payload;
    bool public calledBack;
    bool public callSucceeded;
    bytes public callResult;
    address public strayed; // the token of PaysAnother
    uint256 public strayAmount;
    uint256 private _swaps;

    constructor(address factory_, address weth_, address thief_) {
        (factory, WETH9, thief) = (factory_, weth_, thief_);
    }

    /// Its stock of the token is for the harness to fill.
    function list(address token, uint256 price) external {
        priceOf[token] = price;
        _tokens.push(token);
    }

    function arm(Lie lie_, uint256 lieAt_, uint256 size_) external {
        (lie, lieAt, size) = (lie_, lieAt_, size_);
        (calledBack, callSucceeded, callResult) = (false, false, "");
        (_swaps, strayAmount, strayed) = (0, 0, address(0));
    }

    function setJunk(bytes calldata junk_) external {
        junk = junk_;
    }

    function setCall(address target_, bytes calldata payload_) external {
        (target, payload) = (target_, payload_);
    }

    /// Takes what somebody may have left it the right to take.
    function grab(TestToken token, address from, uint256 amount) external returns (bool) {
        return token.transferFrom(from, thief, amount);
    }

    // ---------------------------------------------------------------- SwapRouter02

    function exactInputSingle(ISwapRouter02.ExactInputSingleParams calldata p)
        external
        payable
        returns (uint256)
    {
        return _exactIn(p.tokenIn, p.tokenOut, p.amountIn);
    }

    function exactInput(ISwapRouter02.ExactInputParams calldata p) external payable returns (uint256) {
        (address first, address last) = _ends(p.path);
        return _exactIn(first, last, p.amountIn);
    }

    function exactOutputSingle(ISwapRouter02.ExactOutputSingleParams calldata p)
        external
        payable
        returns (uint256)
    {
        return _exactOut(p.tokenIn, p.tokenOut, p.amountOut, p.amountInMaximum);
    }

    function exactOutput(ISwapRouter02.ExactOutputParams calldata p) external payable returns (uint256) {
        (address first, address last) = _ends(p.path);
        return _exactOut(last, first, p.amountOut, p.amountInMaximum);
    }

    function _exactIn(address tokenIn, address tokenOut, uint256 amountIn) private returns (uint256) {
        uint256 pays = _convert(tokenIn, tokenOut, amountIn) * 997 / 1_000;
        Deal memory deal = Deal(TestToken(tokenIn), TestToken(tokenOut), amountIn, pays, amountIn, false);
        return _swap(deal);
    }

    function _exactOut(address tokenIn, address tokenOut, uint256 amountOut, uint256 most)
        private
        returns (uint256)
    {
        uint256 takes = _convert(tokenOut, tokenIn, amountOut) * 1_003 / 1_000 + 1;
        require(takes <= most, "Too much requested");
        return _swap(Deal(TestToken(tokenIn), TestToken(tokenOut), takes, amountOut, most, true));
    }

    // ---------------------------------------------------------------- lies

    function _swap(Deal memory deal) private returns (uint256 says) {
        Lie kind = _swaps++ == lieAt ? lie : Lie.None;
        says = deal.exactOut ? deal.takes : deal.pays;
        if (kind == Lie.RevertsJunk) _revert(junk);
        if (kind == Lie.RevertsBomb) _revert(new bytes(100_000));
        if (kind == Lie.BurnsGas) {
            assembly ("memory-safe") {
                invalid()
            }
        }
        if (kind == Lie.CallsBack) {
            calledBack = true;
            (callSucceeded, callResult) = target.call(payload);
        }
        uint256 takes = _taken(kind, deal);
        if (takes != 0) deal.tokenIn.transferFrom(msg.sender, address(this), takes);
        if (kind == Lie.GivesBack) deal.tokenIn.transfer(msg.sender, takes - takes * size / 10_000);
        _pay(kind, deal);
        if (kind == Lie.Undercharges || kind == Lie.Overcharges) says = deal.exactOut ? takes : says;
        if (kind == Lie.SaysMore) says += size + 1;
        if (kind == Lie.SaysLess) says -= says > size ? size + 1 : says;
        if (kind == Lie.SaysNothing) {
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
        if (kind == Lie.ReturnsBomb) {
            assembly ("memory-safe") {
                mstore(0, says)
                return(0, 100000)
            }
        }
    }

    function _taken(Lie kind, Deal memory deal) private view returns (uint256) {
        if (kind == Lie.TakesShort) return deal.takes * size / 10_000;
        if (kind == Lie.TakesNothing) return 0;
        if (kind == Lie.TakesMore) return deal.allowed + size + 1;
        if (kind == Lie.Undercharges && deal.exactOut) return deal.takes * size / 10_000;
        if (kind == Lie.Overcharges || kind == Lie.OverchargesInSecret) return deal.allowed;
        return deal.takes;
    }

    function _pay(Lie kind, Deal memory deal) private {
        if (kind == Lie.PaysNothing) return;
        if (kind == Lie.PaysAnother) {
            TestToken another = _another(deal);
            (strayed, strayAmount) = (address(another), size + 1);
            another.transfer(msg.sender, strayAmount);
            return;
        }
        uint256 pays = deal.pays;
        if (kind == Lie.PaysShort) pays = pays * size / 10_000;
        if (kind == Lie.PaysMore) pays += pays * size / 10_000;
        deal.tokenOut.transfer(kind == Lie.PaysElsewhere ? thief : msg.sender, pays);
    }

    function _another(Deal memory deal) private view returns (TestToken) {
        for (uint256 i; i < _tokens.length; ++i) {
            address token = _tokens[i];
            if (token != address(deal.tokenIn) && token != address(deal.tokenOut)) return TestToken(token);
        }
        revert("nothing else in stock");
    }

    function _convert(address from, address to, uint256 amount) private view returns (uint256) {
        uint256 dollars = amount * priceOf[from] * 10 ** TestToken(to).decimals();
        return dollars / priceOf[to] / 10 ** TestToken(from).decimals();
    }

    function _ends(bytes calldata path) private pure returns (address first, address last) {
        return (address(bytes20(path[:20])), address(bytes20(path[path.length - 20:])));
    }

    function _revert(bytes memory reason) private pure {
        assembly ("memory-safe") {
            revert(add(reason, 32), mload(reason))
        }
    }
}
