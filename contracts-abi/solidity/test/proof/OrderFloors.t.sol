// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {ExitEscrow} from "../../src/orders/ExitEscrow.sol";
import {FillPricing} from "../../src/orders/FillPricing.sol";
import {OrderFixture} from "../orders/OrderFixture.sol";

/// What no market yields at will: fills of exactly the floor and one base unit less; a vault that calls back.
contract OrderFloorsTest is OrderFixture {
    uint256 private constant SHARES = 10e18;
    uint256 private constant AMOUNT = 1_000e6;

    function setUp() public {
        deployWorld();
        settleReference();
    }

    function test_an_exit_is_filled_at_its_floor_and_not_one_base_unit_below() public {
        bytes32 id = createExit(alice, SHARES, 1_000e18, 0);
        uint256 floor = exits.floorOf(id);
        usdg.mint(address(exits), floor);
        SwapCall[] memory none = new SwapCall[](0);
        _zapperYields(0, floor - 1);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BelowFloor.selector, id, floor - 1, floor));
        exits.fill(id, none, keeper);
        _zapperYields(0, floor);
        exits.fill(id, none, keeper);
        assertEq(usdg.balanceOf(alice) + usdg.balanceOf(keeper), floor);
    }

    function test_a_buy_is_filled_at_its_floor_and_not_one_base_unit_below() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        uint256 floor = limits.floorOf(id);
        uint256 gross = FillPricing.grossWithin(AMOUNT);
        SwapCall[] memory none = new SwapCall[](0);
        _zapperYields(floor - 1, gross);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BelowFloor.selector, id, floor - 1, floor));
        limits.fill(id, none, keeper);
        _zapperYields(floor, gross);
        limits.fill(id, none, keeper);
        assertEq(usdg.balanceOf(keeper), FillPricing.executorFee(gross));
    }

    /// The registry lists vaults of ours alone, whose transfers call nobody: the guard does not rest on that.
    function test_a_vault_that_calls_back_opens_no_order_within_an_order() public {
        IExitEscrow.ExitTerms memory terms = exitTerms(SHARES, 50e18, 0);
        vm.etch(address(vault), address(new CallingVault(exits)).code);
        vm.expectRevert(ReentrancyGuard.ReentrancyGuardReentrantCall.selector);
        exits.create(terms);
    }

    function _zapperYields(uint256 shares, uint256 gross) private {
        vm.etch(address(zapper), address(new FixedZapper(shares, gross)).code);
    }
}

/// Moves nothing and answers what it was made with.
contract FixedZapper {
    uint256 private immutable _shares;
    uint256 private immutable _gross;

    constructor(uint256 shares, uint256 gross) {
        _shares = shares;
        _gross = gross;
    }

    function buy(address, uint256, uint256, SwapCall[] calldata, address, address, uint256)
        external
        view
        returns (uint256 shares, uint256 gross, uint256 fee)
    {
        return (_shares, _gross, 0);
    }

    function sell(address, uint256, uint256, SwapCall[] calldata, address, address, uint256)
        external
        view
        returns (uint256 net, uint256 gross, uint256 fee)
    {
        return (_gross, _gross, 0);
    }
}

/// Calls the escrow once more from within the transfer that opens an order.
contract CallingVault {
    ExitEscrow private immutable _exits;

    constructor(ExitEscrow exits) {
        _exits = exits;
    }

    function balanceOf(address) external pure returns (uint256) {
        return 0;
    }

    function transferFrom(address, address, uint256 shares) external returns (bool) {
        IExitEscrow.ExitTerms memory terms;
        terms.vault = address(this);
        terms.shares = shares;
        terms.stopNav = 50e18;
        terms.deadline = uint48(block.timestamp + 30 days);
        _exits.create(terms);
        return true;
    }
}
