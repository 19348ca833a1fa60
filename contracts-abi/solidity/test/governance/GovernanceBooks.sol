// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IBasketRegistry} from "../../src/interfaces/IBasketRegistry.sol";
import {IProtocolPause} from "../../src/interfaces/IProtocolPause.sol";
import {OrderFixture} from "../orders/OrderFixture.sol";
import {HandlerStats} from "../support/HandlerStats.sol";
import {Shell} from "./Shell.sol";

/// What the registry and the pause must be after all that was done to them, kept apart from their code; the one way of
/// calling them, by which nobody's holding may change; and the baskets and people that the dice choose from.
abstract contract GovernanceBooks is OrderFixture, HandlerStats {
    uint256 internal constant REGISTRY = 0;
    uint256 internal constant PAUSE = 1;
    uint256 private constant GAS = 5_000_000; // a basket that eats its gas leaves the handler some

    struct Seat {
        address owner; // zero once renounced
        address next;
        address former; // the last one who was replaced, or who renounced
    }

    struct Proposed {
        bytes32 basket;
        address vault;
        uint256 since; // zero when there is none
    }

    Seat[2] internal seats;
    bool internal sealed_;
    bytes32[] internal entries; // what each place of the list must hold, for ever
    string[] internal tickers; // of the entries
    address[] internal vaults;
    string[] internal proposals; // tickers that were ever proposed
    mapping(bytes32 ticker => Proposed) internal proposed;
    mapping(bytes32 ticker => bool) internal listedTicker;
    mapping(address vault => bool) internal listedVault;
    address internal feesTo;
    address internal brake; // the guardian
    address internal formerBrake;
    uint256 internal pauseStart;
    uint256 internal pauseEnd; // zero before the first
    address[5] internal heirs;
    Shell[] private _shells;
    uint256 private _calls;

    function openBooks() internal {
        seats[REGISTRY].owner = seats[PAUSE].owner = protocolOwner;
        (feesTo, brake) = (treasury, guardian);
        IBasketRegistry.Basket[] memory genesis = registry.baskets();
        for (uint256 i; i < genesis.length; i++) {
            _noteEntry(genesis[i].ticker, genesis[i].vault, keccak256(abi.encode(genesis[i])));
        }
    }

    function _noteEntry(string memory ticker, address basketVault, bytes32 basket) internal {
        entries.push(basket);
        tickers.push(ticker);
        vaults.push(basketVault);
        listedTicker[keccak256(bytes(ticker))] = true;
        listedVault[basketVault] = true;
    }

    // ---------------------------------------------------------------- calls

    function target(uint256 seat) internal view returns (address) {
        return seat == REGISTRY ? address(registry) : address(pause);
    }

    /// Sends, and finds every holding as it was.
    function _send(address who, address to, bytes memory payload)
        internal
        returns (bool ok, bytes memory result)
    {
        _calls++;
        bytes32 before = _holdings();
        vm.prank(who);
        (ok, result) = to.call{gas: GAS}(payload);
        assertEq(_holdings(), before, "a power of the protocol's moved somebody's money");
    }

    function _mustPass(string memory name, address who, address to, bytes memory payload) internal {
        _try(name);
        (bool ok,) = _send(who, to, payload);
        assertTrue(ok, name);
        _succeed(name);
    }

    function _mustFail(string memory name, address who, address to, bytes memory payload, bytes memory why)
        internal
    {
        _try(name);
        (bool ok, bytes memory result) = _send(who, to, payload);
        assertFalse(ok, name);
        assertEq(result, why);
        _succeed(name);
    }

    /// As the owner of the seat: passes when there is no reason `why` not to. Once the seat is renounced, nobody can.
    function _asOwner(string memory name, uint256 seat, bytes memory payload, bool good, bytes memory why)
        internal
        returns (bool)
    {
        Seat memory s = seats[seat];
        if (s.owner == address(0)) {
            _mustFail(
                "owner's call after renouncing refused", s.former, target(seat), payload, _stranger(s.former)
            );
            return false;
        }
        if (good) _mustPass(name, s.owner, target(seat), payload);
        else _mustFail(string.concat(name, " refused"), s.owner, target(seat), payload, why);
        return good;
    }

    /// The registry's refusal of a basket; good when there is none.
    function _basketRefusal(string memory ticker, address basketVault)
        internal
        view
        returns (bool good, bytes memory why)
    {
        if (bytes(ticker).length == 0) {
            return (false, abi.encodeWithSelector(IBasketRegistry.InvalidBasket.selector, "ticker"));
        }
        if (listedTicker[keccak256(bytes(ticker))] || listedVault[basketVault]) {
            return (false, abi.encodePacked(IBasketRegistry.AlreadyRegistered.selector));
        }
        bytes memory foreign = abi.encodeWithSelector(IBasketRegistry.InvalidBasket.selector, "vault");
        if (basketVault.code.length == 0) return (false, foreign);
        Shell.Kind kind = Shell(basketVault).kind();
        if (kind == Shell.Kind.Foreign) return (false, foreign);
        if (kind == Shell.Kind.Reverts) return (false, abi.encodePacked(Shell.NotTelling.selector));
        return (kind != Shell.Kind.Writes, "");
    }

    function _stranger(address who) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, who);
    }

    // ---------------------------------------------------------------- what must hold

    /// All that people hold in and around the basket, and what backs it.
    function _holdings() private view returns (bytes32) {
        address[6] memory holders = [alice, bob, address(exits), address(limits), address(schedules), feesTo];
        uint256[16] memory held;
        for (uint256 i; i < holders.length; i++) {
            held[2 * i] = vault.balanceOf(holders[i]);
            held[2 * i + 1] = usdg.balanceOf(holders[i]);
        }
        held[12] = vault.totalSupply();
        held[13] = alfa.token.balanceOf(address(vault));
        held[14] = bravo.token.balanceOf(address(vault));
        held[15] = charlie.token.balanceOf(address(vault));
        return keccak256(abi.encode(held));
    }

    /// After every call; of the list one entry at a time.
    function assertBooks() external view {
        assertEq(registry.owner(), seats[REGISTRY].owner, "owner of the registry");
        assertEq(registry.pendingOwner(), seats[REGISTRY].next, "next owner of the registry");
        assertEq(pause.owner(), seats[PAUSE].owner, "owner of the pause");
        assertEq(pause.pendingOwner(), seats[PAUSE].next, "next owner of the pause");
        assertEq(registry.isSealed(), sealed_, "sealed");
        assertEq(registry.treasury(), feesTo, "treasury");
        assertEq(pause.guardian(), brake, "guardian");
        assertEq(pause.paused(), vm.getBlockTimestamp() < pauseEnd, "paused");
        assertLe(uint256(pause.pausedUntil()), pauseStart + 7 days, "paused for more than seven days");
        assertEq(registry.basketCount(), entries.length, "the list is not what was appended");
        _assertEntry(_calls % entries.length);
        if (proposals.length == 0) return;
        string memory ticker = proposals[_calls % proposals.length];
        Proposed memory known = proposed[keccak256(bytes(ticker))];
        (IBasketRegistry.Basket memory waiting, uint48 appendableAt) = registry.proposalOf(ticker);
        assertEq(uint256(appendableAt), known.since == 0 ? 0 : known.since + 7 days, "timelock");
        if (known.since != 0) assertEq(keccak256(abi.encode(waiting)), known.basket, "another proposal");
    }

    function assertWholeList() external view {
        IBasketRegistry.Basket[] memory list = registry.baskets();
        assertEq(list.length, entries.length, "the list is not what was appended");
        for (uint256 i; i < list.length; i++) {
            assertEq(keccak256(abi.encode(list[i])), entries[i], "an entry changed");
            _assertEntry(i);
        }
    }

    function _assertEntry(uint256 i) private view {
        assertEq(keccak256(abi.encode(registry.basketOf(tickers[i]))), entries[i], "an entry changed");
        assertEq(keccak256(abi.encode(registry.basketOfVault(vaults[i]))), entries[i], "an entry changed");
        assertTrue(registry.isVault(vaults[i]), "a vault went");
    }

    // ---------------------------------------------------------------- dice

    function _basket(uint256 seed) internal returns (IBasketRegistry.Basket memory basket) {
        seed = uint256(keccak256(abi.encode(seed)));
        basket.ticker = seed % 16 == 0 ? "" : seed % 16 == 1 ? "TECH" : _ticker(seed >> 8);
        basket.name = vm.toString(seed >> 128);
        basket.thesis = "a thesis longer than thirty-one bytes, which takes a slot of its own";
        basket.group = "hostile";
        basket.riskNote = seed & 1 << 40 == 0 ? "" : "worthless";
        basket.ordersEnabled = seed & 1 << 41 == 0;
        basket.vault = _vault(seed >> 48);
    }

    function _ticker(uint256 seed) private pure returns (string memory) {
        return string.concat("T", vm.toString(seed % 40));
    }

    /// Mostly code that belongs to the registry; else a stranger, a wallet, or what was used before.
    function _vault(uint256 seed) private returns (address) {
        uint256 kind = seed % 16;
        if (kind == 0) return address(uint160(seed));
        if (kind == 1) return vaults[(seed >> 8) % vaults.length];
        if (kind < 6 && _shells.length != 0) return address(_shells[(seed >> 8) % _shells.length]);
        Shell shell = new Shell(address(registry), Shell.Kind(kind < 9 ? kind % 4 : 0));
        _shells.push(shell);
        return address(shell);
    }

    function _aProposal(uint256 seed) internal view returns (string memory) {
        if (proposals.length == 0 || seed % 16 == 0) return _ticker(seed >> 8);
        return proposals[(seed >> 8) % proposals.length];
    }

    function _anybody(uint256 seed) internal view returns (address) {
        uint256 kind = (seed >> 16) % 10;
        if (kind < 5) return heirs[kind];
        if (kind == 5) return feesTo;
        if (kind == 6) return bob;
        if (kind == 7) return seats[REGISTRY].owner == address(0) ? bob : seats[REGISTRY].owner;
        if (kind == 8) return seats[PAUSE].owner == address(0) ? bob : seats[PAUSE].owner;
        return seats[(seed >> 32) % 2].former == address(0) ? keeper : seats[(seed >> 32) % 2].former;
    }
}
