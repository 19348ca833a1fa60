// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Spot NAV and the reference (10-minute average NAV). All NAVs and prices are dollars scaled by 1e18:
/// a NAV is for one share (1e18 base units), a price is for one whole token (10**decimals base units).
interface INavOracle {
    enum Invalid {
        None,
        NoPool,
        Cardinality,
        TooYoung,
        Thin,
        Jumpy
    }

    error NoReference(address vault, Invalid reason, address pool);
    error NoSpot(address vault);
    error NotYet(uint256 endsAt);

    /// The reference, or NoReference when any constituent's window is invalid (rule 1).
    function referenceNav(address vault) external view returns (uint256 nav);
    /// The same without a revert: nav is zero unless reason is None; `pool` is the first offender.
    function tryReferenceNav(address vault) external view returns (uint256 nav, Invalid reason, address pool);
    /// The reference and spot NAV from one look at the pools; reverts NoReference or NoSpot.
    function navs(address vault) external view returns (uint256 referenceNav, uint256 spotNav);
    /// What `navs` answers, for less where the same vault is asked for again within a transaction: the reference of one
    /// moment is the same however often it is worked out, and is kept until the transaction ends. The spot NAV, which
    /// a swap moves, is read each time.
    function navsOnce(address vault) external returns (uint256 referenceNav, uint256 spotNav);
    /// The average NAV of the 600 s that end at `endsAt` (unix seconds, not ahead), from observations that the pools
    /// still hold: cardinality >= 4,500, twelve sub-windows of 50 s, the fee index of `endsAt`. Depends on neither the
    /// caller nor the time of the call (rule 22).
    function tryNavAt(address vault, uint256 endsAt)
        external
        view
        returns (uint256 nav, Invalid reason, address pool);
    /// From slot0 of the reference pools; reverts NoSpot when a constituent has no pool.
    function spotNav(address vault) external view returns (uint256 nav);
    function trySpotNav(address vault) external view returns (uint256 nav, bool ok);
    /// Spot price per constituent, in the vault's order; zero where there is no pool.
    function spotPrices(address vault) external view returns (uint256[] memory prices);
    /// ETH price in dollars x 1e18 from the WETH/USDG pool's slot0, and its 10-minute average (zero if invalid).
    function ethPrice() external view returns (uint256 spotPrice, uint256 averagePrice);
}
