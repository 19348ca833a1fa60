// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IUniPool} from "../support/UniswapFixture.sol";
import {ProtocolFixture} from "../support/ProtocolFixture.sol";
import {TestToken} from "../support/TestToken.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {VaultConfig} from "../../src/basket/VaultConfig.sol";
import {IBasketVault} from "../../src/interfaces/IBasketVault.sol";
import {PoolPrice} from "../../src/libraries/PoolPrice.sol";

/// Rule 3: a vault exists only over the factory's own pools, at the prices that its deployer states.
contract VaultGenesisTest is ProtocolFixture {
    VaultConfig private config;

    /// Alfa against USDG, charlie through WETH, and USDG itself.
    function setUp() public {
        deployProtocol();
        config.name = "Genesis";
        config.symbol = "GEN";
        config.constituents
            .push(
                IBasketVault.Constituent(
                    address(alfa.token), 1e18, address(alfa.pool), false, alfa.minLiquidity
                )
            );
        config.constituents
            .push(
                IBasketVault.Constituent(
                    address(charlie.token), 1e18, address(charlie.pool), true, charlie.minLiquidity
                )
            );
        config.constituents.push(IBasketVault.Constituent(address(usdg), 10e6, address(0), false, 0));
        config.managementFeeBps = 95;
        config.registry = address(registry);
        config.seedTo = address(this);
        config.seedShares = 1e18;
        config.uniswapFactory = address(uniFactory);
        config.usdg = address(usdg);
        config.weth = address(weth);
        config.wethUsdgPool = address(ether_.pool);
        config.statedPrices.push(125e18);
        config.statedPrices.push(400e18);
        config.statedPrices.push(0);
    }

    function test_soundTermsFoundAVaultAndOneShareMaySuffice() public {
        BasketVault vault = _found();
        assertEq(vault.totalSupply(), 1e18);
        assertEq(vault.balanceOf(address(this)), 0);
    }

    function test_aPriceWithinThreePercentOfTheStatedPasses() public {
        config.statedPrices[0] = 128.8e18; // 125 is 2.95% below
        config.statedPrices[1] = 388.4e18; // 400 is 2.99% above
        _found();
    }

    function test_aPriceOfExactlyThreePercentAboveTheStatedPasses() public {
        uint160 root = _rootOf(128.75e18);
        (uint160 now_,,,,,,) = alfa.pool.slot0();
        alfa.pool.swap(address(this), root < now_, type(int256).max, root, "");
        _found(); // stated: 125
        config.statedPrices[0] = 125e18 - 1;
        _refused(IBasketVault.PriceOffStated.selector);
    }

    /// The pool's price that reads as exactly `price` for alfa.
    function _rootOf(uint256 price) private view returns (uint160 root) {
        bool first = address(alfa.token) < address(usdg);
        root = sqrtPriceOf(address(alfa.token), address(usdg), price);
        uint256 read;
        for (; read != price; root = first == (read < price) ? root + 1 : root - 1) {
            read = PoolPrice.ofUsdgPair(root, address(alfa.token), 18, address(usdg));
            if (read == price) return root;
        }
    }

    function test_aPriceBeyondThreePercentOfTheStatedIsRefused() public {
        for (uint256 i; i < 2; ++i) {
            uint256 honest = config.statedPrices[i];
            config.statedPrices[i] = honest * 1_032 / 1_000;
            _refused(IBasketVault.PriceOffStated.selector);
            config.statedPrices[i] = honest * 970 / 1_000;
            _refused(IBasketVault.PriceOffStated.selector);
            config.statedPrices[i] = honest;
        }
    }

    function test_aManipulatedWethPoolIsNoticedThroughItsConstituents() public {
        setPrice(ether_, 2_600e18);
        _refused(IBasketVault.PriceOffStated.selector);
    }

    function test_aPoolWithoutAStatedPriceIsRefused() public {
        config.statedPrices[0] = 0;
        _refused();
    }

    function test_aPoolThatIsNotTheFactorysIsRefused() public {
        config.constituents[0].pool = address(new PoolOf(alfa.pool));
        _refused();
    }

    function test_aPoolOfAnotherPairIsRefused() public {
        config.constituents[0].pool = address(bravo.pool);
        _refused();
        config.constituents[0].pool = address(alfa.pool);
        config.constituents[1].viaWeth = false; // charlie trades against WETH only
        _refused();
    }

    function test_aWethLegThatIsNotTheFactorysOrMissingIsRefused() public {
        config.wethUsdgPool = address(new PoolOf(ether_.pool));
        _refused();
        config.wethUsdgPool = address(0);
        _refused();
    }

    function test_usdgAndWethHaveNoPoolAgainstThemselves() public {
        config.constituents[2].pool = address(ether_.pool);
        _refused();
        config.constituents[2].viaWeth = true;
        config.statedPrices[2] = 1e18;
        config.constituents[2].minLiquidity = 1;
        _refused();
    }

    function test_aPoolWithoutALiquidityFloorIsRefused() public {
        config.constituents[0].minLiquidity = 0;
        _refused();
    }

    function test_tokensAreDistinctAliveAndCounted() public {
        config.constituents[1].token = address(alfa.token);
        _refused();
        config.constituents[1].token = address(0xbeef);
        _refused();
        config.constituents[1].token = address(charlie.token);
        config.constituents[1].genesisUnits = 0;
        _refused();
        config.constituents[1].genesisUnits = uint256(type(uint128).max) + 1;
        _refused();
    }

    function test_theSameConstituentTwiceIsRefused() public {
        config.constituents[1] = config.constituents[0];
        config.statedPrices[1] = config.statedPrices[0];
        _refused();
    }

    function test_unitsMayFillTheirWord() public {
        config.constituents[2] =
            IBasketVault.Constituent(address(echo.token), type(uint128).max, address(0), false, 0);
        assertEq(_found().previewMint(1e18)[2], type(uint128).max);
    }

    function test_aTokenOfMoreThanEighteenDecimalsIsRefused() public {
        config.constituents[2].token = address(new TestToken("Fine", "FINE", 19));
        _refused();
    }

    function test_noConstituentsTooManyOrUnpricedOnesAreRefused() public {
        config.statedPrices.pop();
        _refused();
        delete config.constituents;
        delete config.statedPrices;
        _refused();
        for (uint256 i; i < 33; ++i) {
            address token = address(new TestToken("T", "T", 18));
            config.constituents.push(IBasketVault.Constituent(token, 1e18, address(0), false, 0));
            config.statedPrices.push(0);
        }
        _refused();
        config.constituents.pop();
        config.statedPrices.pop();
        _found();
    }

    function test_theManagementFeeStaysWithinItsBand() public {
        config.managementFeeBps = 49;
        _refused();
        config.managementFeeBps = 96;
        _refused();
        config.managementFeeBps = 50;
        _found();
    }

    function test_aRegistryWithoutCodeIsRefused() public {
        config.registry = address(0xbeef);
        _refused();
    }

    function test_lessThanOneSeedShareIsRefused() public {
        config.seedShares = 1e18 - 1;
        _refused(IBasketVault.SeedTooSmall.selector);
    }

    function _found() private returns (BasketVault) {
        address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)));
        for (uint256 i; i < config.constituents.length; ++i) {
            TestToken token = TestToken(config.constituents[i].token);
            token.mint(address(this), config.constituents[i].genesisUnits);
            token.approve(predicted, config.constituents[i].genesisUnits);
        }
        return new BasketVault(config);
    }

    function _refused() private {
        _refused(IBasketVault.InvalidConstituents.selector);
    }

    function _refused(bytes4 selector) private {
        try new BasketVault(config) {
            fail("founded");
        } catch (bytes memory reason) {
            assertEq(bytes32(bytes4(reason)), bytes32(selector));
        }
    }
}

/// Answers like the genuine pool that it copies.
contract PoolOf {
    IUniPool private immutable genuine;

    constructor(IUniPool genuine_) {
        genuine = genuine_;
    }

    function fee() external view returns (uint24) {
        return genuine.fee();
    }

    function slot0() external view returns (uint160, int24, uint16, uint16, uint16, uint8, bool) {
        return genuine.slot0();
    }
}
