// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {Constants} from "../Constants.sol";
import {IProtocolPause} from "../interfaces/IProtocolPause.sol";

/// The guardian's brake (rule 26). The owner only chooses the guardian. `pausedUntil` is the whole state: the pause
/// holds while the block's time is before it, and the cooldown runs from it.
contract ProtocolPause is IProtocolPause, Ownable2Step {
    address public guardian;
    uint48 public pausedUntil;

    modifier onlyGuardian() {
        if (msg.sender != guardian) revert NotGuardian();
        _;
    }

    constructor(address owner_, address guardian_) Ownable(owner_) {
        guardian = guardian_;
        emit GuardianChanged(guardian_);
    }

    /// True while the block's timestamp is below `pausedUntil`.
    function paused() public view returns (bool) {
        return block.timestamp < pausedUntil;
    }

    /// Guardian. Pauses for seven days; refused while paused and for 24 hours after the last pause ended.
    function pause() external onlyGuardian {
        if (paused()) revert AlreadyPaused();
        uint256 last = pausedUntil;
        if (last != 0 && block.timestamp < last + Constants.PAUSE_COOLDOWN) {
            revert CoolingDown(uint48(last + Constants.PAUSE_COOLDOWN));
        }
        pausedUntil = uint48(block.timestamp + Constants.PAUSE_DURATION);
        emit Paused(msg.sender, pausedUntil);
    }

    /// Guardian. Ends the pause now; the cooldown starts here.
    function unpause() external onlyGuardian {
        if (!paused()) revert NotPaused();
        pausedUntil = uint48(block.timestamp);
        emit Unpaused(msg.sender);
    }

    /// Owner. Zero means that nobody can pause.
    function setGuardian(address guardian_) external onlyOwner {
        guardian = guardian_;
        emit GuardianChanged(guardian_);
    }
}
