// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {CoverFixture} from "../cover/CoverFixture.sol";
import {TestToken} from "../support/TestToken.sol";

/// USDG that calls back in the middle of a payment finds every door of the market shut.
contract CoverReentrancyTest is CoverFixture {
    function setUp() public {
        deployCover();
    }

    function test_no_door_is_open_while_USDG_moves() public {
        uint256 id = placeOffer(1_000, 10e6);
        bytes[15] memory doors = [
            abi.encodeCall(market.offer, (terms(1_000, 10e6), false)),
            abi.encodeCall(market.request, (terms(1_000, 10e6))),
            abi.encodeCall(market.cancel, (id)),
            abi.encodeCall(market.stopRepeating, (id)),
            abi.encodeCall(market.sendBack, (id)),
            abi.encodeCall(market.roll, (id)),
            abi.encodeCall(market.take, (one(id), one64(100), 100, 1e12)),
            abi.encodeCall(market.fill, (id, 100)),
            abi.encodeCall(market.snapshot, (WEEK, address(solo), keeper)),
            abi.encodeCall(market.settle, (WEEK, address(solo), keeper)),
            abi.encodeCall(market.voidWeek, (WEEK, address(solo), keeper)),
            abi.encodeCall(market.payout, (one(1), keeper)),
            abi.encodeCall(market.claim, (keeper)),
            abi.encodeCall(market.collectFees, ()),
            abi.encodeCall(market.fundFees, (1))
        ];
        for (uint256 i; i < doors.length; ++i) {
            usdg.setMisbehaviourFor(TestToken.Misbehaviour.Reenters, address(market));
            usdg.setHook(address(market), doors[i], false);
            placeOffer(100, 10e6);
            assertFalse(usdg.hookSucceeded());
            bytes4 why = ReentrancyGuard.ReentrancyGuardReentrantCall.selector;
            assertEq(usdg.hookResult(), abi.encodePacked(why));
        }
    }
}
