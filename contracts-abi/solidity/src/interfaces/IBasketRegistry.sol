// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// The only source of basket addresses. Appends only; after `seal`, through a 7-day timelock (rule 26).
interface IBasketRegistry {
    struct Basket {
        string ticker;
        string name;
        string thesis;
        string group;
        string risk; // "" for ordinary baskets
        string riskNote;
        string rebalance;
        address vault;
        bool ordersEnabled; // set up for automated orders and agent trades
    }

    event BasketProposed(string ticker, address indexed vault, uint48 appendableAt);
    event BasketAppended(string ticker, address indexed vault, uint256 index);
    event TreasuryChanged(address indexed treasury);
    event Sealed();

    error UnknownTicker(string ticker);
    error UnknownVault(address vault);
    error AlreadyRegistered();
    error TimelockRunning(uint48 appendableAt);
    error NotProposed();
    error AlreadySealed();
    error NotSealed();
    error InvalidBasket(string what);
    error ZeroTreasury();

    function basketOf(string calldata ticker) external view returns (Basket memory);
    function basketOfVault(address vault) external view returns (Basket memory);
    function baskets() external view returns (Basket[] memory);
    function basketCount() external view returns (uint256);
    function isVault(address vault) external view returns (bool);
    function ordersEnabled(address vault) external view returns (bool);
    function treasury() external view returns (address);
    /// A proposal still waiting, and when it may be appended; zero when there is none.
    function proposalOf(string calldata ticker) external view returns (Basket memory, uint48 appendableAt);

    /// Owner. Before `seal` appends at once (genesis); afterwards only `propose`, seven days, `append`.
    function appendGenesis(Basket calldata basket) external;
    function seal() external;
    function propose(Basket calldata basket) external;
    function append(string calldata ticker) external;
    function setTreasury(address treasury) external;
}
