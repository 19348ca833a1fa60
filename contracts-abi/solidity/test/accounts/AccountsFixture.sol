// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {AccountFactory} from "../../src/accounts/AccountFactory.sol";
import {AccountsGenesis} from "../../src/accounts/AccountsGenesis.sol";
import {SessionModule} from "../../src/accounts/SessionModule.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {Constants} from "../../src/Constants.sol";
import {CoverMarket} from "../../src/cover/CoverMarket.sol";
import {CoverModule} from "../../src/cover/CoverModule.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ISafe} from "../../src/interfaces/ISafe.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {ExitEscrow} from "../../src/orders/ExitEscrow.sol";
import {ProtocolFixture} from "../support/ProtocolFixture.sol";

interface ISafeOwner {
    function execTransaction(
        address to,
        uint256 value,
        bytes calldata data,
        uint8 operation,
        uint256 safeTxGas,
        uint256 baseGas,
        uint256 gasPrice,
        address gasToken,
        address payable refundReceiver,
        bytes memory signatures
    ) external payable returns (bool success);
    function addOwnerWithThreshold(address owner, uint256 threshold) external;
    function removeOwner(address prevOwner, address owner, uint256 threshold) external;
    function swapOwner(address prevOwner, address oldOwner, address newOwner) external;
    function disableModule(address prevModule, address module) external;
}

/// Genuine Safe 1.4.1 bytecode from npm, one owner with an account of $1,000, one session key with a grant of
/// $500 a day and 1% slippage.
abstract contract AccountsFixture is ProtocolFixture {
    string private constant SAFE_ARTIFACTS = "@safe-global/safe-contracts/build/artifacts/contracts/";
    address internal constant SENTINEL = address(0x1);

    address internal safeSingleton;
    address internal safeProxyFactory;
    address internal fallbackHandler;
    ExitEscrow internal exits;
    CoverMarket internal market;
    AccountsGenesis internal genesis;
    SessionModule internal module;
    CoverModule internal coverModule;
    AccountFactory internal factory;

    address internal owner;
    uint256 internal ownerKey;
    address internal key;
    uint256 internal keyKey;
    address internal relayer;
    address internal account;

    function deployAccounts() internal {
        deployProtocol();
        safeSingleton = deployArtifact(string.concat(SAFE_ARTIFACTS, "Safe.sol/Safe.json"), "");
        safeProxyFactory = deployArtifact(
            string.concat(SAFE_ARTIFACTS, "proxies/SafeProxyFactory.sol/SafeProxyFactory.json"), ""
        );
        fallbackHandler = deployArtifact(
            string.concat(
                SAFE_ARTIFACTS, "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json"
            ),
            ""
        );
        exits = new ExitEscrow(
            address(usdg), address(registry), address(oracle), address(zapper), address(pause)
        );
        market =
            new CoverMarket(address(usdg), address(registry), address(oracle), address(pause), protocolOwner);
        genesis = new AccountsGenesis(genesisParts());
        module = genesis.sessionModule();
        coverModule = genesis.coverModule();
        factory = genesis.accountFactory();

        (owner, ownerKey) = makeAddrAndKey("owner");
        (key, keyKey) = makeAddrAndKey("session key");
        relayer = makeAddr("relayer");
        vm.prank(owner);
        account = factory.openAndGrant(defaultTerms());
        vm.label(account, "account");
        usdg.mint(account, 1_000e6);
    }

    function genesisParts() internal view returns (AccountsGenesis.Parts memory) {
        return AccountsGenesis.Parts({
            usdg: address(usdg),
            registry: address(registry),
            oracle: address(oracle),
            zapper: address(zapper),
            pause: address(pause),
            coverMarket: address(market),
            exitEscrow: address(exits),
            safeSingleton: safeSingleton,
            safeProxyFactory: safeProxyFactory,
            fallbackHandler: fallbackHandler
        });
    }

    function defaultTerms() internal view returns (ISessionModule.GrantTerms memory terms) {
        terms.key = key;
        terms.validUntil = uint48(vm.getBlockTimestamp() + 7 days);
        terms.maxSlippageBps = 100;
        terms.dailyLimit = 500e6;
    }

    /// Any call by the Safe, sent and approved by its owner (Safe's pre-validated signature of the sender).
    function ownerCalls(address to, bytes memory payload) internal {
        ownerCallsAs(owner, to, payload);
    }

    function ownerCallsAs(address sender, address to, bytes memory payload) internal {
        bytes memory approval = abi.encodePacked(uint256(uint160(sender)), uint256(0), uint8(1));
        vm.prank(sender);
        ISafeOwner(account)
            .execTransaction(to, 0, payload, 0, 0, 0, 0, address(0), payable(address(0)), approval);
    }

    function grantAgain(ISessionModule.GrantTerms memory terms) internal {
        ownerCalls(address(module), abi.encodeCall(ISessionModule.grant, (terms)));
    }

    function buyAction(BasketVault vault, uint256 shares)
        internal
        returns (ISessionModule.Action memory action)
    {
        (SwapCall[] memory swaps, uint256 gross) = quoteBuy(vault, shares);
        action = blankAction(vault, shares);
        action.limit = gross + zapFee(gross);
        action.data = abi.encode(swaps);
    }

    function sellAction(BasketVault vault, uint256 shares)
        internal
        returns (ISessionModule.Action memory action)
    {
        (SwapCall[] memory swaps, uint256 gross) = quoteSell(vault, shares);
        action = blankAction(vault, shares);
        action.kind = 1;
        action.limit = gross - zapFee(gross);
        action.data = abi.encode(swaps);
    }

    function blankAction(BasketVault vault, uint256 shares)
        internal
        view
        returns (ISessionModule.Action memory action)
    {
        action.account = account;
        action.key = key;
        action.vault = address(vault);
        action.amount = shares;
        action.slippageBps = 100;
        action.nonce = nonceFor(key, 1);
        action.deadline = uint48(vm.getBlockTimestamp() + 5 minutes);
    }

    function nonceFor(address who, uint160 low) internal view returns (uint256) {
        return (uint256(module.nonceSpaceOf(account, who)) << 160) | low;
    }

    function signed(ISessionModule.Action memory action) internal view returns (bytes memory) {
        return signature(keyKey, module.hashAction(action));
    }

    /// Signs and sends as the relayer.
    function run(ISessionModule.Action memory action) internal returns (uint256) {
        bytes memory sig = signed(action);
        vm.prank(relayer);
        return module.execute(action, sig);
    }

    /// Signs, expects exactly `revertData`, sends as the relayer, and finds the nonce unused afterwards.
    function runRefused(ISessionModule.Action memory action, bytes memory revertData) internal {
        bytes memory sig = signed(action);
        bool usedBefore = module.nonceUsed(action.account, action.nonce);
        vm.expectRevert(revertData);
        vm.prank(relayer);
        module.execute(action, sig);
        assertEq(module.nonceUsed(action.account, action.nonce), usedBefore);
    }

    function assertNoAllowances() internal view {
        assertEq(usdg.allowance(account, address(zapper)), 0, "USDG allowance of the zapper");
        assertEq(usdg.allowance(account, swapRouter), 0, "USDG allowance of the router");
        BasketVault[4] memory vaults = [tech, mixed, stock, blind];
        for (uint256 i; i < vaults.length; i++) {
            assertEq(
                IERC20(vaults[i]).allowance(account, address(zapper)), 0, "share allowance of the zapper"
            );
        }
    }
}
