// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Cover from a session key. EIP-712 domain {name "basket cover", version "1", chainId, verifyingContract = this}.
/// The grant is the session module's; nonces and the cover limit are this module's own.
interface ICoverModule {
    /// kind 0 take: `data` = abi.encode(uint256[] ids, uint64[] coverUsd, uint256 minCoverUsd, uint256 limit), where
    /// minCoverUsd is the sum of coverUsd and `limit` at most 3% of it.
    /// kind 1 request: `data` = abi.encode(uint32 week, address vault, uint16 fromBps, uint16 toBps, uint64 coverUsd,
    /// uint128 pricePer1k), the price at most $30.
    /// kind 4 cancel: `data` = abi.encode(uint256 listingId), an open request of the account; fee 0.
    /// Kinds 2, 3 and 5 (offer, fill, stop repeating) belong to the owner, who sends them from the Safe.
    struct CoverAction {
        address account;
        address key;
        uint8 kind;
        bytes data;
        uint256 nonce;
        uint48 deadline;
        uint256 fee;
    }

    /// `spent`: premium and cover fee that the account locked; zero for a cancel.
    event CoverExecuted(
        address indexed account,
        address indexed key,
        bytes32 indexed digest,
        uint256 nonce,
        uint8 kind,
        uint256 spent,
        uint256 fee,
        address relayer
    );

    error CoverDisabled();
    error OwnerOnly(uint8 kind);
    error NotAHolder(address vault, uint256 value, uint256 minimum);
    /// USDG base units: a take's limit and 3% of its cover, or a request's price and the highest, both per $1,000.
    error CostAboveCeiling(uint256 cost, uint256 ceiling);
    error CoverLimitExceeded(uint256 spent, uint256 coverDailyLimit);
    error NotARequest(uint256 listingId);

    /// Errors that both modules have are the session module's (ISessionModule). Refused while the protocol or the
    /// account is paused, cancels included: the owner cancels from the Safe.
    function execute(CoverAction calldata action, bytes calldata signature) external returns (uint256 spent);
    function nonceUsed(address account, uint256 nonce) external view returns (bool);
    /// What `nonce >> 160` must equal now: the same value as the session module's.
    function nonceSpaceOf(address account, address key) external view returns (uint96);
    /// USDG of premiums and cover fees that the key locked today (UTC). A cancel gives nothing back (rule 21).
    function usageOf(address account, address key) external view returns (uint256 spent);
    function hashAction(CoverAction calldata action) external view returns (bytes32 digest);
}
