// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {FillPricing} from "../../src/orders/FillPricing.sol";
import {TestToken} from "../support/TestToken.sol";
import {OrderBooks} from "./OrderBooks.sol";

/// A keeper's fill with honest swaps, and everything that one that went through must have kept to.
abstract contract OrderFills is OrderBooks {
    struct Before {
        uint256 amount;
        uint256 tolerance;
        uint256 nav; // what the floor stands on
        uint256 ownerUsdg;
        uint256 ownerShares;
        uint256 payeeUsdg;
        uint256 treasuryUsdg;
    }

    /// A fill that only the floor may refuse.
    function _tryFill(string memory action, Book storage book, address executor) internal returns (bool) {
        _try(action);
        SwapCall[] memory swaps = _swapsFor(book);
        address payee = executor == address(0) ? keeper : executor;
        Before memory before = _before(book, payee);
        _checkFloor(book, before);
        vm.recordLogs();
        vm.prank(keeper);
        try book.escrow.fill(book.id, swaps, executor) returns (uint256 fee) {
            _checkFill(book, before, payee, fee);
            _did(action);
            return true;
        } catch (bytes memory reason) {
            _note(bytes4(reason) == IOrderEscrow.BelowFloor.selector, "a due fill failed for another reason");
            return false;
        }
    }

    function _before(Book storage book, address payee) internal view returns (Before memory before) {
        before.amount = _amountNow(book);
        before.tolerance = _toleranceOf(book);
        uint256 spot = oracle.spotNav(address(vault));
        before.nav = (_reference > spot) == _isExit(book) ? _reference : spot;
        before.ownerUsdg = usdg.balanceOf(book.owner);
        before.ownerShares = vault.balanceOf(book.owner);
        before.payeeUsdg = usdg.balanceOf(payee);
        before.treasuryUsdg = usdg.balanceOf(treasury);
    }

    function _checkTold(Book storage book, Before memory before, address payee) private {
        uint256 shares = _isExit(book) ? before.amount : vault.balanceOf(book.owner) - before.ownerShares;
        bytes memory expected = abi.encode(Told(book.id, book.owner, address(vault), payee, shares));
        _note(keccak256(abi.encode(told)) == keccak256(expected), "a fill was told as another");
    }

    /// Invariants 9, 10 and 12 in figures of their own, then the books.
    function _checkFill(Book storage book, Before memory before, address payee, uint256 fee) internal {
        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 net) =
            lastFill(address(book.escrow));
        _checkTold(book, before, payee);
        _note(fee == executorFee && fee == _executorFee(gross), "executor fee off its formula");
        _note(fee == book.escrow.executorFeeOf(gross), "executorFeeOf says another fee");
        _note(protocolFee == (gross * 20 + 9_999) / 10_000, "protocol fee off its formula");
        _note(usdg.balanceOf(treasury) - before.treasuryUsdg == protocolFee, "treasury not paid");
        if (_isExit(book)) {
            _note(net + protocolFee + fee == gross, "an exit lost units");
            _checkSale(book, before, gross);
        } else {
            _note(gross + protocolFee + fee + net == before.amount, "a buy lost units");
            _checkPurchase(book, before);
        }
        uint256 toOwner = net + _takeFilled(book);
        if (payee == book.owner) {
            _note(usdg.balanceOf(payee) - before.ownerUsdg == toOwner + fee, "owner and executor not paid");
        } else {
            _note(usdg.balanceOf(payee) - before.payeeUsdg == fee, "executor not paid its fee");
            _note(usdg.balanceOf(book.owner) - before.ownerUsdg == toOwner, "owner not paid the net");
        }
    }

    /// What `floorOf` promises keepers, rounded up.
    function _checkFloor(Book storage book, Before memory before) private {
        uint256 told;
        uint256 floor;
        if (_isExit(book)) {
            told = exits.floorOf(book.id);
            floor = Math.ceilDiv(before.amount * before.nav * (10_000 - before.tolerance), 1e34);
            floor = Math.max(floor, Math.ceilDiv(before.amount * book.hardFloor, 1e30));
        } else {
            told = _isLimit(book) ? limits.floorOf(book.id) : schedules.floorOf(book.id);
            uint256 gross = FillPricing.grossWithin(before.amount);
            floor = Math.ceilDiv(gross * 1e34, before.nav * (10_000 + before.tolerance));
        }
        _note(told == floor, "floorOf says another floor");
    }

    function _checkSale(Book storage book, Before memory before, uint256 gross) private {
        bool tolerated = gross * 1e34 >= before.amount * before.nav * (10_000 - before.tolerance);
        _note(tolerated && gross * 1e30 >= before.amount * book.hardFloor, "an exit under its floor");
    }

    function _checkPurchase(Book storage book, Before memory before) private {
        uint256 bought = vault.balanceOf(book.owner) - before.ownerShares;
        uint256 paid = bought * before.nav * (10_000 + before.tolerance);
        _note(paid >= FillPricing.grossWithin(before.amount) * 1e34, "a buy under its floor");
    }

    function _executorFee(uint256 gross) private pure returns (uint256) {
        uint256 share = gross * 15 / 10_000;
        uint256 most = gross / 100;
        if (share < 0.25e6) share = 0.25e6;
        return share < most ? share : most;
    }

    function _refused(string memory action, bytes memory reason, bytes4 why) internal {
        bool right = bytes4(reason) == why;
        _note(right, string.concat("wrong refusal: ", action));
        if (right) _did(action);
    }

    function _fillRefused(string memory action, Book storage book, address executor, bytes4 why) internal {
        _try(action);
        SwapCall[] memory swaps = _swapsFor(book);
        vm.prank(keeper);
        try book.escrow.fill(book.id, swaps, executor) {
            _note(false, string.concat("went through: ", action));
        } catch (bytes memory reason) {
            // The floor is looked at before anybody is paid.
            bool early =
                why == TestToken.Blocked.selector && bytes4(reason) == IOrderEscrow.BelowFloor.selector;
            _refused(action, reason, early ? IOrderEscrow.BelowFloor.selector : why);
        }
    }

    // ---------------------------------------------------------------- swaps, without a quote

    function _swapsFor(Book storage book) internal view returns (SwapCall[] memory) {
        uint256 amount = _amountNow(book);
        return _isExit(book) ? _sales(amount) : _purchases(FillPricing.grossWithin(amount));
    }

    function _sales(uint256 shares) internal view returns (SwapCall[] memory swaps) {
        uint256[] memory amounts = vault.previewRedeem(shares);
        swaps = new SwapCall[](3);
        swaps[0] = exactInput(alfa, amounts[0]);
        swaps[1] = exactInput(bravo, amounts[1]);
        swaps[2] = exactInput(charlie, amounts[2]);
    }

    /// As many shares as `gross` buys when the pools take 0.45% of it: their fees are 0.27%, the rest is impact.
    function _purchases(uint256 gross) internal view returns (SwapCall[] memory swaps) {
        uint256[] memory amounts =
            vault.previewMint(gross * 1e30 / oracle.spotNav(address(vault)) * 9_955 / 10_000);
        swaps = new SwapCall[](3);
        swaps[0] = _purchase(alfa, amounts[0], gross);
        swaps[1] = _purchase(bravo, amounts[1], gross);
        swaps[2] = _purchase(charlie, amounts[2], gross);
    }

    /// Exact output; the zapper itself stops at what is left of the budget.
    function _purchase(Asset memory asset, uint256 amountOut, uint256 most)
        private
        view
        returns (SwapCall memory)
    {
        return SwapCall(
            swapRouter,
            address(usdg),
            address(asset.token),
            most,
            abi.encodeWithSelector(0x09b81346, ExactOutput(_path(asset), address(zapper), amountOut, most))
        );
    }

    function _holds(Book storage book, address who) internal view returns (uint256) {
        return _isExit(book) ? vault.balanceOf(who) : usdg.balanceOf(who);
    }
}
