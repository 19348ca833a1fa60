// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {OrderAttacks} from "./OrderAttacks.sol";

/// Three owners, keepers and vandals in random order, on a market that moves, goes blind, is paused and blocklists.
contract OrderHandler is OrderAttacks {
    mapping(address escrow => uint256) public donatedUsdg;
    mapping(address escrow => uint256) public donatedShares;
    uint256 private _pausable;
    uint256 private _navBps = 10_000;
    uint128 private _drained;
    address private _blocked;

    /// Not in the constructor: pools call back, and a contract under construction has no code to be called.
    function found() external {
        deployWorld();
        _owners = [alice, bob, makeAddr("carol")];
        _helper = makeAddr("helper");
        giveShares(alice, 1e18);
        usdg.mint(alice, 1_000e6);
        for (uint256 i; i < 3; i++) {
            placeExit(i, (i + 1) * 5e18, 95 + i, 104, i << 128);
            placeLimit(i, (i + 1) * 700e6, 95 + 2 * i, i << 128);
            placeSchedule(i, (i + 1) * 900e6, 5 | i << 8, i << 128);
        }
    }

    // ---------------------------------------------------------------- the world

    /// A new level, or a few percent off the last one: where floors are missed and auctions help.
    function movePrice(uint256 bps) external {
        uint256 jitter = bound(bps >> 8, 0, 800);
        _navBps = bps % 4 == 0 ? bound(bps >> 8, 9_000, 11_000) : bound(_navBps + jitter - 400, 9_000, 11_000);
        moveNav(_navBps);
        _happened("price moves");
    }

    function letTimePass(uint256 time) external {
        _restore(time >> 32);
        vm.warp(block.timestamp + bound(time, 0, 1_500));
        _happened("time passes");
    }

    function letHoursPass(uint256 time) external {
        _restore(time >> 32);
        vm.warp(block.timestamp + bound(time >> 64, 1 hours, time % 8 == 0 ? 2 days : 6 hours));
        _happened("hours pass");
    }

    /// Now and then a pause, a blocklisted owner, or a reference pool drained under its floor; mostly a donation.
    function trouble(uint256 kind) external {
        if (kind % 8 < 2 && block.timestamp >= _pausable) {
            pauseProtocol();
            _pausable = block.timestamp + 9 days; // past the cooldown though nobody unpauses
            _happened("pause");
        } else if (kind % 8 < 4 && _blocked == address(0)) {
            _blocked = _owners[(kind >> 8) % 3];
            usdg.setBlocked(_blocked, true);
            _happened("owner is blocked");
        } else if (kind % 8 == 4 && _drained == 0) {
            _drained = alfa.pool.liquidity() * 6 / 10;
            removeLiquidity(alfa.pool, _drained);
            vm.warp(block.timestamp + 400);
            _happened("pool is drained");
        } else {
            _donate([address(exits), address(limits), address(schedules)][(kind >> 8) % 3], kind >> 16);
            _happened("donation");
        }
    }

    function _donate(address escrow, uint256 amount) private {
        amount = bound(amount, 1, 1e18);
        giveShares(escrow, amount);
        usdg.mint(escrow, amount / 1e9);
        donatedShares[escrow] += amount;
        donatedUsdg[escrow] += amount / 1e9;
    }

    /// Each trouble ends half of the times that time passes.
    function _restore(uint256 dice) private {
        if (dice & 1 != 0 && pause.paused()) {
            unpauseProtocol();
            _pausable = block.timestamp + 1 days;
        }
        if (dice & 2 != 0) {
            usdg.setBlocked(_blocked, false);
            _blocked = address(0);
        }
        if (dice & 4 != 0 && _drained != 0) {
            (int24 lower, int24 upper) = fullRange(alfa.pool);
            addRange(alfa.pool, lower, upper, _drained);
            _drained = 0;
        }
    }

    // ---------------------------------------------------------------- for the invariants

    function world() external view returns (address[3] memory escrows, address, address, address) {
        escrows = [address(exits), address(limits), address(schedules)];
        return (escrows, address(vault), address(usdg), address(zapper));
    }
}
