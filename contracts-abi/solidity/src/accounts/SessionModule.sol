// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {IBasketRegistry} from "../interfaces/IBasketRegistry.sol";
import {IBasketVault} from "../interfaces/IBasketVault.sol";
import {IBasketZapper} from "../interfaces/IBasketZapper.sol";
import {INavOracle} from "../interfaces/INavOracle.sol";
import {ISessionModule} from "../interfaces/ISessionModule.sol";
import {TokenReads} from "../libraries/TokenReads.sol";
import {SafeCalls} from "./SafeCalls.sol";
import {SessionGrants} from "./SessionGrants.sol";
import {SignedActions} from "./SignedActions.sol";
import {TradeBounds} from "./TradeBounds.sol";

/// Executes what a session key signed, inside its grant. What must hold:
/// - a key can only buy and sell registered baskets through the zapper, for the account, near the reference; it
///   cannot withdraw, approve, or touch another token. Stolen, it loses the account at most slippage plus fees
///   within the day's limit;
/// - a nonce runs once, any failure leaves it unused, and the network fee is paid last and exactly (SignedActions).
contract SessionModule is SessionGrants, SignedActions {
    using SafeCalls for address;
    using TokenReads for address;

    /// As in wire.md, "Agent session, trade, cover".
    bytes32 public constant ACTION_TYPEHASH = keccak256(
        "Action(address account,address key,uint8 kind,address vault,uint256 amount,uint256 limit,uint16 slippageBps,bytes data,uint256 nonce,uint48 deadline,uint256 fee)"
    );
    uint8 public constant BUY = 0;
    uint8 public constant SELL = 1;

    IBasketRegistry public immutable registry;
    INavOracle public immutable oracle;
    IBasketZapper public immutable zapper;

    /// `factory_` and `coverModule_` are predicted addresses: see AccountsGenesis.
    constructor(
        address usdg_,
        address registry_,
        address oracle_,
        address zapper_,
        address pause_,
        address factory_,
        address coverModule_
    ) SessionGrants(factory_, coverModule_) SignedActions("basket account", usdg_, pause_) {
        if (registry_.code.length == 0) revert BadTerms("registry");
        if (oracle_.code.length == 0) revert BadTerms("oracle");
        if (zapper_.code.length == 0) revert BadTerms("zapper");
        registry = IBasketRegistry(registry_);
        oracle = INavOracle(oracle_);
        zapper = IBasketZapper(zapper_);
    }

    /// @inheritdoc ISessionModule
    function execute(Action calldata action, bytes calldata signature)
        external
        nonReentrant
        returns (uint256 usd)
    {
        bytes32 digest = hashAction(action);
        _checkSignature(digest, action.key, signature);
        Grant memory given = grantOf(action.account, action.key);
        _checkAction(action, given);
        _spendNonce(action.account, action.key, given.epoch, action.nonce);
        uint256 turnover;
        (usd, turnover) = _trade(action);
        _addUsage(action.account, action.key, turnover, action.fee, given.dailyLimit);
        emit Executed(
            action.account,
            action.key,
            digest,
            action.nonce,
            action.kind,
            action.vault,
            action.amount,
            usd,
            action.fee,
            msg.sender
        );
        _payFee(action.account, action.fee);
    }

    /// @inheritdoc ISessionModule
    function hashAction(Action calldata action) public view returns (bytes32 digest) {
        // Two halves, one hash: every member is static once `data` is hashed.
        bytes memory head = abi.encode(
            ACTION_TYPEHASH,
            action.account,
            action.key,
            action.kind,
            action.vault,
            action.amount,
            action.limit
        );
        bytes memory tail =
            abi.encode(action.slippageBps, keccak256(action.data), action.nonce, action.deadline, action.fee);
        return _hashTypedDataV4(keccak256(bytes.concat(head, tail)));
    }

    /// @inheritdoc ISessionModule
    function nonceUsed(address account, uint256 nonce) external view returns (bool) {
        return _nonceUsed(account, nonce);
    }

    /// @inheritdoc ISessionModule
    function nonceSpaceOf(address account, address key) external view returns (uint96) {
        return _nonceSpace(key, grantOf(account, key).epoch);
    }

    /// Everything that can be refused before the market is read.
    function _checkAction(Action calldata action, Grant memory given) private view {
        if (action.kind > SELL) revert UnknownKind(action.kind);
        _checkGrant(given, action.account, accountPaused(action.account), action.deadline, action.fee);
        if (!registry.isVault(action.vault)) revert UnknownVault(action.vault);
        if (action.slippageBps > given.maxSlippageBps) {
            revert SlippageAboveGrant(action.slippageBps, given.maxSlippageBps);
        }
    }

    /// Runs the trade between two looks at the account. `usd` is what it spent or received, `turnover` what counts
    /// against the day (rule 19).
    function _trade(Action calldata action) private returns (uint256 usd, uint256 turnover) {
        (uint256 nav, uint256 spot) = oracle.navs(action.vault);
        if (!TradeBounds.spotIsNear(spot, nav)) revert SpotTooFar(spot, nav);
        _checkMinimum(action, nav);

        uint256 value = TradeBounds.value(action.amount, nav, Math.Rounding.Ceil);
        (address[] memory tokens, uint256[] memory before) =
            _constituentBalances(action.vault, action.account);
        if (action.kind == BUY) {
            usd = _buy(action, TradeBounds.mostSpent(action.amount, nav, action.slippageBps));
            turnover = Math.max(usd, value);
        } else {
            uint256 gross;
            (usd, gross) = _sell(action, TradeBounds.leastReceived(action.amount, nav, action.slippageBps));
            uint256 spotValue = TradeBounds.value(action.amount, spot, Math.Rounding.Ceil);
            turnover = Math.max(gross, Math.max(value, spotValue));
        }
        for (uint256 i; i < tokens.length; ++i) {
            // USDG has its own exact check; a basket may hold it.
            if (tokens[i] == address(usdg)) continue;
            if (tokens[i].balanceOf(action.account) < before[i]) revert UnexpectedDelta(tokens[i]);
        }
    }

    /// At least $5 at the reference, or the whole position.
    function _checkMinimum(Action calldata action, uint256 nav) private view {
        uint256 value = TradeBounds.value(action.amount, nav, Math.Rounding.Floor);
        if (value >= Constants.MIN_TRADE) return;
        bool wholePosition = action.kind == SELL && action.amount != 0
            && action.amount == action.vault.balanceOf(action.account);
        if (!wholePosition) revert BelowMinimum(value, Constants.MIN_TRADE);
    }

    function _buy(Action calldata action, uint256 bound) private returns (uint256 spent) {
        address account = action.account;
        uint256 most = Math.min(action.limit, bound);
        uint256 usdgBefore = address(usdg).balanceOf(account);
        uint256 sharesBefore = action.vault.balanceOf(account);

        account.approve(address(usdg), address(zapper), most);
        bytes memory result = account.call(address(zapper), _buyCall(action, most), 2);
        account.clearAllowance(address(usdg), address(zapper));

        (uint256 gross, uint256 fee) = abi.decode(result, (uint256, uint256));
        spent = gross + fee;
        if (action.vault.balanceOf(account) != sharesBefore + action.amount) {
            revert UnexpectedDelta(action.vault);
        }
        if (address(usdg).balanceOf(account) + spent != usdgBefore) revert UnexpectedDelta(address(usdg));
        if (spent > most) revert WorseThanReference(spent, most);
    }

    function _sell(Action calldata action, uint256 bound) private returns (uint256 net, uint256 gross) {
        address account = action.account;
        uint256 least = Math.max(action.limit, bound);
        uint256 usdgBefore = address(usdg).balanceOf(account);
        uint256 sharesBefore = action.vault.balanceOf(account);

        account.approve(action.vault, address(zapper), action.amount);
        bytes memory result = account.call(address(zapper), _sellCall(action, least), 3);
        account.clearAllowance(action.vault, address(zapper));

        (net, gross,) = abi.decode(result, (uint256, uint256, uint256));
        if (action.vault.balanceOf(account) + action.amount != sharesBefore) {
            revert UnexpectedDelta(action.vault);
        }
        if (address(usdg).balanceOf(account) != usdgBefore + net) revert UnexpectedDelta(address(usdg));
        if (net < least) revert WorseThanReference(net, least);
    }

    function _buyCall(Action calldata action, uint256 most) private pure returns (bytes memory) {
        return _zapperCall(IBasketZapper.buyExact.selector, action, most);
    }

    function _sellCall(Action calldata action, uint256 least) private pure returns (bytes memory) {
        return _zapperCall(IBasketZapper.sell.selector, action, least);
    }

    /// Both functions of the zapper take (vault, amount, bound, swaps, to, refundTo, deadline). The key's swaps are put
    /// behind these seven words as they came, encoded as the only argument of `data`: the zapper reads every one of
    /// them anyway, and trusts none.
    function _zapperCall(bytes4 selector, Action calldata action, uint256 bound)
        private
        pure
        returns (bytes memory)
    {
        if (action.data.length < 64 || uint256(bytes32(action.data)) != 32) revert BadTerms("data");
        bytes memory head = abi.encodeWithSelector(
            selector,
            action.vault,
            action.amount,
            bound,
            7 * 32, // where the swaps begin
            action.account,
            action.account,
            action.deadline
        );
        return bytes.concat(head, action.data[32:]);
    }

    function _constituentBalances(address vault, address account)
        private
        view
        returns (address[] memory tokens, uint256[] memory balances)
    {
        IBasketVault.Constituent[] memory constituents = IBasketVault(vault).constituents();
        tokens = new address[](constituents.length);
        balances = new uint256[](constituents.length);
        for (uint256 i; i < constituents.length; ++i) {
            tokens[i] = constituents[i].token;
            balances[i] = tokens[i].balanceOf(account);
        }
    }
}
