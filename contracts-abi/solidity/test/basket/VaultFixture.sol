// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Test} from "../support/Test.sol";
import {TestToken} from "../support/TestToken.sol";
import {BasketRegistry} from "../../src/basket/BasketRegistry.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {VaultConfig} from "../../src/basket/VaultConfig.sol";
import {IBasketRegistry} from "../../src/interfaces/IBasketRegistry.sol";
import {IBasketVault} from "../../src/interfaces/IBasketVault.sol";

/// Vaults without pools: three tokens of 18, 8 and 6 decimals, the second worth so much that a share holds few of its
/// base units, where rounding bites hardest.
abstract contract VaultFixture is Test {
    uint256 internal constant SEED_SHARES = 10e18;

    address internal owner = makeAddr("owner");
    address internal treasury = makeAddr("treasury");
    address internal seedHolder = makeAddr("seed holder");
    address internal alice = makeAddr("alice");
    address internal bob = makeAddr("bob");

    BasketRegistry internal registry;
    TestToken[] internal tokens;
    BasketVault internal vault;
    uint256 internal genesis;

    function deployVault() internal {
        registry = new BasketRegistry(owner, treasury);
        tokens.push(new TestToken("Ample", "AMP", 18));
        tokens.push(new TestToken("Dear", "DEAR", 8));
        tokens.push(new TestToken("Coarse", "CRS", 6));
        vault = foundVault(plainConfig());
        genesis = block.timestamp;
    }

    function plainConfig() internal view returns (VaultConfig memory config) {
        config.name = "Test basket";
        config.symbol = "TEST";
        config.constituents = new IBasketVault.Constituent[](3);
        config.constituents[0] =
            IBasketVault.Constituent(address(tokens[0]), 0.4e18 + 7, address(0), false, 0);
        config.constituents[1] = IBasketVault.Constituent(address(tokens[1]), 1_237, address(0), false, 0);
        config.constituents[2] =
            IBasketVault.Constituent(address(tokens[2]), 33_333_333, address(0), false, 0);
        config.managementFeeBps = 95;
        config.registry = address(registry);
        config.seedTo = seedHolder;
        config.seedShares = SEED_SHARES;
        config.statedPrices = new uint256[](3);
    }

    /// Deploys as the test contract, with the constituents approved to the address that it will have.
    function foundVault(VaultConfig memory config) internal returns (BasketVault founded) {
        address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)));
        for (uint256 i; i < config.constituents.length; ++i) {
            TestToken token = TestToken(config.constituents[i].token);
            uint256 amount = config.constituents[i].genesisUnits * config.seedShares / 1e18 + 1;
            token.mint(address(this), amount);
            token.approve(predicted, amount);
        }
        founded = new BasketVault(config);
        require(address(founded) == predicted, "vault address");
    }

    function mintShares(address who, uint256 shares) internal returns (uint256[] memory amounts) {
        amounts = vault.previewMint(shares);
        vm.startPrank(who);
        for (uint256 i; i < tokens.length; ++i) {
            tokens[i].mint(who, amounts[i]);
            tokens[i].approve(address(vault), amounts[i]);
        }
        vault.mint(shares, who);
        vm.stopPrank();
    }

    function redeemShares(address who, uint256 shares) internal returns (uint256[] memory amounts) {
        vm.prank(who);
        return vault.redeem(shares, who);
    }

    function basket(string memory ticker, address vault_)
        internal
        pure
        returns (IBasketRegistry.Basket memory entry)
    {
        entry.ticker = ticker;
        entry.name = "Test basket";
        entry.thesis = "because";
        entry.group = "tests";
        entry.rebalance = "never";
        entry.vault = vault_;
        entry.ordersEnabled = true;
    }
}
