// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketRegistry} from "../../src/basket/BasketRegistry.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {BasketZapper} from "../../src/basket/BasketZapper.sol";
import {NavOracle} from "../../src/basket/NavOracle.sol";
import {VaultConfig} from "../../src/basket/VaultConfig.sol";
import {ProtocolPause} from "../../src/governance/ProtocolPause.sol";
import {IBasketRegistry} from "../../src/interfaces/IBasketRegistry.sol";
import {IBasketVault} from "../../src/interfaces/IBasketVault.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {TestToken} from "./TestToken.sol";
import {IUniPool, UniswapFixture} from "./UniswapFixture.sol";

/// The protocol over five tokens on genuine pools, references valid from the start. Call `deployProtocol` in setUp.
///
/// | basket | constituents (pool) |
/// |---|---|
/// | `tech` | alfa 18 decimals (USDG 0.30%), bravo 8 decimals (USDG 0.05%), charlie 18 decimals (through WETH 0.30%) |
/// | `mixed` | alfa, WETH (USDG 0.05%), USDG itself |
/// | `stock` | bravo, delta 6 decimals (USDG 1%) |
/// | `blind` | bravo, echo without a pool: no reference; orders disabled |
///
/// Every share is worth about $100 at the start and 1,000 of each belong to this contract.
abstract contract ProtocolFixture is UniswapFixture {
    struct Asset {
        TestToken token;
        IUniPool pool;
        bool viaWeth;
        uint24 fee;
        uint256 price; // dollars x 1e18 per whole token at the start; zero without a pool
        uint128 minLiquidity;
    }

    uint256 internal constant ETH_PRICE = 2_500e18;
    uint256 internal constant DEPTH = 5_000_000e6; // USDG base units a side of every pool

    address internal protocolOwner;
    address internal guardian;
    address internal treasury;

    Asset internal alfa;
    Asset internal bravo;
    Asset internal charlie;
    Asset internal delta;
    Asset internal echo;
    Asset internal ether_;
    IUniPool[] internal pools;
    mapping(address token => Asset) private _others;

    ProtocolPause internal pause;
    BasketRegistry internal registry;
    NavOracle internal oracle;
    BasketZapper internal zapper;
    BasketVault internal tech;
    BasketVault internal mixed;
    BasketVault internal stock;
    BasketVault internal blind;

    function deployProtocol() internal {
        deployUniswap();
        protocolOwner = makeAddr("protocol owner");
        guardian = makeAddr("guardian");
        treasury = makeAddr("treasury");

        IUniPool wethPool = createPool(address(weth), address(usdg), 500, ETH_PRICE, DEPTH);
        pools.push(wethPool);
        ether_ = Asset({
            token: TestToken(address(weth)),
            pool: wethPool,
            viaWeth: false,
            fee: 500,
            price: ETH_PRICE,
            minLiquidity: liquidityFor(wethPool, address(usdg), DEPTH) / 2
        });
        alfa = _list("Alfa", 18, 3000, 125e18, false);
        bravo = _list("Bravo", 8, 500, 40e18, false);
        charlie = _list("Charlie", 18, 3000, 400e18, true);
        delta = _list("Delta", 6, 10_000, 8e18, false);
        echo.token = new TestToken("Echo", "ECHO", 18);
        age(pools);

        pause = new ProtocolPause(protocolOwner, guardian);
        registry = new BasketRegistry(protocolOwner, treasury);
        oracle = new NavOracle(address(usdg), address(weth), address(wethPool), ether_.minLiquidity);
        zapper = new BasketZapper(
            address(usdg), address(weth), swapRouter, address(uniFactory), address(registry), address(pause)
        );
        _foundBaskets();
        refreshPools();
    }

    /// Writes an observation in every pool now, so that references stay thick after a long warp.
    function refreshPools() internal {
        for (uint256 i; i < pools.length; i++) {
            writeObservation(pools[i]);
        }
    }

    /// Lets `secondsAhead` pass with every pool observed each 100 s: the reference follows the spot price.
    function passTime(uint256 secondsAhead) internal {
        age(pools, secondsAhead);
    }

    /// Moves the spot price of a constituent to `price` dollars x 1e18.
    function setPrice(Asset storage asset, uint256 price) internal {
        uint256 quoted = asset.viaWeth ? price * 1e18 / poolPrice(ether_.pool, address(weth)) : price;
        movePrice(asset.pool, address(asset.token), quoted);
    }

    /// Moves every constituent's spot price by `bps` (9_900: down one percent), WETH excepted.
    function movePrices(uint256 bps) internal {
        _scale(alfa, bps);
        _scale(bravo, bps);
        _scale(charlie, bps);
        _scale(delta, bps);
    }

    /// A basket of one token ($100 a share, $50 a token) whose pool carries cover: fee 1%, `depth` USDG base units a
    /// side, floor a half of that, observations for a snapshot. With a depth of $500 million the cover market accepts
    /// caps up to $149,000 a week.
    function foundCoverBasket(string memory ticker, uint256 depth) internal returns (BasketVault vault) {
        Asset memory asset = listCoverAsset(string.concat(ticker, " token"), 18, 10_000, 50e18, depth, false);
        Asset[] memory parts = new Asset[](1);
        uint256[] memory dollars = new uint256[](1);
        (parts[0], dollars[0]) = (asset, 100);
        age(pools);
        return _found(ticker, parts, dollars, true);
    }

    /// A token with a pool that remembers 4,500 observations.
    function listCoverAsset(
        string memory name,
        uint8 decimals,
        uint24 fee,
        uint256 price,
        uint256 depth,
        bool viaWeth
    ) internal returns (Asset memory asset) {
        asset.token = new TestToken(name, name, decimals);
        asset.viaWeth = viaWeth;
        asset.fee = fee;
        asset.price = price;
        address quoteToken = viaWeth ? address(weth) : address(usdg);
        uint256 quoted = viaWeth ? price * 1e18 / ETH_PRICE : price;
        asset.pool = createThinPool(address(asset.token), quoteToken, fee, quoted);
        asset.minLiquidity =
            addDepth(asset.pool, quoteToken, viaWeth ? depth * 1e12 * 1e18 / ETH_PRICE : depth) / 2;
        growCardinality(asset.pool, 4_500);
        pools.push(asset.pool);
        _others[address(asset.token)] = asset;
    }

    /// Mints `shares` of `vault` to `to`, paying the constituents from nothing.
    function giveShares(BasketVault vault, address to, uint256 shares) internal {
        uint256[] memory amounts = vault.previewMint(shares);
        _fund(vault.constituents(), amounts, address(vault));
        vault.mint(shares, to);
    }

    /// Exact-output swaps that buy the constituents of `shares`, and the USDG that they and the vault take (gross).
    function quoteBuy(BasketVault vault, uint256 shares)
        internal
        returns (SwapCall[] memory swaps, uint256 gross)
    {
        IBasketVault.Constituent[] memory parts = vault.constituents();
        uint256[] memory amounts = vault.previewMint(shares);
        swaps = new SwapCall[](_swapCount(parts));
        uint256 next;
        for (uint256 i; i < parts.length; i++) {
            if (parts[i].token == address(usdg)) {
                gross += amounts[i];
                continue;
            }
            swaps[next] = exactOutput(assetOf(parts[i].token), amounts[i]);
            gross += swaps[next++].amountIn;
        }
    }

    /// Exact-input swaps that sell the constituents of `shares`, and the USDG that they yield (gross).
    function quoteSell(BasketVault vault, uint256 shares)
        internal
        returns (SwapCall[] memory swaps, uint256 gross)
    {
        IBasketVault.Constituent[] memory parts = vault.constituents();
        uint256[] memory amounts = vault.previewRedeem(shares);
        swaps = new SwapCall[](_swapCount(parts));
        uint256 next;
        for (uint256 i; i < parts.length; i++) {
            if (parts[i].token == address(usdg)) {
                gross += amounts[i];
                continue;
            }
            Asset memory asset = assetOf(parts[i].token);
            gross += quote(_path(asset), amounts[i], false);
            swaps[next++] = exactInput(asset, amounts[i]);
        }
    }

    /// 0.20% of gross, rounded up, as the zapper takes it.
    function zapFee(uint256 gross) internal pure returns (uint256) {
        return (gross * 20 + 9_999) / 10_000;
    }

    /// Buys exactly `amountOut` of the asset for USDG; `amountIn` is what the pools ask for now.
    function exactOutput(Asset memory asset, uint256 amountOut) internal returns (SwapCall memory) {
        return exactOutput(asset, amountOut, quote(_path(asset), amountOut, true));
    }

    /// The same for at most `amountIn`.
    function exactOutput(Asset memory asset, uint256 amountOut, uint256 amountIn)
        internal
        view
        returns (SwapCall memory)
    {
        bytes memory callData = asset.viaWeth
            ? abi.encodeWithSelector(
                0x09b81346, ExactOutput(_path(asset), address(zapper), amountOut, amountIn)
            )
            : abi.encodeWithSelector(
                0x5023b4df,
                ExactSingle(
                    address(usdg), address(asset.token), asset.fee, address(zapper), amountOut, amountIn, 0
                )
            );
        return SwapCall(swapRouter, address(usdg), address(asset.token), amountIn, callData);
    }

    /// Sells exactly `amountIn` of the asset for USDG.
    function exactInput(Asset memory asset, uint256 amountIn) internal view returns (SwapCall memory) {
        bytes memory callData = asset.viaWeth
            ? abi.encodeWithSelector(0xb858183f, ExactInput(_path(asset), address(zapper), amountIn, 0))
            : abi.encodeWithSelector(
                0x04e45aaf,
                ExactSingle(address(asset.token), address(usdg), asset.fee, address(zapper), amountIn, 0, 0)
            );
        return SwapCall(swapRouter, address(asset.token), address(usdg), amountIn, callData);
    }

    /// Spends exactly `amountIn` USDG on the asset.
    function exactInputBuy(Asset memory asset, uint256 amountIn) internal view returns (SwapCall memory) {
        bytes memory path = asset.viaWeth
            ? abi.encodePacked(usdg, ether_.fee, weth, asset.fee, asset.token)
            : abi.encodePacked(usdg, asset.fee, asset.token);
        return SwapCall(
            swapRouter,
            address(usdg),
            address(asset.token),
            amountIn,
            abi.encodeWithSelector(0xb858183f, ExactInput(path, address(zapper), amountIn, 0))
        );
    }

    /// QuoterV2 on the genuine pools: input for an exact output, or output for an exact input.
    function quote(bytes memory path, uint256 amount, bool output) internal returns (uint256 answer) {
        (bool ok, bytes memory result) = quoter.call(
            abi.encodeWithSignature(
                output ? "quoteExactOutput(bytes,uint256)" : "quoteExactInput(bytes,uint256)", path, amount
            )
        );
        require(ok, "no quote");
        answer = abi.decode(result, (uint256));
    }

    function assetOf(address token) internal view virtual returns (Asset memory) {
        if (token == address(alfa.token)) return alfa;
        if (token == address(bravo.token)) return bravo;
        if (token == address(charlie.token)) return charlie;
        if (token == address(delta.token)) return delta;
        if (token == address(weth)) return ether_;
        if (token == address(echo.token)) return echo;
        require(address(_others[token].token) == token, "unknown token");
        return _others[token];
    }

    // The router's structs: only their encoding matters, and exact-input and exact-output singles share a layout.
    struct ExactSingle {
        address tokenIn;
        address tokenOut;
        uint24 fee;
        address recipient;
        uint256 amount;
        uint256 bound;
        uint160 sqrtPriceLimitX96;
    }

    struct ExactInput {
        bytes path;
        address recipient;
        uint256 amountIn;
        uint256 amountOutMinimum;
    }

    struct ExactOutput {
        bytes path;
        address recipient;
        uint256 amountOut;
        uint256 amountInMaximum;
    }

    /// Token to USDG. An exact-output path is written from the output backwards, so a purchase reads the same.
    function _path(Asset memory asset) internal view returns (bytes memory) {
        return asset.viaWeth
            ? abi.encodePacked(asset.token, asset.fee, weth, ether_.fee, usdg)
            : abi.encodePacked(asset.token, asset.fee, usdg);
    }

    function _list(string memory name, uint8 decimals, uint24 fee, uint256 price, bool viaWeth)
        private
        returns (Asset memory asset)
    {
        asset.token = new TestToken(name, name, decimals);
        asset.viaWeth = viaWeth;
        asset.fee = fee;
        asset.price = price;
        address quoteToken = viaWeth ? address(weth) : address(usdg);
        uint256 depth = viaWeth ? DEPTH * 1e12 * 1e18 / ETH_PRICE : DEPTH;
        uint256 quoted = viaWeth ? price * 1e18 / ETH_PRICE : price;
        asset.pool = createPool(address(asset.token), quoteToken, fee, quoted, depth);
        asset.minLiquidity = liquidityFor(asset.pool, quoteToken, depth) / 2;
        pools.push(asset.pool);
        vm.label(address(asset.token), name);
    }

    function _foundBaskets() private {
        Asset[] memory parts = new Asset[](3);
        uint256[] memory dollars = new uint256[](3);
        (parts[0], parts[1], parts[2]) = (alfa, bravo, charlie);
        (dollars[0], dollars[1], dollars[2]) = (50, 20, 30);
        tech = _found("TECH", parts, dollars, true);

        Asset memory cash;
        cash.token = usdg;
        cash.price = 1e18;
        (parts[0], parts[1], parts[2]) = (alfa, ether_, cash);
        (dollars[0], dollars[1], dollars[2]) = (60, 30, 10);
        mixed = _found("MIXED", parts, dollars, true);

        parts = new Asset[](2);
        dollars = new uint256[](2);
        (parts[0], parts[1]) = (bravo, delta);
        (dollars[0], dollars[1]) = (70, 30);
        stock = _found("STOCK", parts, dollars, true);

        (parts[0], parts[1]) = (bravo, echo);
        blind = _found("BLIND", parts, dollars, false);
    }

    function _found(string memory ticker, Asset[] memory parts, uint256[] memory dollars, bool ordersEnabled)
        internal
        returns (BasketVault vault)
    {
        VaultConfig memory config;
        config.name = string.concat(ticker, " basket");
        config.symbol = ticker;
        config.constituents = new IBasketVault.Constituent[](parts.length);
        config.statedPrices = new uint256[](parts.length);
        uint256[] memory amounts = new uint256[](parts.length);
        for (uint256 i; i < parts.length; i++) {
            Asset memory part = parts[i];
            uint256 price = part.price == 0 ? 10e18 : part.price;
            uint256 units = dollars[i] * 1e18 * 10 ** part.token.decimals() / price;
            config.constituents[i] = IBasketVault.Constituent(
                address(part.token), units, address(part.pool), part.viaWeth, part.minLiquidity
            );
            config.statedPrices[i] = part.price;
            amounts[i] = units * 1_001;
        }
        config.managementFeeBps = 75;
        config.registry = address(registry);
        config.seedTo = address(this);
        config.seedShares = 1_001e18;
        config.uniswapFactory = address(uniFactory);
        config.usdg = address(usdg);
        config.weth = address(weth);
        config.wethUsdgPool = address(ether_.pool);
        address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)));
        _fund(config.constituents, amounts, predicted);
        vault = new BasketVault(config);
        require(address(vault) == predicted, "vault address");
        vm.label(address(vault), ticker);
        IBasketRegistry.Basket memory basket;
        basket.ticker = ticker;
        basket.name = config.name;
        basket.thesis = "a test basket";
        basket.group = "test";
        basket.rebalance = "none";
        basket.vault = address(vault);
        basket.ordersEnabled = ordersEnabled;
        vm.prank(protocolOwner);
        registry.appendGenesis(basket);
    }

    /// Gives this contract the tokens and approves them to `spender`.
    function _fund(IBasketVault.Constituent[] memory parts, uint256[] memory amounts, address spender)
        private
    {
        for (uint256 i; i < parts.length; i++) {
            if (parts[i].token == address(weth)) {
                vm.deal(address(this), address(this).balance + amounts[i]);
                weth.deposit{value: amounts[i]}();
            } else {
                TestToken(parts[i].token).mint(address(this), amounts[i]);
            }
            TestToken(parts[i].token).approve(spender, amounts[i]);
        }
    }

    function _scale(Asset storage asset, uint256 bps) private {
        uint256 now_ = poolPrice(asset.pool, address(asset.token));
        movePrice(asset.pool, address(asset.token), now_ * bps / 10_000);
    }

    function _swapCount(IBasketVault.Constituent[] memory parts) private view returns (uint256 count) {
        for (uint256 i; i < parts.length; i++) {
            if (parts[i].token != address(usdg)) count++;
        }
    }
}
