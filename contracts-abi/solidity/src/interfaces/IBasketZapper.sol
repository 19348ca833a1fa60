// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// One swap. `callData` is decoded and re-encoded, never forwarded (rule 5). `router` must be SwapRouter02.
/// `amountIn` is the exact input, or the most that an exact-output swap may spend.
struct SwapCall {
    address router;
    address tokenIn;
    address tokenOut;
    uint256 amountIn;
    bytes callData;
}

/// Baskets for USDG and back, each in one transaction, never partial. Pulls only from the sender;
/// whatever is left over (USDG and constituents) goes to `refundTo`; keeps nothing.
/// `gross` is the USDG that the swaps spent or yielded; `fee` is 0.20% of gross, rounded up, and zero while USDG refuses
/// to pay the treasury: that must stop no sale.
interface IBasketZapper {
    event Bought(
        address indexed payer,
        address indexed to,
        address indexed vault,
        uint256 shares,
        uint256 gross,
        uint256 fee
    );
    event Sold(
        address indexed payer,
        address indexed to,
        address indexed vault,
        uint256 shares,
        uint256 gross,
        uint256 fee
    );

    error Expired(uint256 deadline);
    error UnknownVault(address vault);
    error BadSwap(uint256 index, string why);
    error TooFewShares(uint256 shares, uint256 minShares);
    error TooMuchUsdg(uint256 needed, uint256 maxUsdg);
    error TooLittleUsdg(uint256 net, uint256 minUsdg);
    error PartialRedeem(address token);
    error BadReceiver(address to);
    error Paused();

    /// Spends at most `amountIn` USDG; mints as many shares as the swaps' output backs, at least `minShares`.
    function buy(
        address vault,
        uint256 amountIn,
        uint256 minShares,
        SwapCall[] calldata swaps,
        address to,
        address refundTo,
        uint256 deadline
    ) external returns (uint256 shares, uint256 gross, uint256 fee);

    /// Mints exactly `shares`; gross + fee is at most `maxUsdg`.
    function buyExact(
        address vault,
        uint256 shares,
        uint256 maxUsdg,
        SwapCall[] calldata swaps,
        address to,
        address refundTo,
        uint256 deadline
    ) external returns (uint256 gross, uint256 fee);

    /// Redeems `shares` and swaps everything; `net` = gross - fee, at least `minUsdg`, goes to `to`.
    function sell(
        address vault,
        uint256 shares,
        uint256 minUsdg,
        SwapCall[] calldata swaps,
        address to,
        address refundTo,
        uint256 deadline
    ) external returns (uint256 net, uint256 gross, uint256 fee);

    function usdg() external view returns (address);
    function weth() external view returns (address);
    function router() external view returns (address);
}
