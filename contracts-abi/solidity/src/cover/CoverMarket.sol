// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {CoverBook} from "./CoverBook.sol";
import {CoverLedger} from "./CoverLedger.sol";
import {CoverSettlement} from "./CoverSettlement.sol";

/// Weekend cover on baskets, fully collateralised. Who reads it begins with CoverLedger (the money), then CoverCalendar
/// (weeks and baskets), CoverBook (listings and sales) and CoverSettlement (snapshots and payouts).
///
/// The owner publishes weeks and lists baskets, and has no other power: not over money, prices, or what is published.
contract CoverMarket is CoverBook, CoverSettlement {
    constructor(address usdg_, address registry_, address oracle_, address pause_, address owner_)
        CoverLedger(usdg_, registry_, oracle_, pause_)
        Ownable(owner_)
    {}
}
