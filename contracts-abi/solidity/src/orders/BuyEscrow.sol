// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SwapCall} from "../interfaces/IBasketZapper.sol";
import {FillPricing} from "./FillPricing.sol";
import {OrderEscrow} from "./OrderEscrow.sol";

/// Orders that escrow USDG and buy shares with it. What a fill takes covers everything: swaps, mint fee and executor
/// fee; the shares go straight to the owner, and so does every base unit that is not spent.
abstract contract BuyEscrow is OrderEscrow {
    using SafeERC20 for IERC20;

    /// Least shares for `amount` all-in: its largest gross over min(reference, spot), less the tolerance (rule 10).
    function _buyFloor(bytes32 id, Order storage order, uint256 amount, Navs memory navs)
        internal
        view
        returns (uint256 minShares)
    {
        uint256 nav = Math.min(navs.reference_, navs.spot);
        return FillPricing.buyFloor(FillPricing.grossWithin(amount), nav, _toleranceOf(id, order));
    }

    function _execute(
        bytes32 id,
        Order storage order,
        uint256 amount,
        uint256 floor,
        SwapCall[] calldata swaps
    ) internal virtual override returns (Outcome memory done) {
        address owner = order.owner;
        uint256 gross = FillPricing.grossWithin(amount);
        uint256 budget = gross + FillPricing.mintFee(gross);
        usdg.forceApprove(address(zapper), budget);
        // The floor is checked below, so that missing it says BelowFloor with both figures. It is owed in full
        // however little the swaps spend: a filler gains nothing by buying less.
        (done.shares, done.gross, done.protocolFee) =
            zapper.buy(order.vault, budget, 0, swaps, owner, owner, block.timestamp);
        if (done.shares < floor) revert BelowFloor(id, done.shares, floor);
        done.executorFee = FillPricing.executorFee(done.gross);
        done.net = amount - done.gross - done.protocolFee - done.executorFee;
        // The zapper returns what the swaps left of the budget; the rest never left this contract.
        usdg.safeTransfer(owner, amount - budget - done.executorFee);
    }

    function _escrowed(Order storage) internal view override returns (IERC20) {
        return usdg;
    }
}
