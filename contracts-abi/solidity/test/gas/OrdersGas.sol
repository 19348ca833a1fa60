// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {ILimitEscrow} from "../../src/interfaces/ILimitEscrow.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {IScheduleEscrow} from "../../src/interfaces/IScheduleEscrow.sol";
import {WorldMeter} from "./WorldMeter.sol";

/// The three escrows, over the basket of three constituents.
abstract contract OrdersGas is WorldMeter {
    uint256 private constant SHARES = 1e18;

    function test_exits() public {
        send(wallet, here.vault, abi.encodeCall(IERC20.approve, (here.exits, SHARES)));
        bytes memory create = abi.encodeCall(
            IExitEscrow.create,
            (IExitEscrow.ExitTerms({
                    vault: here.vault,
                    shares: SHARES,
                    stopNav: 101e18,
                    tpNav: 0,
                    hardFloorNav: 0,
                    slippageBps: 0,
                    capBps: 0,
                    deadline: uint48(vm.getBlockTimestamp() + 30 days)
                }))
        );
        (SwapCall[] memory swaps,) = world.swapsOf(false);
        bytes32 id = _create("ExitEscrow", here.exits, create);
        _life("ExitEscrow", here.exits, id, swaps);
        _of("ExitEscrow", here.exits, "orderOf", id);
        probe(
            "ExitEscrow.escrowedShares",
            ANYONE,
            here.exits,
            abi.encodeCall(IExitEscrow.escrowedShares, (wallet, here.vault))
        );
        _disarm("ExitEscrow", here.exits, id);
        _end("ExitEscrow", here.exits, id);
    }

    function test_limits() public {
        (SwapCall[] memory swaps, uint256 cost) = world.swapsOf(true);
        uint256 amount = cost + cost / 50;
        send(wallet, here.usdg, abi.encodeCall(IERC20.approve, (here.limits, amount)));
        bytes memory create = abi.encodeCall(
            ILimitEscrow.create,
            (ILimitEscrow.LimitTerms({
                    vault: here.vault,
                    amount: amount,
                    triggerNav: 101e18,
                    slippageBps: 400,
                    capBps: 0,
                    deadline: uint48(vm.getBlockTimestamp() + 30 days)
                }))
        );
        bytes32 id = _create("LimitEscrow", here.limits, create);
        _life("LimitEscrow", here.limits, id, swaps);
        _of("LimitEscrow", here.limits, "orderOf", id);
        _disarm("LimitEscrow", here.limits, id);
        _end("LimitEscrow", here.limits, id);
    }

    function test_schedules() public {
        (SwapCall[] memory swaps, uint256 cost) = world.swapsOf(true);
        uint256 amount = cost + cost / 50;
        send(wallet, here.usdg, abi.encodeCall(IERC20.approve, (here.schedules, 10 * amount)));
        bytes memory create = abi.encodeCall(
            IScheduleEscrow.create,
            (IScheduleEscrow.ScheduleTerms({
                    kind: IScheduleEscrow.Kind.Subscribe,
                    vault: here.vault,
                    total: 10 * amount,
                    slots: 10,
                    interval: 1 days,
                    startAt: 0,
                    slippageBps: 400,
                    capBps: 0
                }))
        );
        bytes32 id = _create("ScheduleEscrow", here.schedules, create);
        _life("ScheduleEscrow", here.schedules, id, swaps);
        _of("ScheduleEscrow", here.schedules, "scheduleOf", id);
        _of("ScheduleEscrow", here.schedules, "slotNow", id);
        probe(
            "ScheduleEscrow.budgetOf",
            ANYONE,
            here.schedules,
            abi.encodeCall(IScheduleEscrow.budgetOf, (id, 0))
        );
        _end("ScheduleEscrow", here.schedules, id);
    }

    function _create(string memory name, address escrow, bytes memory payload) private returns (bytes32 id) {
        probe(string.concat(name, ".create"), wallet, escrow, payload);
        id = abi.decode(send(wallet, escrow, payload), (bytes32));
    }

    /// What an open order can see, and all reads.
    function _life(string memory name, address escrow, bytes32 id, SwapCall[] memory swaps) private {
        bytes memory fill = abi.encodeCall(IOrderEscrow.fill, (id, swaps, address(0)));
        probe(string.concat(name, ".fill (of 3)"), world.keeper(), escrow, fill);
        probe(string.concat(name, ".arm"), ANYONE, escrow, abi.encodeCall(IOrderEscrow.arm, (id)));
        probe(string.concat(name, ".cancel"), wallet, escrow, abi.encodeCall(IOrderEscrow.cancel, (id)));
        _of(name, escrow, "armedAt", id);
        _of(name, escrow, "floorOf", id);
        _of(name, escrow, "ownerOf", id);
        _of(name, escrow, "stateOf", id);
        _of(name, escrow, "toleranceBps", id);
        _of(name, escrow, "triggered", id);
        probe(
            string.concat(name, ".executorFeeOf"),
            ANYONE,
            escrow,
            abi.encodeCall(IOrderEscrow.executorFeeOf, (100e6))
        );
        string[7] memory names = ["oracle", "orderCount", "pause", "registry", "router", "usdg", "zapper"];
        for (uint256 i; i < names.length; ++i) {
            read(name, escrow, names[i]);
        }
    }

    function _of(string memory name, address escrow, string memory read_, bytes32 id) private {
        probe(
            string.concat(name, ".", read_),
            ANYONE,
            escrow,
            abi.encodeWithSignature(string.concat(read_, "(bytes32)"), id)
        );
    }

    function _disarm(string memory name, address escrow, bytes32 id) private {
        uint256 before = vm.snapshotState();
        send(ANYONE, escrow, abi.encodeCall(IOrderEscrow.arm, (id)));
        world.raise();
        measure(string.concat(name, ".disarm"), ANYONE, escrow, abi.encodeCall(IOrderEscrow.disarm, (id)));
        vm.revertToState(before);
    }

    function _end(string memory name, address escrow, bytes32 id) private {
        skip(31 days);
        measure(string.concat(name, ".sendBack"), ANYONE, escrow, abi.encodeCall(IOrderEscrow.sendBack, (id)));
    }
}
