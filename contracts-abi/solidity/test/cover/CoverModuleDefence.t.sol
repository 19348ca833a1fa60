// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {AccountsGenesis} from "../../src/accounts/AccountsGenesis.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {CoverActions} from "../accounts/CoverActions.sol";
import {PretendingAccount, StubbornToken} from "../accounts/SessionDefence.t.sol";

/// The module's own look at the account holds even where the market, the token or the account itself lies (rule 16).
contract CoverModuleDefenceTest is CoverActions {
    uint64 private constant COVER = 1_000; // dollars
    uint128 private constant PRICE = 20e6; // per $1,000
    uint256 private constant COST = 20_200_000; // $20.00 and 1%

    HostileMarket private hostile;
    StubbornToken private cash;

    function setUp() public {
        deployAccounts();
        cash = new StubbornToken();
        hostile = new HostileMarket(cash, IERC20(address(tech)), address(tech));
        AccountsGenesis.Parts memory parts = genesisParts();
        parts.usdg = address(cash);
        parts.coverMarket = address(hostile);
        genesis = new AccountsGenesis(parts);
        (module, coverModule, factory) =
        (genesis.sessionModule(), genesis.coverModule(), genesis.accountFactory());
        vm.prank(owner);
        account = factory.openAndGrant(coverTerms());
        giveShares(tech, account, 1e18);
        cash.mint(account, 1_000e6);
        cash.mint(address(hostile), 1_000e6);
        hostile.list(account, ICoverMarket.Side.Request, COVER, PRICE);
    }

    function test_honest_answers_pass_and_a_kept_allowance_is_taken_back() public {
        hostile.answer(COST, COVER, COST);
        ICoverModule.CoverAction memory action = _take();
        action.fee = 0.1e6;
        assertEq(runCover(action), COST);
        assertEq(cash.balanceOf(account), 1_000e6 - COST - 0.1e6);
        assertEq(cash.allowance(account, address(hostile)), 0);
        hostile.answer(10e6, 0, 0);
        action = _request(500);
        action.nonce++;
        assertEq(runCover(action), 10e6);
        hostile.answer(20e6, 0, 0);
        action = cancelAction(1);
        action.nonce += 2;
        assertEq(runCover(action), 0);
        assertEq(cash.balanceOf(account), 1_000e6 - COST - 0.1e6 + 10e6);
    }

    function test_a_cost_that_is_not_what_the_market_says_is_refused() public {
        hostile.answer(COST, COVER, COST - 1);
        _refusedDelta(_take(), address(cash));
        hostile.answer(COST - 1, COVER, COST);
        _refusedDelta(_take(), address(cash));
    }

    function test_less_or_more_cover_than_asked_is_refused() public {
        hostile.answer(COST, COVER - 1, COST);
        _refusedDelta(_take(), address(cash));
        hostile.answer(COST, COVER + 1, COST);
        _refusedDelta(_take(), address(cash));
    }

    function test_more_than_the_limit_is_refused_even_if_the_allowance_let_it_through() public {
        cash.setUnbounded(true); // transferFrom ignores allowances
        hostile.answer(COST + 1, COVER, COST + 1);
        runCoverRefused(
            _take(), abi.encodeWithSelector(ICoverModule.CostAboveCeiling.selector, COST + 1, COST)
        );
        hostile.answer(10e6 + 1, 0, 0);
        _refusedDelta(_request(500), address(cash));
    }

    function test_a_premium_other_than_the_signed_one_is_refused() public {
        hostile.answer(10e6 - 1, 0, 0);
        _refusedDelta(_request(500), address(cash));
    }

    function test_money_from_nowhere_is_refused() public {
        cash.setUnbounded(true);
        hostile.gift(account, 2);
        hostile.answer(1, COVER, 0);
        runCoverRefused(_take(), abi.encodeWithSignature("Panic(uint256)", 0x11));
    }

    function test_shares_that_move_are_noticed() public {
        vm.prank(account);
        tech.approve(address(hostile), 1);
        hostile.answer(COST, COVER, COST);
        hostile.steal(1);
        _refusedDelta(_take(), address(tech));
        hostile.answer(10e6, 0, 0);
        _refusedDelta(_request(500), address(tech));
    }

    function test_a_cancel_that_returns_less_or_more_than_the_open_premium_is_refused() public {
        hostile.answer(20e6 - 1, 0, 0);
        _refusedDelta(cancelAction(1), address(cash));
        hostile.answer(20e6 + 1, 0, 0);
        _refusedDelta(cancelAction(1), address(cash));
    }

    function test_a_short_answer_is_a_failure() public {
        hostile.answer(COST, COVER, COST);
        hostile.setShort(true);
        runCoverRefused(_take(), _failed(abi.encode(uint256(1))));
        hostile.answer(10e6, 0, 0);
        runCoverRefused(_request(500), _failed(""));
    }

    function test_an_allowance_that_cannot_be_cleared_is_refused() public {
        hostile.answer(COST - 1, COVER, COST - 1);
        cash.setKeepsAllowance(true);
        ICoverModule.CoverAction memory action = _take();
        _refusedDelta(action, address(cash));
    }

    function test_an_approval_that_does_not_answer_true_is_refused() public {
        cash.setApproveAnswer(0);
        runCoverRefused(_take(), _failed(abi.encode(uint256(0))));
        cash.setApproveAnswer(2);
        runCoverRefused(_request(500), _failed(abi.encode(uint256(2))));
    }

    function test_a_fee_that_costs_the_account_more_than_it_says_is_refused() public {
        hostile.answer(COST, COVER, COST);
        ICoverModule.CoverAction memory action = _take();
        action.fee = 0.1e6;
        cash.setSurcharge(1);
        _refusedDelta(action, address(cash));
        cash.setSurcharge(0);
        runCover(action);
    }

    function test_an_account_that_only_pretends_to_execute_is_refused() public {
        PretendingAccount pretender = new PretendingAccount(owner);
        vm.prank(address(pretender));
        module.grant(coverTerms());
        account = address(pretender);
        giveShares(tech, account, 1e18);
        cash.mint(account, 1_000e6);
        hostile.list(account, ICoverMarket.Side.Request, COVER, PRICE);
        _refusedDelta(_take(), address(cash));
        _refusedDelta(_request(500), address(cash));
        _refusedDelta(cancelAction(1), address(cash));
    }

    function _take() private view returns (ICoverModule.CoverAction memory) {
        return takeAction(1, COVER, COST);
    }

    function _request(uint64 coverUsd) private view returns (ICoverModule.CoverAction memory) {
        return requestAction(
            ICoverMarket.Terms({
                week: 1,
                vault: address(tech),
                fromBps: 300,
                toBps: 1_000,
                coverUsd: coverUsd,
                pricePer1k: PRICE
            })
        );
    }

    function _refusedDelta(ICoverModule.CoverAction memory action, address token) private {
        runCoverRefused(action, abi.encodeWithSelector(ISessionModule.UnexpectedDelta.selector, token));
    }

    function _failed(bytes memory reason) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ISessionModule.ModuleCallFailed.selector, reason);
    }
}

/// Moves and says what it was told to.
contract HostileMarket {
    StubbornToken private immutable cash;
    IERC20 private immutable shares;
    address private immutable vault;
    ICoverMarket.Listing private listing;
    uint256 private moves;
    uint256 private saysTaken;
    uint256 private saysCost;
    uint256 private theft;
    uint256 private present;
    address private presented;
    bool private short_;

    constructor(StubbornToken cash_, IERC20 shares_, address vault_) {
        (cash, shares, vault) = (cash_, shares_, vault_);
    }

    function list(address owner, ICoverMarket.Side side, uint64 coverUsd, uint128 price) external {
        (listing.owner, listing.side, listing.openUsd) = (owner, side, coverUsd);
        (listing.terms.vault, listing.terms.coverUsd, listing.terms.pricePer1k) = (vault, coverUsd, price);
    }

    function answer(uint256 moves_, uint256 taken, uint256 cost) external {
        (moves, saysTaken, saysCost) = (moves_, taken, cost);
    }

    function gift(address to, uint256 amount) external {
        (presented, present) = (to, amount);
    }

    function steal(uint256 amount) external {
        theft = amount;
    }

    function setShort(bool on) external {
        short_ = on;
    }

    function listingOf(uint256) external view returns (ICoverMarket.Listing memory) {
        return listing;
    }

    function capOf(address asked) external view returns (uint64) {
        return asked == vault ? 1 : 0;
    }

    function take(uint256[] calldata, uint64[] calldata, uint256, uint256)
        external
        returns (uint256, uint256)
    {
        _move();
        if (short_) _answerWords(1);
        return (saysTaken, saysCost);
    }

    function request(ICoverMarket.Terms calldata) external returns (uint256) {
        _move();
        if (short_) _answerWords(0);
        return 1;
    }

    function cancel(uint256) external {
        require(cash.transfer(msg.sender, moves), "cash");
    }

    function _move() private {
        require(cash.transferFrom(msg.sender, address(this), moves), "cash");
        if (present != 0) require(cash.transfer(presented, present), "present");
        if (theft != 0) require(shares.transferFrom(msg.sender, address(this), theft), "theft");
    }

    function _answerWords(uint256 words) private pure {
        assembly ("memory-safe") {
            mstore(0, 1)
            return(0, mul(words, 32))
        }
    }
}
