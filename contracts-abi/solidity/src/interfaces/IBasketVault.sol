// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// Whoever mints by `mintOnPayment`.
interface IMintPayer {
    /// The vault that is minting for this contract asks for `amounts` of its constituents, to be sent to it.
    function payForMint(address[] calldata tokens, uint256[] calldata amounts) external;
}

/// One basket's index token (18 decimals, ERC-20 and ERC-2612).
interface IBasketVault is IERC20 {
    /// `genesisUnits`: token base units per 1e18 shares at genesis.
    /// `pool`: the reference pool, token/USDG or (viaWeth) token/WETH; zero where the token has none.
    /// `minLiquidity`: the pool's floor for the harmonic mean liquidity (rule 1).
    struct Constituent {
        address token;
        uint256 genesisUnits;
        address pool;
        bool viaWeth;
        uint128 minLiquidity;
    }

    event Minted(address indexed payer, address indexed to, uint256 shares, uint256[] amounts);
    event Redeemed(address indexed holder, address indexed to, uint256 shares, uint256[] amounts);
    event FeeAccrued(address indexed recipient, uint256 shares, uint256 feeIndex);
    event TransferOwed(address indexed creditor, address indexed token, uint256 amount);
    event OwedClaimed(address indexed creditor, address indexed token, address to, uint256 amount);

    error ZeroShares();
    error NothingOwed();
    error InvalidConstituents();
    error TokenTookFee(address token);
    error SeedTooSmall(uint256 seedShares);
    error PriceOffStated(address token, uint256 price, uint256 statedPrice);
    error InvalidReceiver(address to);

    /// Mints exactly `shares` to `to`, pulling each constituent (rounded up) from the sender.
    function mint(uint256 shares, address to) external returns (uint256[] memory amounts);

    /// The same, but asks the sender (IMintPayer) to send the constituents, and counts what arrives: spares an approval
    /// a constituent.
    function mintOnPayment(uint256 shares, address to) external returns (uint256[] memory amounts);

    /// Burns `shares` of the sender and sends the constituents (rounded down) to `to`.
    /// A transfer that fails becomes owed[sender][token]; its entry in `amounts` is then zero.
    function redeem(uint256 shares, address to) external returns (uint256[] memory amounts);

    function claimOwed(address token, address to) external returns (uint256 amount);
    function owed(address creditor, address token) external view returns (uint256);

    /// Mints the management fee accrued so far. How often it is called changes nothing.
    function accrueFee() external returns (uint256 feeShares);

    /// Constituents, their decimals and the fee index in one answer: all that a NAV needs besides prices.
    function composition()
        external
        view
        returns (Constituent[] memory parts, uint8[] memory decimals, uint256 index);
    function constituents() external view returns (Constituent[] memory);
    function constituentCount() external view returns (uint256);
    /// Decimals of the constituents as they were at genesis, so that a NAV never depends on a token that has died.
    function tokenDecimals() external view returns (uint8[] memory);
    /// Token base units per 1e18 shares now, in the order of `constituents`, rounded down.
    function unitsPerShare() external view returns (uint256[] memory);
    /// What `mint(shares)` would pull now (rounded up) and `redeem(shares)` would send (rounded down).
    function previewMint(uint256 shares) external view returns (uint256[] memory amounts);
    function previewRedeem(uint256 shares) external view returns (uint256[] memory amounts);
    /// RAY at genesis, falling by the management fee in closed form.
    function feeIndex() external view returns (uint256);
    /// The fee index of another moment at or after genesis (unix seconds); RAY before it.
    function feeIndexAt(uint256 time) external view returns (uint256);
    function managementFeeBps() external view returns (uint16);
    function genesisAt() external view returns (uint48);
    function registry() external view returns (address);
}
