// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IBasketRegistry} from "../../src/interfaces/IBasketRegistry.sol";
import {IBasketVault, IMintPayer} from "../../src/interfaces/IBasketVault.sol";
import {IBasketZapper, SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {TestToken} from "../support/TestToken.sol";
import {WorldMeter} from "./WorldMeter.sol";

/// Pays a mint with its own constituents, as the zapper does.
contract Payer is IMintPayer {
    function mint(address vault, uint256 shares) external {
        IBasketVault(vault).mintOnPayment(shares, address(this));
    }

    function payForMint(address[] calldata tokens, uint256[] calldata amounts) external {
        for (uint256 i; i < amounts.length; ++i) {
            IERC20(tokens[i]).transfer(msg.sender, amounts[i]);
        }
    }
}

/// Vault (of three constituents), zapper, oracle, registry and pause.
abstract contract BasketsGas is WorldMeter {
    uint256 private constant SHARES = 1e18;

    function test_vault() public {
        IBasketVault.Constituent[] memory parts = IBasketVault(here.vault).constituents();
        Payer payer = new Payer();
        for (uint256 i; i < parts.length; ++i) {
            send(wallet, parts[i].token, abi.encodeCall(IERC20.approve, (here.vault, type(uint256).max)));
            send(wallet, parts[i].token, abi.encodeCall(IERC20.transfer, (address(payer), 100e18)));
        }
        _vault("mint", wallet, abi.encodeCall(IBasketVault.mint, (SHARES, wallet)));
        probe(
            "BasketVault.mintOnPayment",
            ANYONE,
            address(payer),
            abi.encodeCall(Payer.mint, (here.vault, SHARES))
        );
        _vault("redeem", wallet, abi.encodeCall(IBasketVault.redeem, (SHARES, wallet)));
        _vault("accrueFee", ANYONE, abi.encodeCall(IBasketVault.accrueFee, ()));
        _vault("transfer", wallet, abi.encodeCall(IERC20.transfer, (world.keeper(), SHARES)));
        _vault("approve", wallet, abi.encodeCall(IERC20.approve, (ANYONE, SHARES)));
        _vault("permit", ANYONE, world.permit(ANYONE));
        send(wallet, here.vault, abi.encodeCall(IERC20.approve, (ANYONE, SHARES)));
        _vault("transferFrom", ANYONE, abi.encodeCall(IERC20.transferFrom, (wallet, world.keeper(), SHARES)));
        TestToken(here.alfa).setBlocked(wallet, true);
        send(wallet, here.vault, abi.encodeCall(IBasketVault.redeem, (SHARES, wallet)));
        _vault("claimOwed", wallet, abi.encodeCall(IBasketVault.claimOwed, (here.alfa, world.keeper())));
    }

    function test_vault_reads() public {
        string[15] memory names = [
            "composition",
            "constituents",
            "constituentCount",
            "tokenDecimals",
            "unitsPerShare",
            "feeIndex",
            "genesisAt",
            "managementFeeBps",
            "registry",
            "name",
            "symbol",
            "decimals",
            "totalSupply",
            "DOMAIN_SEPARATOR",
            "eip712Domain"
        ];
        for (uint256 i; i < names.length; ++i) {
            read("BasketVault", here.vault, names[i]);
        }
        _vault("previewMint", ANYONE, abi.encodeCall(IBasketVault.previewMint, (SHARES)));
        _vault("previewRedeem", ANYONE, abi.encodeCall(IBasketVault.previewRedeem, (SHARES)));
        _vault("feeIndexAt", ANYONE, abi.encodeCall(IBasketVault.feeIndexAt, (vm.getBlockTimestamp())));
        _vault("balanceOf", ANYONE, abi.encodeCall(IERC20.balanceOf, (wallet)));
        _vault("allowance", ANYONE, abi.encodeCall(IERC20.allowance, (wallet, ANYONE)));
        _vault("owed", ANYONE, abi.encodeCall(IBasketVault.owed, (wallet, here.alfa)));
        _vault("nonces", ANYONE, abi.encodeWithSignature("nonces(address)", wallet));
    }

    function test_zapper() public {
        (SwapCall[] memory buys, uint256 cost) = world.swapsOf(true);
        (SwapCall[] memory sales,) = world.swapsOf(false);
        uint256 most = cost + cost / 400;
        send(wallet, here.usdg, abi.encodeCall(IERC20.approve, (here.zapper, most)));
        send(wallet, here.vault, abi.encodeCall(IERC20.approve, (here.zapper, SHARES)));
        uint256 soon = vm.getBlockTimestamp() + 60;
        probe(
            "BasketZapper.buy",
            wallet,
            here.zapper,
            abi.encodeCall(IBasketZapper.buy, (here.vault, most, 0, buys, wallet, wallet, soon))
        );
        probe(
            "BasketZapper.buyExact",
            wallet,
            here.zapper,
            abi.encodeCall(IBasketZapper.buyExact, (here.vault, SHARES, most, buys, wallet, wallet, soon))
        );
        probe(
            "BasketZapper.sell",
            wallet,
            here.zapper,
            abi.encodeCall(IBasketZapper.sell, (here.vault, SHARES, 0, sales, wallet, wallet, soon))
        );
        read("BasketZapper", here.zapper, "usdg");
        read("BasketZapper", here.zapper, "weth");
        read("BasketZapper", here.zapper, "router");
        read("BasketZapper", here.zapper, "uniswapFactory");
        read("BasketZapper", here.zapper, "registry");
        read("BasketZapper", here.zapper, "pause");
    }

    function test_oracle() public {
        _oracle("navs", abi.encodeCall(INavOracle.navs, (here.vault)));
        _oracle("navsOnce", abi.encodeCall(INavOracle.navsOnce, (here.vault)));
        _oracle("referenceNav", abi.encodeCall(INavOracle.referenceNav, (here.vault)));
        _oracle("tryReferenceNav", abi.encodeCall(INavOracle.tryReferenceNav, (here.vault)));
        _oracle("spotNav", abi.encodeCall(INavOracle.spotNav, (here.vault)));
        _oracle("trySpotNav", abi.encodeCall(INavOracle.trySpotNav, (here.vault)));
        _oracle("spotPrices", abi.encodeCall(INavOracle.spotPrices, (here.vault)));
        _oracle(
            "tryNavAt",
            abi.encodeCall(INavOracle.tryNavAt, (world.coveredVault(), vm.getBlockTimestamp() - 300))
        );
        read("NavOracle", here.oracle, "ethPrice");
        read("NavOracle", here.oracle, "usdg");
        read("NavOracle", here.oracle, "weth");
        read("NavOracle", here.oracle, "wethUsdgPool");
        read("NavOracle", here.oracle, "wethMinLiquidity");
    }

    function test_registry() public {
        IBasketRegistry.Basket memory basket = IBasketRegistry(here.registry).basketOf("TECH");
        (basket.ticker, basket.vault) = ("OTHER", address(0x07e4));
        vm.etch(basket.vault, here.vault.code); // a vault of the same registry
        address owner = here.protocolOwner;
        _registry(
            "appendGenesis",
            owner,
            abi.encodeWithSignature(
                "appendGenesis((string,string,string,string,string,string,string,address,bool))", basket
            )
        );
        _registry("setTreasury", owner, abi.encodeWithSignature("setTreasury(address)", ANYONE));
        _registry("renounceOwnership", owner, abi.encodeWithSignature("renounceOwnership()"));
        measure("BasketRegistry.seal", owner, here.registry, abi.encodeWithSignature("seal()"));
        measure(
            "BasketRegistry.propose",
            owner,
            here.registry,
            abi.encodeWithSignature(
                "propose((string,string,string,string,string,string,string,address,bool))", basket
            )
        );
        _registry("proposalOf", ANYONE, abi.encodeWithSignature("proposalOf(string)", "OTHER"));
        uint256 before = vm.snapshotState();
        skip(7 days);
        _registry("append", owner, abi.encodeWithSignature("append(string)", "OTHER"));
        vm.revertToState(before);
        measure(
            "BasketRegistry.transferOwnership",
            owner,
            here.registry,
            abi.encodeWithSignature("transferOwnership(address)", ANYONE)
        );
        _registry("acceptOwnership", ANYONE, abi.encodeWithSignature("acceptOwnership()"));
        _registry("basketOf", ANYONE, abi.encodeWithSignature("basketOf(string)", "TECH"));
        _registry("basketOfVault", ANYONE, abi.encodeWithSignature("basketOfVault(address)", here.vault));
        _registry("isVault", ANYONE, abi.encodeWithSignature("isVault(address)", here.vault));
        _registry("ordersEnabled", ANYONE, abi.encodeWithSignature("ordersEnabled(address)", here.vault));
        read("BasketRegistry", here.registry, "baskets"); // of six
        read("BasketRegistry", here.registry, "basketCount");
        read("BasketRegistry", here.registry, "isSealed");
        read("BasketRegistry", here.registry, "owner");
        read("BasketRegistry", here.registry, "pendingOwner");
        read("BasketRegistry", here.registry, "treasury");
    }

    function test_pause() public {
        address owner = here.protocolOwner;
        _pause("setGuardian", owner, abi.encodeWithSignature("setGuardian(address)", ANYONE));
        _pause("renounceOwnership", owner, abi.encodeWithSignature("renounceOwnership()"));
        measure("ProtocolPause.pause", here.guardian, here.pause, abi.encodeWithSignature("pause()"));
        _pause("unpause", here.guardian, abi.encodeWithSignature("unpause()"));
        measure(
            "ProtocolPause.transferOwnership",
            owner,
            here.pause,
            abi.encodeWithSignature("transferOwnership(address)", ANYONE)
        );
        _pause("acceptOwnership", ANYONE, abi.encodeWithSignature("acceptOwnership()"));
        read("ProtocolPause", here.pause, "paused");
        read("ProtocolPause", here.pause, "pausedUntil");
        read("ProtocolPause", here.pause, "guardian");
        read("ProtocolPause", here.pause, "owner");
        read("ProtocolPause", here.pause, "pendingOwner");
    }

    function _vault(string memory name, address sender, bytes memory payload) private {
        probe(string.concat("BasketVault.", name), sender, here.vault, payload);
    }

    function _oracle(string memory name, bytes memory payload) private {
        probe(string.concat("NavOracle.", name), ANYONE, here.oracle, payload);
    }

    function _registry(string memory name, address sender, bytes memory payload) private {
        probe(string.concat("BasketRegistry.", name), sender, here.registry, payload);
    }

    function _pause(string memory name, address sender, bytes memory payload) private {
        probe(string.concat("ProtocolPause.", name), sender, here.pause, payload);
    }
}
