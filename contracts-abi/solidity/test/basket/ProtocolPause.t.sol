// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Test} from "../support/Test.sol";
import {ProtocolPause} from "../../src/governance/ProtocolPause.sol";
import {IProtocolPause} from "../../src/interfaces/IProtocolPause.sol";

contract ProtocolPauseTest is Test {
    address private owner = makeAddr("owner");
    address private guardian = makeAddr("guardian");
    ProtocolPause private pause;
    uint256 private start;

    function setUp() public {
        pause = new ProtocolPause(owner, guardian);
        start = block.timestamp;
    }

    function test_startsUnpaused() public view {
        assertFalse(pause.paused());
        assertEq(pause.pausedUntil(), 0);
        assertEq(pause.guardian(), guardian);
        assertEq(pause.owner(), owner);
    }

    function test_aPauseItsEndAndANewGuardianAreTold() public {
        vm.expectEmit(address(pause));
        emit IProtocolPause.Paused(guardian, uint48(start + 7 days));
        vm.prank(guardian);
        pause.pause();
        vm.expectEmit(address(pause));
        emit IProtocolPause.Unpaused(guardian);
        vm.prank(guardian);
        pause.unpause();
        address next = makeAddr("next guardian");
        vm.expectEmit(address(pause));
        emit IProtocolPause.GuardianChanged(next);
        vm.prank(owner);
        pause.setGuardian(next);
        vm.expectEmit();
        emit IProtocolPause.GuardianChanged(guardian);
        new ProtocolPause(owner, guardian);
    }

    function test_aPauseEndsByItselfAfterSevenDaysToTheSecond() public {
        vm.prank(guardian);
        pause.pause();
        vm.warp(start + 7 days - 1);
        assertTrue(pause.paused());
        vm.warp(start + 7 days);
        assertFalse(pause.paused());
    }

    function test_onlyTheGuardianPausesAndUnpauses() public {
        vm.expectRevert(IProtocolPause.NotGuardian.selector);
        vm.prank(owner);
        pause.pause();
        vm.prank(guardian);
        pause.pause();
        vm.expectRevert(IProtocolPause.NotGuardian.selector);
        vm.prank(owner);
        pause.unpause();
    }

    function test_aRunningPauseCannotBeExtended() public {
        vm.startPrank(guardian);
        pause.pause();
        vm.warp(start + 6 days);
        vm.expectRevert(IProtocolPause.AlreadyPaused.selector);
        pause.pause();
        vm.stopPrank();
    }

    function test_nothingToUnpauseWhenNotPaused() public {
        vm.startPrank(guardian);
        vm.expectRevert(IProtocolPause.NotPaused.selector);
        pause.unpause();
        pause.pause();
        vm.warp(start + 7 days);
        vm.expectRevert(IProtocolPause.NotPaused.selector);
        pause.unpause();
        vm.stopPrank();
    }

    function test_theCooldownRunsADayFromTheEndToTheSecond() public {
        vm.startPrank(guardian);
        pause.pause();
        vm.warp(start + 8 days - 1);
        vm.expectRevert(abi.encodeWithSelector(IProtocolPause.CoolingDown.selector, uint48(start + 8 days)));
        pause.pause();
        vm.warp(start + 8 days);
        pause.pause();
        assertTrue(pause.paused());
        vm.stopPrank();
    }

    function test_anEarlyEndStartsTheCooldownThen() public {
        vm.startPrank(guardian);
        pause.pause();
        vm.warp(start + 1 days);
        pause.unpause();
        assertFalse(pause.paused());
        vm.expectRevert(abi.encodeWithSelector(IProtocolPause.CoolingDown.selector, uint48(start + 2 days)));
        pause.pause();
        vm.warp(start + 2 days);
        pause.pause();
        vm.stopPrank();
    }

    function testFuzz_aGuardianNeverHoldsThePauseLongerThanSevenDaysInEight(uint256 seed) public {
        uint256 pausedSeconds;
        vm.startPrank(guardian);
        for (uint256 hour; hour < 24 * 24; ++hour) {
            seed = uint256(keccak256(abi.encode(seed)));
            if (seed % 3 == 0) try pause.pause() {} catch {}
            if (seed % 97 == 0) try pause.unpause() {} catch {}
            if (pause.paused()) pausedSeconds += 1 hours;
            skip(1 hours);
        }
        vm.stopPrank();
        assertLe(pausedSeconds, 3 * 7 days);
        assertGt(pausedSeconds, 0);
    }

    function test_onlyTheOwnerNamesTheGuardianAndZeroMeansNobody() public {
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, guardian));
        vm.prank(guardian);
        pause.setGuardian(guardian);
        vm.prank(owner);
        pause.setGuardian(address(0));
        vm.expectRevert(IProtocolPause.NotGuardian.selector);
        vm.prank(guardian);
        pause.pause();
    }

    function test_ownershipMovesInTwoSteps() public {
        address next = makeAddr("next");
        vm.prank(owner);
        pause.transferOwnership(next);
        assertEq(pause.owner(), owner);
        vm.prank(next);
        pause.acceptOwnership();
        assertEq(pause.owner(), next);
    }
}
