// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Delegated session keys. EIP-712 domain {name "basket account", version "1", chainId, verifyingContract = this}.
interface ISessionModule {
    /// kind 0 buy: `amount` shares to mint, `limit` most USDG all-in. kind 1 sell: `amount` shares, `limit` least USDG net.
    /// `data` = abi.encode(SwapCall[]).
    struct Action {
        address account;
        address key;
        uint8 kind;
        address vault;
        uint256 amount;
        uint256 limit;
        uint16 slippageBps;
        bytes data;
        uint256 nonce;
        uint48 deadline;
        uint256 fee;
    }

    struct GrantTerms {
        address key;
        uint48 validUntil;
        uint16 maxSlippageBps;
        bool coverEnabled;
        uint128 dailyLimit;
        uint128 coverDailyLimit;
    }

    struct Grant {
        address owner; // the owner that granted; must still own the Safe (rule 15)
        uint48 validUntil;
        uint16 maxSlippageBps;
        bool coverEnabled;
        bool active; // false once revoked
        uint32 epoch; // raised by every grant and revoke of the key
        uint128 dailyLimit;
        uint128 coverDailyLimit;
    }

    event Granted(
        address indexed account, address indexed key, address indexed owner, uint32 epoch, GrantTerms terms
    );
    event Revoked(address indexed account, address indexed key, uint32 epoch);
    event AccountPaused(address indexed account, bool paused);
    /// usdg: all-in USDG spent (buy) or net received (sell), the network fee apart.
    event Executed(
        address indexed account,
        address indexed key,
        bytes32 indexed digest,
        uint256 nonce,
        uint8 kind,
        address vault,
        uint256 shares,
        uint256 usdg,
        uint256 fee,
        address relayer
    );

    error BadSignature();
    error GrantInactive();
    error GrantExpired(uint48 validUntil);
    error OwnerChanged();
    error WrongNonceSpace(uint96 expected);
    error NonceUsed(uint256 nonce);
    error DeadlinePast(uint48 deadline);
    error DeadlineTooFar(uint48 deadline);
    error UnknownKind(uint8 kind);
    error UnknownVault(address vault);
    error SlippageAboveGrant(uint16 slippageBps, uint16 maxSlippageBps);
    error FeeTooHigh(uint256 fee, uint256 maximum);
    error DailyFeesExceeded(uint256 fees, uint256 maximum);
    error DailyLimitExceeded(uint256 turnover, uint256 dailyLimit);
    error BelowMinimum(uint256 value, uint256 minimum);
    error SpotTooFar(uint256 spot, uint256 referenceNav);
    error WorseThanReference(uint256 got, uint256 bound);
    error UnexpectedDelta(address token);
    error ModuleCallFailed(bytes reason);
    error NotAccount();
    error NotCoverModule();
    error NotOwner();
    error Paused();
    error GrantExists();
    error BadTerms(string what);

    function execute(Action calldata action, bytes calldata signature) external returns (uint256 usdg);

    /// Sender = the account. Granting a key again raises its epoch and does not reset today's turnover (rule 19).
    function grant(GrantTerms calldata terms) external;
    function revoke(address key) external;
    function setPaused(bool paused) external;
    /// Sender = the factory, first grant only; checks sole owner `owner` and threshold 1 (rule 15).
    function firstGrant(address account, address owner, GrantTerms calldata terms) external;

    function grantOf(address account, address key) external view returns (Grant memory);
    /// USDG of today's (UTC) turnover and network fees of the key.
    function usageOf(address account, address key) external view returns (uint256 turnover, uint256 fees);
    function accountPaused(address account) external view returns (bool);
    function nonceUsed(address account, uint256 nonce) external view returns (bool);
    /// uint96(uint256(keccak256(abi.encode(key, epoch)))): what `nonce >> 160` must equal now (rule 18).
    function nonceSpaceOf(address account, address key) external view returns (uint96);
    function hashAction(Action calldata action) external view returns (bytes32 digest);
    /// The cover module, which counts its network fees here: one daily cap for the key, whichever module pays.
    function coverModule() external view returns (address);
    /// Sender = the cover module. Adds to today's fees of the key; reverts DailyFeesExceeded (rule 20).
    function countFee(address account, address key, uint256 fee) external;
    /// min($20, max($1, 20% of dailyLimit)) (rule 20).
    function dailyFeeCapOf(uint256 dailyLimit) external pure returns (uint256);
}
