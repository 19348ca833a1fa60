// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {AccountsFixture} from "./AccountsFixture.sol";

/// Cover actions of the session key, as wire.md writes them.
abstract contract CoverActions is AccountsFixture {
    uint8 internal constant TAKE = 0;
    uint8 internal constant REQUEST = 1;
    uint8 internal constant CANCEL = 4;

    /// The usual grant with cover on, $40 a day.
    function coverTerms() internal view returns (ISessionModule.GrantTerms memory terms) {
        terms = defaultTerms();
        terms.coverEnabled = true;
        terms.coverDailyLimit = 40e6;
    }

    function coverAction(uint8 kind, bytes memory data)
        internal
        view
        returns (ICoverModule.CoverAction memory action)
    {
        action.account = account;
        action.key = key;
        action.kind = kind;
        action.data = data;
        action.nonce = nonceFor(key, 1);
        action.deadline = uint48(vm.getBlockTimestamp() + 5 minutes);
    }

    /// All of `coverUsd` from one offer.
    function takeAction(uint256 id, uint64 coverUsd, uint256 limit)
        internal
        view
        returns (ICoverModule.CoverAction memory)
    {
        uint256[] memory ids = new uint256[](1);
        uint64[] memory amounts = new uint64[](1);
        (ids[0], amounts[0]) = (id, coverUsd);
        return coverAction(TAKE, abi.encode(ids, amounts, uint256(coverUsd), limit));
    }

    function requestAction(ICoverMarket.Terms memory terms)
        internal
        view
        returns (ICoverModule.CoverAction memory)
    {
        return coverAction(
            REQUEST,
            abi.encode(terms.week, terms.vault, terms.fromBps, terms.toBps, terms.coverUsd, terms.pricePer1k)
        );
    }

    function cancelAction(uint256 id) internal view returns (ICoverModule.CoverAction memory) {
        return coverAction(CANCEL, abi.encode(id));
    }

    function signedCover(ICoverModule.CoverAction memory action) internal view returns (bytes memory) {
        return signature(keyKey, coverModule.hashAction(action));
    }

    /// Signs and sends as the relayer.
    function runCover(ICoverModule.CoverAction memory action) internal returns (uint256) {
        bytes memory sig = signedCover(action);
        vm.prank(relayer);
        return coverModule.execute(action, sig);
    }

    /// Signs, expects exactly `revertData`, sends as the relayer, and finds the nonce unused afterwards.
    function runCoverRefused(ICoverModule.CoverAction memory action, bytes memory revertData) internal {
        bytes memory sig = signedCover(action);
        bool usedBefore = coverModule.nonceUsed(action.account, action.nonce);
        vm.expectRevert(revertData);
        vm.prank(relayer);
        coverModule.execute(action, sig);
        assertEq(coverModule.nonceUsed(action.account, action.nonce), usedBefore);
    }
}
