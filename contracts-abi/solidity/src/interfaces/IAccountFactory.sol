// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISessionModule} from "./ISessionModule.sol";

/// One genuine Safe 1.4.1 per owner. The address depends on the owner alone (rule 14) and is known before it exists.
interface IAccountFactory {
    event AccountOpened(address indexed owner, address indexed account);

    error UnexpectedAccount(address account, string why);

    function accountOf(address owner) external view returns (address account);
    /// Idempotent, callable by anyone: deploys where missing, verifies what it finds.
    function open(address owner) external returns (address account);
    /// The owner's one transaction: opens where missing and sets the first grant. Reverts when a grant exists.
    function openAndGrant(ISessionModule.GrantTerms calldata terms) external returns (address account);
}
