// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Code that a hostile owner lists as a basket. All that the registry asks of it is which registry it belongs to.
contract Shell {
    enum Kind {
        Ours,
        Foreign,
        Reverts,
        Writes // in a call that may not: it halts and eats its gas
    }

    address private immutable _registry;
    Kind public kind;
    uint256 private _asked;

    error NotTelling();

    constructor(address registry_, Kind kind_) {
        (_registry, kind) = (registry_, kind_);
    }

    /// After it has been proposed, say.
    function turn(Kind kind_) external {
        kind = kind_;
    }

    function registry() external returns (address) {
        if (kind == Kind.Reverts) revert NotTelling();
        if (kind == Kind.Writes) ++_asked;
        return kind == Kind.Foreign ? address(this) : _registry;
    }
}
