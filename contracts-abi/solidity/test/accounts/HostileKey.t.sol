// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {TradeBounds} from "../../src/accounts/TradeBounds.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ISafe} from "../../src/interfaces/ISafe.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {IUniPool} from "../support/UniswapFixture.sol";
import {AccountsFixture} from "./AccountsFixture.sol";

/// A stolen key with a market of its own: it picks every member of the action, owns a pool with bad prices, moves
/// the spot around its trades, and sends what it likes, as often as it likes, also what it sent before.
/// Invariants 13, 14, 15 and 16 of protocol-rules.md.
contract HostileKeyTest is AccountsFixture {
    uint24 private constant TRAP_FEE = 10_000;
    uint256 private constant DAILY_LIMIT = 500e6;
    uint256 private constant MAX_SLIPPAGE_BPS = 100;
    uint256 private constant FEE_CAP = 20e6;

    struct Sent {
        ISessionModule.Action action;
        bytes sig;
        uint32 epoch;
        bool succeeded;
    }

    struct Look {
        uint256 worth; // USDG base units: cash and shares at the reference
        uint256 cash;
        uint256[5] others; // what no session may lower: the constituents and ETH
        uint256 turnover;
        uint256 fees;
    }

    IUniPool private trap;
    Sent[] private sent;
    uint256 private day;
    uint256 private lostToday;
    uint256 private turnoverSeen;
    uint256 public successes;
    uint256 public refusals;

    function setUp() public {
        deployAccounts();
        trap = createPool(address(alfa.token), address(usdg), TRAP_FEE, 125e18, 200_000e6);
        pools.push(trap);
        giveShares(tech, account, 3e18);
        giveShares(mixed, account, 3e18);
        giveShares(stock, account, 3e18);
        usdg.mint(account, 9_000e6);
        alfa.token.mint(account, 5e18);
        bravo.token.mint(account, 5e8);
        charlie.token.mint(account, 5e18);
        delta.token.mint(account, 5e6);
        vm.deal(account, 1 ether);
        day = vm.getBlockTimestamp() / 1 days;

        bytes4[] memory selectors = new bytes4[](7);
        selectors[0] = this.act_trade.selector;
        selectors[1] = this.act_trade.selector; // twice: half of all calls
        selectors[2] = this.act_trade.selector;
        selectors[3] = this.act_replay.selector;
        selectors[4] = this.act_passTime.selector;
        selectors[5] = this.act_moveMarket.selector;
        selectors[6] = this.act_ownerActs.selector;
        targetContract(address(this));
        targetSelectors(address(this), selectors);
    }

    // What the fuzzer may do

    function act_trade(uint256 seed, uint256 amount, uint256 quality, uint256 fee) public {
        ISessionModule.Action memory action = _craft(seed, amount, quality);
        action.fee = seed % 5 == 0 ? bound(fee, 0, 15e6) : bound(fee, 0, 500_000);
        _send(action, signature(keyKey, module.hashAction(action)));
    }

    function act_replay(uint256 which) public {
        if (sent.length == 0) return;
        _submit(which % sent.length);
    }

    function act_passTime(uint256 seconds_) public {
        skip(bound(seconds_, 1, 5 hours));
        _turnDay();
    }

    /// The key's owner trades against the pools, in or out of the band around the reference.
    function act_moveMarket(uint256 bps) public {
        uint256 price = poolPrice(alfa.pool, address(alfa.token));
        setPrice(alfa, Math.min(Math.max(price * bound(bps, 9_500, 10_500) / 10_000, 60e18), 250e18));
        setTrap(bound(bps, 9_800, 10_200));
    }

    function act_ownerActs(uint256 what) public {
        if (what % 3 == 0) ownerCalls(address(module), abi.encodeCall(ISessionModule.revoke, (key)));
        ISessionModule.GrantTerms memory terms = defaultTerms();
        terms.validUntil = uint48(vm.getBlockTimestamp() + bound(what, 1 minutes, 3 days));
        grantAgain(terms);
    }

    // What must hold

    /// One function: each invariant of its own would run the whole campaign again.
    /// forge-config: default.invariant.runs = 8
    /// forge-config: default.invariant.depth = 40
    /// forge-config: default.invariant.fail-on-revert = true
    /// forge-config: long.invariant.runs = 256
    /// forge-config: long.invariant.fail-on-revert = true
    function invariant_a_stolen_key_stays_inside_its_grant() public view {
        // Each successful action may round a few base units against the account.
        assertLe(
            lostToday, DAILY_LIMIT * MAX_SLIPPAGE_BPS / 10_000 + FEE_CAP + 2 * sent.length, "lost too much"
        );
        (uint256 turnover, uint256 fees) = module.usageOf(account, key);
        assertLe(turnover, DAILY_LIMIT);
        assertLe(fees, FEE_CAP);
        assertNoAllowances();
        assertEq(ISafe(account).getThreshold(), 1);
        assertEq(ISafe(account).getOwners().length, 1);
        assertTrue(ISafe(account).isOwner(owner));
        assertTrue(ISafe(account).isModuleEnabled(address(module)));
        assertFalse(ISafe(account).isModuleEnabled(key));
    }

    // The same as one deep fuzz test, so that every sequence starts from fresh limits

    /// forge-config: default.fuzz.runs = 12
    /// forge-config: long.fuzz.runs = 1000
    function testFuzz_a_hostile_key_stays_inside_its_grant(uint256[8] calldata seeds, uint256 quality)
        public
    {
        for (uint256 i; i < seeds.length; i++) {
            if (seeds[i] % 4 == 0) act_moveMarket(seeds[i]);
            act_trade(seeds[i], seeds[i] >> 64, quality >> (i * 8), seeds[i] >> 128);
            act_replay(seeds[i]);
        }
        invariant_a_stolen_key_stays_inside_its_grant();
    }

    /// forge-config: default.fuzz.runs = 64
    function testFuzz_random_bytes_as_data_move_nothing(bytes calldata noise, uint8 kind, uint256 amount)
        public
    {
        Look memory before = _look();
        ISessionModule.Action memory action = blankAction(tech, bound(amount, 0.06e18, 3e18));
        action.kind = kind & 1;
        action.limit = kind & 1 == 0 ? type(uint256).max : 0;
        action.data = noise;
        bytes memory sig = signed(action);
        vm.prank(relayer);
        (bool ok,) = address(module).call(abi.encodeCall(module.execute, (action, sig)));
        assertFalse(ok);
        assertFalse(module.nonceUsed(account, action.nonce));
        Look memory after_ = _look();
        assertEq(after_.worth, before.worth);
        assertEq(after_.cash, before.cash);
    }

    /// The worst that the design allows, done on purpose: it must be possible (else this file tests nothing) and
    /// bounded.
    function test_the_worst_day_of_a_stolen_key_costs_at_most_its_slippage_and_fees() public {
        setTrap(10_150);
        for (uint256 i; i < 20; i++) {
            act_trade(uint256(keccak256(abi.encode(i))) | 1 << 255, 0.9e18, 2, 500_000);
        }
        assertGt(successes, 0);
        assertGt(lostToday, 0);
        invariant_a_stolen_key_stays_inside_its_grant();
    }

    /// Random play that is refused throughout would prove nothing.
    function test_the_random_play_of_this_file_trades_and_is_refused_alike() public {
        uint256 clean = vm.snapshotState();
        uint256 traded;
        for (uint256 i; i < 40; i++) {
            uint256 seed = uint256(keccak256(abi.encode(i)));
            act_trade(seed, seed >> 7, i, seed);
            if (successes == 1) traded++;
            vm.revertToState(clean);
        }
        assertGe(traded, 10);
        assertLe(traded, 30);
    }

    // Crafting

    /// `quality`: 0 fair swaps, 1 without limits, 2 through the trap, 3 swaps cut short, 4 a swap too many,
    /// 5 amounts scaled, 6 another vault's swaps, 7 anything at all in the plain members.
    function _craft(uint256 seed, uint256 amount, uint256 quality)
        private
        returns (ISessionModule.Action memory action)
    {
        BasketVault vault = [tech, mixed, stock, blind][seed % 16 == 7 ? 3 : seed % 3];
        bool buy = (seed >> 8) % 2 == 0;
        amount = bound(amount, 0.01e18, 2.5e18);
        if (!buy) amount = Math.min(amount, vault.balanceOf(account));
        if (vault == blind || amount == 0) {
            action = blankAction(vault, amount);
            action.data = abi.encode(new SwapCall[](0));
        } else {
            action = buy ? buyAction(vault, amount) : sellAction(vault, amount);
        }
        quality %= 8;
        if (quality != 0) action.limit = buy ? type(uint128).max : 0;
        action.slippageBps = uint16((seed >> 16) % 4 != 0 ? MAX_SLIPPAGE_BPS : bound(seed >> 18, 0, 101));
        action.nonce = nonceFor(key, uint160(sent.length));
        if (quality >= 2 && quality <= 6 && action.data.length > 64) {
            SwapCall[] memory swaps = abi.decode(action.data, (SwapCall[]));
            if (swaps.length != 0) {
                action.data = abi.encode(_spoil(swaps, vault, amount, buy, quality, seed));
            }
        }
        if (quality == 7) {
            action.amount = seed >> 32 & 1 == 0 ? action.amount : seed;
            action.limit = seed >> 33 & 1 == 0 ? action.limit : seed << 64;
            action.vault = seed >> 34 & 1 == 0 ? action.vault : address(uint160(seed));
            action.deadline = seed >> 35 & 1 == 0 ? action.deadline : uint48(seed >> 40);
            action.kind = seed >> 36 & 7 == 0 ? uint8(seed >> 88) : action.kind;
        }
    }

    function _spoil(
        SwapCall[] memory swaps,
        BasketVault vault,
        uint256 amount,
        bool buy,
        uint256 quality,
        uint256 seed
    ) private returns (SwapCall[] memory spoiled) {
        uint256 index = seed % swaps.length;
        spoiled = swaps;
        if (quality == 2 && vault != stock) {
            Asset memory trapped = alfa; // the first constituent of tech and mixed
            trapped.fee = TRAP_FEE;
            uint256 units = buy ? vault.previewMint(amount)[0] : vault.previewRedeem(amount)[0];
            spoiled[0] = buy ? exactOutput(trapped, units) : exactInput(trapped, units);
        } else if (quality == 3) {
            spoiled = new SwapCall[](swaps.length - 1);
            for (uint256 i; i < spoiled.length; i++) {
                spoiled[i] = swaps[i < index ? i : i + 1];
            }
        } else if (quality == 4) {
            spoiled = new SwapCall[](swaps.length + 1);
            for (uint256 i; i < swaps.length; i++) {
                spoiled[i] = swaps[i];
            }
            spoiled[swaps.length] = buy ? exactInputBuy(assetOf(swaps[index].tokenOut), 1e6) : swaps[index];
        } else if (quality == 5) {
            Asset memory asset = assetOf(buy ? swaps[index].tokenOut : swaps[index].tokenIn);
            spoiled[index] = buy
                ? exactInputBuy(asset, swaps[index].amountIn * bound(seed >> 24, 9_900, 10_200) / 10_000)
                : exactInput(asset, swaps[index].amountIn * bound(seed >> 24, 9_800, 10_100) / 10_000);
        } else if (quality == 6) {
            spoiled[index].callData[seed % spoiled[index].callData.length] ^= bytes1(uint8(seed >> 96));
        }
    }

    // Sending, and looking at what it did

    function _send(ISessionModule.Action memory action, bytes memory sig) private {
        sent.push();
        Sent storage last = sent[sent.length - 1];
        last.action = action;
        last.sig = sig;
        last.epoch = module.grantOf(account, key).epoch;
        _submit(sent.length - 1);
    }

    function _submit(uint256 which) private {
        ISessionModule.Action memory action = sent[which].action;
        Look memory before = _look();
        uint256 relayerBefore = usdg.balanceOf(relayer);
        bytes memory payload = abi.encodeCall(module.execute, (action, sent[which].sig));
        vm.prank(relayer);
        (bool ok,) = address(module).call(payload);
        Look memory after_ = _look();
        for (uint256 i; i < 5; i++) {
            assertGe(after_.others[i], before.others[i], "another token moved");
        }
        if (!ok) {
            refusals++;
            assertEq(
                module.nonceUsed(account, action.nonce), sent[which].succeeded, "a refused nonce was marked"
            );
            assertEq(after_.cash, before.cash);
            assertEq(after_.worth, before.worth);
            assertEq(after_.turnover, before.turnover);
            return;
        }
        successes++;
        assertFalse(sent[which].succeeded, "a nonce ran twice");
        assertEq(sent[which].epoch, module.grantOf(account, key).epoch, "an old epoch ran");
        sent[which].succeeded = true;
        assertTrue(module.nonceUsed(account, action.nonce));
        assertEq(usdg.balanceOf(relayer), relayerBefore + action.fee, "the fee is exact");
        assertEq(after_.fees, before.fees + action.fee);
        assertGe(after_.turnover, before.turnover, "turnover fell");
        if (before.worth > after_.worth) {
            uint256 loss = before.worth - after_.worth;
            uint256 counted = after_.turnover - before.turnover;
            assertLe(loss, counted * action.slippageBps / 10_000 + action.fee + 2, "an action lost too much");
            lostToday += loss;
        }
    }

    function _look() private view returns (Look memory look) {
        look.cash = usdg.balanceOf(account);
        look.worth = look.cash;
        BasketVault[3] memory vaults = [tech, mixed, stock];
        for (uint256 i; i < 3; i++) {
            (uint256 nav,,) = oracle.tryReferenceNav(address(vaults[i]));
            look.worth += TradeBounds.value(vaults[i].balanceOf(account), nav, Math.Rounding.Floor);
        }
        look.others[0] = IERC20(address(alfa.token)).balanceOf(account);
        look.others[1] = IERC20(address(bravo.token)).balanceOf(account);
        look.others[2] = IERC20(address(charlie.token)).balanceOf(account);
        look.others[3] = IERC20(address(delta.token)).balanceOf(account) + weth.balanceOf(account);
        look.others[4] = account.balance;
        (look.turnover, look.fees) = module.usageOf(account, key);
    }

    function _turnDay() private {
        uint256 today = vm.getBlockTimestamp() / 1 days;
        if (today == day) return;
        day = today;
        lostToday = 0;
    }

    function setTrap(uint256 bpsOfFair) private {
        movePrice(trap, address(alfa.token), poolPrice(alfa.pool, address(alfa.token)) * bpsOfFair / 10_000);
    }
}
