// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// Test token of the local chain: USDG and the stock tokens behave like it on the live chain as far as the protocol
/// can tell (EIP-2612 with version "1", a pause, a blocklist). Never deployed to a live chain.
contract LocalToken is ERC20Permit {
    address public immutable issuer;
    uint8 private immutable _decimals;
    bool public paused;
    mapping(address => bool) public blocked;

    event PauseChanged(bool paused);
    event BlockChanged(address indexed who, bool blocked);

    error NotIssuer();
    error TokenPaused();
    error Blocked(address who);

    modifier onlyIssuer() {
        if (msg.sender != issuer) revert NotIssuer();
        _;
    }

    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        ERC20(name_, symbol_)
        ERC20Permit(name_)
    {
        issuer = msg.sender;
        _decimals = decimals_;
    }

    function decimals() public view override returns (uint8) {
        return _decimals;
    }

    function mint(address to, uint256 amount) external onlyIssuer {
        _mint(to, amount);
    }

    function setPaused(bool on) external onlyIssuer {
        paused = on;
        emit PauseChanged(on);
    }

    function setBlocked(address who, bool on) external onlyIssuer {
        blocked[who] = on;
        emit BlockChanged(who, on);
    }

    function _update(address from, address to, uint256 value) internal override {
        if (paused) revert TokenPaused();
        if (blocked[from]) revert Blocked(from);
        if (blocked[to]) revert Blocked(to);
        super._update(from, to, value);
    }
}
