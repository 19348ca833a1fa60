// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// What the accounts use of Safe 1.4.1. Source: Safe.sol and its bases in npm's safe-contracts.
interface ISafe {
    function setup(
        address[] calldata owners,
        uint256 threshold,
        address to,
        bytes calldata data,
        address fallbackHandler,
        address paymentToken,
        uint256 payment,
        address payable paymentReceiver
    ) external;
    function enableModule(address module) external;
    function isModuleEnabled(address module) external view returns (bool);
    function isOwner(address owner) external view returns (bool);
    function getOwners() external view returns (address[] memory);
    function getThreshold() external view returns (uint256);
    /// `operation` 0 is CALL, 1 is DELEGATECALL. Returns false where the inner call reverts.
    function execTransactionFromModuleReturnData(
        address to,
        uint256 value,
        bytes calldata data,
        uint8 operation
    ) external returns (bool success, bytes memory returnData);
}

/// Source: proxies/SafeProxyFactory.sol and proxies/SafeProxy.sol of the same package.
interface ISafeProxyFactory {
    function createProxyWithNonce(address singleton, bytes calldata initializer, uint256 saltNonce)
        external
        returns (address proxy);
    function proxyCreationCode() external pure returns (bytes memory);
}

interface ISafeProxy {
    /// Answered by the proxy itself: the singleton that it delegates to.
    function masterCopy() external view returns (address);
}
