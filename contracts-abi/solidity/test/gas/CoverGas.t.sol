// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {CoverFixture} from "../cover/CoverFixture.sol";
import {GasMeter} from "./GasMeter.sol";

/// The cover fixture apart from the tests, for the reason that GasWorld gives.
contract CoverWorld is CoverFixture {
    struct Parts {
        address market;
        address solo;
        address usdg;
        address india;
        address owner;
        address writer;
        address alice;
        address keeper;
        address fresh; // a vault fit for cover that is not listed
    }

    address private _fresh;

    function build() external {
        vm.warp(1_790_000_000);
        deployCover();
        _fresh = address(foundOf("FRESH", india));
        address[3] memory all = [writer, alice, keeper];
        for (uint256 i; i < 3; ++i) {
            fund(all[i], 100_000e6);
        }
        usdg.mint(treasury, 1);
    }

    function parts() external view returns (Parts memory) {
        return Parts({
            market: address(market),
            solo: address(solo),
            usdg: address(usdg),
            india: address(india.token),
            owner: protocolOwner,
            writer: writer,
            alice: alice,
            keeper: keeper,
            fresh: _fresh
        });
    }

    function offerTerms() external view returns (ICoverMarket.Terms memory) {
        return terms(1_000, 20e6);
    }

    /// The largest cover at the highest price: what it takes to fill the fee pool.
    function dearTerms() external view returns (ICoverMarket.Terms memory) {
        return terms(20_000, 100e6);
    }

    function moreWeeks() external pure returns (ICoverMarket.WeekTimes[] memory) {
        return calendar(WEEK + 5, 1);
    }

    function toClose() external {
        vm.warp(closeOf(WEEK));
    }

    function toSettle() external {
        moveSolo(9_000);
        vm.warp(settleOf(WEEK));
    }

    function toMissed() external {
        vm.warp(closeOf(WEEK) + 2 hours);
    }

    function block_(address who) external {
        usdg.setBlocked(who, true);
    }
}

contract CoverGasTest is GasMeter {
    uint32 private constant WEEK = 2_960;

    CoverWorld private world;
    CoverWorld.Parts private here;

    function setUp() public {
        vm.pauseTracing();
        world = new CoverWorld();
        world.build();
        vm.resumeTracing();
        here = world.parts();
    }

    function test_trading() public {
        bytes memory offer = abi.encodeCall(ICoverMarket.offer, (world.offerTerms(), true));
        bytes memory request = abi.encodeCall(ICoverMarket.request, (world.offerTerms()));
        _market("offer", here.writer, offer);
        _market("request", here.alice, request);
        uint256 offered = abi.decode(send(here.writer, here.market, offer), (uint256));
        uint256 asked = abi.decode(send(here.alice, here.market, request), (uint256));
        _market("take", here.alice, _take(offered));
        _market("fill", here.writer, abi.encodeCall(ICoverMarket.fill, (asked, 500)));
        _market("cancel", here.writer, abi.encodeCall(ICoverMarket.cancel, (offered)));
        _market("stopRepeating", here.writer, abi.encodeCall(ICoverMarket.stopRepeating, (offered)));
        _market("listingOf", ANYONE, abi.encodeCall(ICoverMarket.listingOf, (offered)));
        _market("credits", ANYONE, abi.encodeCall(ICoverMarket.credits, (here.alice)));
        world.toClose();
        _market("roll", ANYONE, abi.encodeCall(ICoverMarket.roll, (offered)));
        _market("sendBack", ANYONE, abi.encodeCall(ICoverMarket.sendBack, (asked)));
    }

    function test_settlement() public {
        _sell();
        _market("fundFees", here.writer, abi.encodeCall(ICoverMarket.fundFees, (50e6)));
        uint256 trading = vm.snapshotState();
        world.toMissed();
        _market("voidWeek", here.keeper, abi.encodeCall(ICoverMarket.voidWeek, (WEEK, here.solo, address(0))));
        vm.revertToState(trading);
        world.toClose();
        measure(
            "CoverMarket.snapshot",
            here.keeper,
            here.market,
            abi.encodeCall(ICoverMarket.snapshot, (WEEK, here.solo, address(0)))
        );
        world.toSettle();
        measure(
            "CoverMarket.settle",
            here.keeper,
            here.market,
            abi.encodeCall(ICoverMarket.settle, (WEEK, here.solo, address(0)))
        );
        _market("payoutOf", ANYONE, abi.encodeCall(ICoverMarket.payoutOf, (1)));
        bytes memory payout = abi.encodeCall(ICoverMarket.payout, (_one(1), address(0)));
        _market("payout", here.keeper, payout);
        world.block_(here.alice);
        send(here.keeper, here.market, payout);
        _market("claim", here.alice, abi.encodeCall(ICoverMarket.claim, (here.keeper)));
        _market("collectFees", ANYONE, abi.encodeCall(ICoverMarket.collectFees, ()));
    }

    function test_owner_and_reads() public {
        _market("publishWeeks", here.owner, abi.encodeCall(ICoverMarket.publishWeeks, (world.moreWeeks())));
        _market("listVault", here.owner, abi.encodeCall(ICoverMarket.listVault, (here.fresh, 10_000)));
        _market("renounceOwnership", here.owner, abi.encodeWithSignature("renounceOwnership()"));
        measure(
            "CoverMarket.transferOwnership",
            here.owner,
            here.market,
            abi.encodeWithSignature("transferOwnership(address)", ANYONE)
        );
        _market("acceptOwnership", ANYONE, abi.encodeWithSignature("acceptOwnership()"));
        _sell();
        _market("positionOf", ANYONE, abi.encodeCall(ICoverMarket.positionOf, (1)));
        _market("marketOf", ANYONE, abi.encodeCall(ICoverMarket.marketOf, (WEEK, here.solo)));
        _market("weekOf", ANYONE, abi.encodeCall(ICoverMarket.weekOf, (WEEK)));
        _market("tradingOpen", ANYONE, abi.encodeCall(ICoverMarket.tradingOpen, (WEEK)));
        _market("capOf", ANYONE, abi.encodeCall(ICoverMarket.capOf, (here.solo)));
        _market("depthCapOf", ANYONE, abi.encodeCall(ICoverMarket.depthCapOf, (here.solo)));
        string[11] memory names = [
            "coverVaults",
            "currentWeek",
            "feePool",
            "oracle",
            "owner",
            "pause",
            "pendingOwner",
            "positionCount",
            "publishedWeeks",
            "registry",
            "usdg"
        ];
        for (uint256 i; i < names.length; ++i) {
            read("CoverMarket", here.market, names[i]);
        }
    }

    /// One position, whose fee is enough to reward everybody and to leave something to collect.
    function _sell() private {
        bytes memory offer = abi.encodeCall(ICoverMarket.offer, (world.dearTerms(), false));
        uint256 id = abi.decode(send(here.writer, here.market, offer), (uint256));
        uint64[] memory amounts = new uint64[](1);
        amounts[0] = 20_000;
        send(
            here.alice,
            here.market,
            abi.encodeCall(ICoverMarket.take, (_one(id), amounts, 20_000, type(uint256).max))
        );
    }

    function _take(uint256 id) private pure returns (bytes memory) {
        uint64[] memory amounts = new uint64[](1);
        amounts[0] = 500;
        return abi.encodeCall(ICoverMarket.take, (_one(id), amounts, 500, type(uint256).max));
    }

    function _one(uint256 value) private pure returns (uint256[] memory list) {
        list = new uint256[](1);
        list[0] = value;
    }

    function _market(string memory name, address sender, bytes memory payload) private {
        probe(string.concat("CoverMarket.", name), sender, here.market, payload);
    }
}
