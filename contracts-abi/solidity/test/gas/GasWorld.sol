// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketVault} from "../../src/basket/BasketVault.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {LimitEscrow} from "../../src/orders/LimitEscrow.sol";
import {ScheduleEscrow} from "../../src/orders/ScheduleEscrow.sol";
import {CoverActions} from "../accounts/CoverActions.sol";
import {TestToken} from "../support/TestToken.sol";

interface IMulticall {
    function multicall(bytes[] calldata data) external payable returns (bytes[] memory results);
}

/// The protocol in a state that a busy day would leave: full rings of 720 observations written at an uneven pace, an
/// account, a wallet, a keeper and a treasury that already hold what they are paid in, a session key that has acted
/// today, and fees that were last accrued a minute ago.
///
/// A contract apart from the tests, so that `--isolate` makes a transaction of each of their calls (cold storage, calldata
/// and refunds included) and of none of the fixture's.
contract GasWorld is CoverActions {
    /// Where everything is.
    struct Parts {
        address usdg;
        address alfa;
        address vault; // three constituents, one of them through WETH
        address registry;
        address pause;
        address oracle;
        address zapper;
        address exits;
        address limits;
        address schedules;
        address factory;
        address genesis;
        address module;
        address coverModule;
        address account;
        address key;
        address owner; // of the account
        address protocolOwner;
        address guardian;
        address router;
    }

    uint256 private constant SHARES = 1e18;
    uint256 private constant NETWORK_FEE = 250_000;

    BasketVault public seven; // six constituents against USDG, one through WETH
    address public wallet; // holds and has approved to the router whatever the swaps pay with
    address public keeper;
    mapping(address token => Asset) private _assets;
    LimitEscrow private _limits;
    ScheduleEscrow private _schedules;

    function build() external {
        vm.warp(1_790_000_000);
        deployAccounts();
        openCover();
        _limits = new LimitEscrow(
            address(usdg), address(registry), address(oracle), address(zapper), address(pause)
        );
        _schedules = new ScheduleEscrow(
            address(usdg), address(registry), address(oracle), address(zapper), address(pause)
        );
        wallet = makeAddr("wallet");
        keeper = makeAddr("keeper");
        _foundSeven();
        for (uint256 i; i < pools.length; ++i) {
            pools[i].increaseObservationCardinalityNext(720); // those of cover have 4,500, and stay so
        }
    }

    /// Some two hundred writes to every pool; four times are enough for a full ring before `settle`.
    function trade(uint256 seed) external {
        for (uint256 i; i < 260; ++i) {
            uint256 random = uint256(keccak256(abi.encode(seed, i)));
            skip(1 + random % 4);
            for (uint256 j; j < pools.length; ++j) {
                if ((random >> 8 + 2 * j) & 3 != 0) writeObservation(pools[j]);
            }
        }
    }

    function settle() external {
        for (uint256 j; j < pools.length; ++j) {
            (,,, uint16 cardinality,,,) = pools[j].slot0();
            require(cardinality == 720 || cardinality == 4_500, "a ring is short");
        }
        address[4] memory holders = [account, wallet, keeper, relayer];
        for (uint256 i; i < holders.length; ++i) {
            usdg.mint(holders[i], 10_000e6);
            giveShares(tech, holders[i], 10 * SHARES);
            giveShares(seven, holders[i], 10 * SHARES);
        }
        usdg.mint(treasury, 1e6);
        address[7] memory tokens;
        for (uint256 i; i < 7; ++i) {
            tokens[i] = seven.constituents()[i].token;
            TestToken(tokens[i]).mint(wallet, 10_000e18);
        }
        vm.startPrank(wallet);
        usdg.approve(swapRouter, type(uint256).max);
        for (uint256 i; i < 7; ++i) {
            TestToken(tokens[i]).approve(swapRouter, type(uint256).max);
        }
        vm.stopPrank();
        giveShares(covered, account, SHARES);
        ISessionModule.GrantTerms memory granted = coverTerms();
        granted.dailyLimit = 5_000e6;
        grantAgain(granted);
        ISessionModule.Action memory action = buyAction(tech, SHARES);
        action.fee = NETWORK_FEE;
        run(action);
        giveShares(seven, treasury, SHARES);
        skip(60);
    }

    // ---------------------------------------------------------------- trades, and the same swaps bare

    function buy(bool large)
        external
        returns (ISessionModule.Action memory action, bytes memory sig, bytes memory bare)
    {
        action = buyAction(large ? seven : tech, SHARES);
        _finish(action);
        sig = signed(action);
        bare = _bare(action.data);
    }

    function sell(bool large)
        external
        returns (ISessionModule.Action memory action, bytes memory sig, bytes memory bare)
    {
        action = sellAction(large ? seven : tech, SHARES);
        _finish(action);
        sig = signed(action);
        bare = _bare(action.data);
    }

    /// A stop order that is due, and what a keeper brings to fill it.
    function stop(bool large) external returns (bytes32 id, SwapCall[] memory swaps, bytes memory bare) {
        BasketVault vault = large ? seven : tech;
        giveShares(vault, address(this), SHARES);
        vault.approve(address(exits), SHARES);
        id = exits.create(
            IExitEscrow.ExitTerms({
                vault: address(vault),
                shares: SHARES,
                stopNav: 200e18,
                tpNav: 0,
                hardFloorNav: 0,
                slippageBps: 0,
                capBps: 0,
                deadline: uint48(vm.getBlockTimestamp() + 30 days)
            })
        );
        skip(60);
        (swaps,) = quoteSell(vault, SHARES);
        bare = _bare(abi.encode(swaps));
    }

    function parts() external view returns (Parts memory) {
        return Parts({
            usdg: address(usdg),
            alfa: address(alfa.token),
            vault: address(tech),
            registry: address(registry),
            pause: address(pause),
            oracle: address(oracle),
            zapper: address(zapper),
            exits: address(exits),
            limits: address(_limits),
            schedules: address(_schedules),
            factory: address(factory),
            genesis: address(genesis),
            module: address(module),
            coverModule: address(coverModule),
            account: account,
            key: key,
            owner: owner,
            protocolOwner: protocolOwner,
            guardian: guardian,
            router: swapRouter
        });
    }

    /// Exact swaps of one share of `vault`, and the USDG that they cost or yield.
    function swapsOf(bool buying) external returns (SwapCall[] memory swaps, uint256 gross) {
        return buying ? quoteBuy(tech, SHARES) : quoteSell(tech, SHARES);
    }

    /// Two constituents on pools of cardinality 4,500.
    function coveredVault() external view returns (address) {
        return address(covered);
    }

    /// The market rises by three percent and the reference with it.
    function raise() external {
        movePrices(10_300);
        passTime(1_000);
    }

    function permit(address spender) external view returns (bytes memory) {
        bytes32 typehash =
            keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
        bytes32 hash = keccak256(abi.encode(typehash, owner, spender, SHARES, 0, type(uint256).max));
        (uint8 v, bytes32 r, bytes32 s) =
            vm.sign(ownerKey, keccak256(abi.encodePacked(hex"1901", tech.DOMAIN_SEPARATOR(), hash)));
        return abi.encodeCall(tech.permit, (owner, spender, SHARES, type(uint256).max, v, r, s));
    }

    function terms() external view returns (ISessionModule.GrantTerms memory) {
        return coverTerms();
    }

    /// Cover actions over an offer of the underwriter's, or over a request of the account's.
    function coverTake() external returns (bytes memory) {
        uint256 id = placeOffer(weekTerms(200, 20e6));
        return _coverCall(takeAction(id, 200, costOf(200, 20e6)));
    }

    function coverRequest() external view returns (bytes memory) {
        return _coverCall(requestAction(weekTerms(200, 20e6)));
    }

    function coverCancel() external returns (bytes memory) {
        uint256 id = runRequest(requestAction(weekTerms(200, 20e6)));
        ICoverModule.CoverAction memory action = cancelAction(id);
        action.nonce = nonceFor(key, 2);
        return _coverCall(action);
    }

    function coverAction_() external view returns (ICoverModule.CoverAction memory) {
        return requestAction(weekTerms(200, 20e6));
    }

    function _coverCall(ICoverModule.CoverAction memory action) private view returns (bytes memory) {
        if (action.kind != CANCEL) action.fee = NETWORK_FEE;
        return abi.encodeCall(ICoverModule.execute, (action, signedCover(action)));
    }

    function assetOf(address token) internal view override returns (Asset memory) {
        Asset memory asset = _assets[token];
        return address(asset.token) == address(0) ? super.assetOf(token) : asset;
    }

    /// One transaction of the wallet: the router's own multicall of the same swaps, paid to the wallet.
    function _bare(bytes memory data) private view returns (bytes memory) {
        SwapCall[] memory swaps = abi.decode(data, (SwapCall[]));
        bytes[] memory calls = new bytes[](swaps.length);
        for (uint256 i; i < swaps.length; ++i) {
            bytes memory call_ = swaps[i].callData;
            bool single = call_.length == 4 + 7 * 32;
            // The recipient: the fourth word of a single swap, the second of a path's tuple.
            address to = wallet;
            assembly ("memory-safe") {
                mstore(add(add(call_, 36), mul(32, sub(3, mul(iszero(single), 1)))), to)
            }
            calls[i] = call_;
        }
        return abi.encodeCall(IMulticall.multicall, (calls));
    }

    function _finish(ISessionModule.Action memory action) private view {
        action.nonce = nonceFor(key, 77);
        action.fee = NETWORK_FEE;
    }

    function _foundSeven() private {
        Asset[] memory assets = new Asset[](7);
        uint256[] memory dollars = new uint256[](7);
        (assets[0], assets[1], assets[2], assets[3]) = (alfa, bravo, charlie, delta);
        for (uint256 i = 4; i < 7; ++i) {
            Asset memory asset;
            asset.token = new TestToken("Further", "MORE", 18);
            asset.fee = 3000;
            asset.price = i * 10e18;
            asset.pool = createPool(address(asset.token), address(usdg), 3000, asset.price, DEPTH);
            asset.minLiquidity = liquidityFor(asset.pool, address(usdg), DEPTH) / 2;
            _assets[address(asset.token)] = asset;
            pools.push(asset.pool);
            assets[i] = asset;
        }
        for (uint256 i; i < 7; ++i) {
            dollars[i] = 14;
        }
        seven = _found("SEVEN", assets, dollars, true);
    }
}
