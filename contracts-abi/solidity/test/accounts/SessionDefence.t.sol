// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SessionModule} from "../../src/accounts/SessionModule.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ISafe} from "../../src/interfaces/ISafe.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {AccountsFixture} from "./AccountsFixture.sol";

/// The module's own look at the account holds even where the zapper, the token or the account itself lies
/// (rule 16): a second module over hostile parts.
contract SessionDefenceTest is AccountsFixture {
    HostileZapper private hostile;
    StubbornToken private cash;

    function setUp() public {
        deployAccounts();
        cash = new StubbornToken();
        hostile = new HostileZapper();
        module = new SessionModule(
            address(cash),
            address(registry),
            address(oracle),
            address(hostile),
            address(pause),
            address(factory),
            makeAddr("cover module")
        );
        ownerCalls(account, abi.encodeCall(ISafe.enableModule, (address(module))));
        grantAgain(defaultTerms());
        cash.mint(account, 1_000e6);
        giveShares(tech, address(hostile), 10e18);
        giveShares(tech, account, 10e18);
        cash.mint(address(hostile), 1_000e6);
        hostile.lead(cash, IERC20(address(tech)), IERC20(address(alfa.token)), account);
    }

    function test_an_honest_answer_passes_and_a_kept_allowance_is_taken_back() public {
        hostile.setBuy(99e6, 1e18, 99e6, 0);
        run(_buy());
        assertEq(cash.balanceOf(account), 901e6);
        assertEq(tech.balanceOf(account), 11e18);
        assertEq(cash.allowance(account, address(hostile)), 0);
        hostile.setSell(1e18, 100e6, 100e6, 100e6);
        ISessionModule.Action memory sale = _sell();
        sale.nonce++;
        run(sale);
        assertEq(cash.balanceOf(account), 1_001e6);
        assertEq(tech.allowance(account, address(hostile)), 0);
    }

    function test_too_few_or_too_many_shares_are_refused() public {
        hostile.setBuy(99e6, 1e18 - 1, 99e6, 0);
        _refusedDelta(_buy(), address(tech));
        hostile.setBuy(99e6, 1e18 + 1, 99e6, 0);
        _refusedDelta(_buy(), address(tech));
        hostile.setSell(1e18 - 1, 100e6, 100e6, 100e6);
        _refusedDelta(_sell(), address(tech));
    }

    function test_money_that_is_not_what_the_zapper_says_is_refused() public {
        hostile.setBuy(99e6, 1e18, 98e6, 0);
        _refusedDelta(_buy(), address(cash));
        hostile.setBuy(99e6, 1e18, 99e6, 1);
        _refusedDelta(_buy(), address(cash));
        hostile.setSell(1e18, 100e6, 100e6 + 1, 101e6);
        _refusedDelta(_sell(), address(cash));
    }

    function test_more_than_the_bound_is_refused_even_if_the_allowance_let_it_through() public {
        cash.setUnbounded(true); // transferFrom ignores allowances
        hostile.setBuy(200e6, 1e18, 200e6, 0);
        ISessionModule.Action memory action = _buy();
        action.limit = 120e6;
        bytes memory sig = signed(action);
        vm.expectPartialRevert(ISessionModule.WorseThanReference.selector);
        module.execute(action, sig);
        action.limit = 50e6;
        runRefused(action, abi.encodeWithSelector(ISessionModule.WorseThanReference.selector, 200e6, 50e6));
    }

    function test_less_than_the_bound_is_refused() public {
        hostile.setSell(1e18, 90e6, 90e6, 90e6);
        ISessionModule.Action memory action = _sell();
        bytes memory sig = signed(action);
        vm.expectPartialRevert(ISessionModule.WorseThanReference.selector);
        module.execute(action, sig);
    }

    function test_a_constituent_taken_from_the_account_is_noticed() public {
        alfa.token.mint(account, 5e18);
        ownerCalls(address(alfa.token), abi.encodeCall(IERC20.approve, (address(hostile), 1e18)));
        hostile.setBuy(99e6, 1e18, 99e6, 0);
        hostile.setTheft(1);
        _refusedDelta(_buy(), address(alfa.token));
        hostile.setSell(1e18, 100e6, 100e6, 100e6);
        _refusedDelta(_sell(), address(alfa.token));
    }

    function test_a_short_answer_is_a_failure() public {
        hostile.setBuy(99e6, 1e18, 99e6, 0);
        hostile.setShort(true);
        runRefused(
            _buy(), abi.encodeWithSelector(ISessionModule.ModuleCallFailed.selector, abi.encode(uint256(1)))
        );
    }

    function test_an_allowance_that_cannot_be_cleared_is_refused() public {
        hostile.setBuy(99e6, 1e18, 99e6, 0);
        cash.setKeepsAllowance(true);
        _refusedDelta(_buy(), address(cash));
    }

    function test_an_approval_that_answers_false_or_two_is_refused() public {
        for (uint256 answer; answer < 4; answer++) {
            if (answer == 1) continue;
            cash.setApproveAnswer(answer);
            runRefused(
                _buy(), abi.encodeWithSelector(ISessionModule.ModuleCallFailed.selector, abi.encode(answer))
            );
        }
    }

    function test_a_fee_that_costs_the_account_more_than_it_says_is_refused() public {
        hostile.setBuy(99e6, 1e18, 99e6, 0);
        ISessionModule.Action memory action = _buy();
        action.fee = 1e6;
        cash.setSurcharge(1);
        _refusedDelta(action, address(cash));
        cash.setSurcharge(0);
        run(action);
    }

    function test_an_account_that_only_pretends_to_execute_is_refused() public {
        PretendingAccount pretender = new PretendingAccount(owner);
        vm.prank(address(pretender));
        module.grant(defaultTerms());
        account = address(pretender);
        giveShares(tech, account, 10e18);
        ISessionModule.Action memory action = _buy();
        action.nonce = nonceFor(key, 1);
        _refusedDelta(action, address(tech));
        action = _sell();
        action.nonce = nonceFor(key, 1);
        _refusedDelta(action, address(tech));
    }

    function _buy() private view returns (ISessionModule.Action memory action) {
        action = blankAction(tech, 1e18);
        action.limit = 500e6;
        action.data = abi.encode(new SwapCall[](0));
    }

    function _sell() private view returns (ISessionModule.Action memory action) {
        action = _buy();
        action.kind = 1;
        action.limit = 1;
    }

    function _refusedDelta(ISessionModule.Action memory action, address token) private {
        runRefused(action, abi.encodeWithSelector(ISessionModule.UnexpectedDelta.selector, token));
    }
}

contract HostileZapper {
    IERC20 private cash;
    IERC20 private shares;
    IERC20 private constituent;
    address private victim;
    uint256 private takes;
    uint256 private gives;
    uint256 private says;
    uint256 private saysToo;
    uint256 private theft;
    bool private short_;

    function lead(StubbornToken cash_, IERC20 shares_, IERC20 constituent_, address victim_) external {
        (cash, shares, constituent, victim) = (IERC20(address(cash_)), shares_, constituent_, victim_);
    }

    function setBuy(uint256 takesCash, uint256 givesShares, uint256 gross, uint256 fee) external {
        (takes, gives, says, saysToo) = (takesCash, givesShares, gross, fee);
    }

    function setSell(uint256 takesShares, uint256 givesCash, uint256 net, uint256 gross) external {
        (takes, gives, says, saysToo) = (takesShares, givesCash, net, gross);
    }

    function setTheft(uint256 amount) external {
        theft = amount;
    }

    function setShort(bool on) external {
        short_ = on;
    }

    function buyExact(address, uint256, uint256, SwapCall[] calldata, address to, address, uint256)
        external
        returns (uint256, uint256)
    {
        require(cash.transferFrom(to, address(this), takes), "cash");
        require(shares.transfer(to, gives), "shares");
        _steal();
        if (short_) {
            assembly ("memory-safe") {
                mstore(0, 1)
                return(0, 32)
            }
        }
        return (says, saysToo);
    }

    function sell(address, uint256, uint256, SwapCall[] calldata, address to, address, uint256)
        external
        returns (uint256, uint256, uint256)
    {
        require(shares.transferFrom(to, address(this), takes), "shares");
        require(cash.transfer(to, gives), "cash");
        _steal();
        return (says, saysToo, 0);
    }

    function _steal() private {
        if (theft != 0) require(constituent.transferFrom(victim, address(this), theft), "theft");
    }
}

contract StubbornToken {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    bool private unbounded;
    bool private keepsAllowance;
    uint256 private approveAnswer = 1;
    uint256 private surcharge;

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    function setUnbounded(bool on) external {
        unbounded = on;
    }

    function setKeepsAllowance(bool on) external {
        keepsAllowance = on;
    }

    function setApproveAnswer(uint256 answer) external {
        approveAnswer = answer;
    }

    function setSurcharge(uint256 amount) external {
        surcharge = amount;
    }

    function approve(address spender, uint256 amount) external returns (uint256) {
        if (amount != 0 || !keepsAllowance) allowance[msg.sender][spender] = amount;
        return approveAnswer;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        balanceOf[msg.sender] -= amount + surcharge;
        balanceOf[to] += amount;
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        if (!unbounded) allowance[from][msg.sender] -= amount;
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        return true;
    }
}

/// Says that every module call worked and does nothing.
contract PretendingAccount {
    address private immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function getOwners() external view returns (address[] memory owners) {
        owners = new address[](1);
        owners[0] = owner;
    }

    function isOwner(address who) external view returns (bool) {
        return who == owner;
    }

    function execTransactionFromModuleReturnData(address, uint256, bytes calldata, uint8)
        external
        pure
        returns (bool, bytes memory)
    {
        return (true, abi.encode(uint256(1), uint256(0), uint256(0)));
    }
}
