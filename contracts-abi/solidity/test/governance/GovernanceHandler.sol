// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IBasketRegistry} from "../../src/interfaces/IBasketRegistry.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {IProtocolPause} from "../../src/interfaces/IProtocolPause.sol";
import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {GovernanceBooks} from "./GovernanceBooks.sol";
import {Shell} from "./Shell.sol";

/// Owners who come, go and renounce, guardians, and everybody else: all that can be done to the registry and the pause,
/// by those who may and by those who may not, while holders leave by every door. Nothing here may revert but by a
/// broken rule: the campaign fails on a revert.
contract GovernanceHandler is GovernanceBooks {
    address[4] private _treasuries;
    bytes32[] private _orders;
    address[] private _escrows;
    address[] private _owners;

    /// Not in the constructor: pools call back, and a contract under construction has no code to be called.
    function found() external {
        deployWorld();
        openBooks();
        giveShares(alice, 1_000e18);
        giveShares(bob, 1_000e18);
        heirs = [makeAddr("heir"), makeAddr("second heir"), guardian, alice, address(this)];
        _treasuries = [treasury, makeAddr("new treasury"), makeAddr("blocked treasury"), makeAddr("multisig")];
        usdg.setBlocked(_treasuries[2], true);
    }

    // ---------------------------------------------------------------- the registry

    function appendGenesis(uint256 seed) external {
        IBasketRegistry.Basket memory basket = _basket(seed);
        (bool good, bytes memory why) = _basketRefusal(basket.ticker, basket.vault);
        if (sealed_) (good, why) = (false, abi.encodePacked(IBasketRegistry.AlreadySealed.selector));
        string memory name = sealed_ ? "genesis after the seal" : "genesis";
        bytes memory payload = abi.encodeCall(registry.appendGenesis, (basket));
        if (_asOwner(name, REGISTRY, payload, good, why)) {
            _noteEntry(basket.ticker, basket.vault, keccak256(abi.encode(basket)));
        }
    }

    function seal() external {
        bytes memory why = abi.encodePacked(IBasketRegistry.AlreadySealed.selector);
        if (_asOwner("seal", REGISTRY, abi.encodeCall(registry.seal, ()), !sealed_, why)) sealed_ = true;
    }

    /// Of anything; now and then of a ticker that waits already, whose seven days then start anew.
    function propose(uint256 seed) external {
        IBasketRegistry.Basket memory basket = _basket(seed);
        (bool good, bytes memory why) = _basketRefusal(basket.ticker, basket.vault);
        if (!sealed_) (good, why) = (false, abi.encodePacked(IBasketRegistry.NotSealed.selector));
        bytes32 key = keccak256(bytes(basket.ticker));
        string memory name = proposed[key].since == 0 ? "propose" : "propose again";
        if (_asOwner(name, REGISTRY, abi.encodeCall(registry.propose, (basket)), good, why)) {
            if (proposed[key].since == 0) proposals.push(basket.ticker);
            proposed[key] = Proposed(keccak256(abi.encode(basket)), basket.vault, vm.getBlockTimestamp());
        }
    }

    /// The earliest second at which it may pass is counted from the handler's own clock.
    function append(uint256 seed) external {
        string memory ticker = _aProposal(seed);
        bytes32 key = keccak256(bytes(ticker));
        Proposed memory known = proposed[key];
        uint256 ripe = known.since + 7 days;
        (bool good, bytes memory why) = _basketRefusal(ticker, known.vault);
        string memory name = "append";
        if (known.since == 0) {
            (good, why) = (false, abi.encodePacked(IBasketRegistry.NotProposed.selector));
            name = "append of nothing";
        } else if (vm.getBlockTimestamp() < ripe) {
            (good, why) = (false, abi.encodeWithSelector(IBasketRegistry.TimelockRunning.selector, ripe));
            name = "append before seven days";
        }
        if (_asOwner(name, REGISTRY, abi.encodeCall(registry.append, (ticker)), good, why)) {
            _noteEntry(ticker, known.vault, known.basket);
            delete proposed[key];
        }
    }

    /// A proposed vault shows another face later.
    function turnCoat(uint256 seed) external {
        address waiting = proposed[keccak256(bytes(_aProposal(seed)))].vault;
        if (waiting == address(0)) return;
        Shell(waiting).turn(Shell.Kind((seed >> 64) % 4));
        _happened("proposed vault turns");
    }

    function setTreasury(uint256 seed) external {
        address to = seed % 8 == 0 ? address(0) : _treasuries[(seed >> 8) % 4];
        bytes memory why = abi.encodePacked(IBasketRegistry.ZeroTreasury.selector);
        bytes memory payload = abi.encodeCall(registry.setTreasury, (to));
        if (_asOwner("set the treasury", REGISTRY, payload, to != address(0), why)) feesTo = to;
    }

    // ---------------------------------------------------------------- the pause

    function setGuardian(uint256 seed) external {
        address to = seed % 8 == 0 ? address(0) : heirs[(seed >> 8) % 5];
        if (_asOwner("set the guardian", PAUSE, abi.encodeCall(pause.setGuardian, (to)), true, "")) {
            if (brake != address(0)) formerBrake = brake;
            brake = to;
        }
    }

    function pauseNow() external {
        bytes memory payload = abi.encodeCall(pause.pause, ());
        if (_nobodyBrakes(payload)) return;
        uint256 now_ = vm.getBlockTimestamp();
        if (now_ < pauseEnd) {
            bytes memory running = abi.encodePacked(IProtocolPause.AlreadyPaused.selector);
            return _mustFail("pause under a pause refused", brake, address(pause), payload, running);
        }
        if (pauseEnd != 0 && now_ < pauseEnd + 24 hours) {
            bytes memory cooling =
                abi.encodeWithSelector(IProtocolPause.CoolingDown.selector, pauseEnd + 24 hours);
            return _mustFail("pause within 24 hours refused", brake, address(pause), payload, cooling);
        }
        _mustPass("pause", brake, address(pause), payload);
        (pauseStart, pauseEnd) = (now_, now_ + 7 days);
    }

    function unpause() external {
        bytes memory payload = abi.encodeCall(pause.unpause, ());
        if (_nobodyBrakes(payload)) return;
        if (vm.getBlockTimestamp() < pauseEnd) {
            _mustPass("unpause", brake, address(pause), payload);
            pauseEnd = vm.getBlockTimestamp();
        } else {
            bytes memory idle = abi.encodePacked(IProtocolPause.NotPaused.selector);
            _mustFail("unpause of nothing refused", brake, address(pause), payload, idle);
        }
    }

    /// Where the owner named no guardian, the last one has no brake any more.
    function _nobodyBrakes(bytes memory payload) private returns (bool) {
        if (brake != address(0)) return false;
        bytes memory why = abi.encodePacked(IProtocolPause.NotGuardian.selector);
        _mustFail("former guardian refused", formerBrake, address(pause), payload, why);
        return true;
    }

    // ---------------------------------------------------------------- ownership

    /// To anybody; to nobody takes an offer back. Nothing changes hands by it.
    function transferOwnership(uint256 seat, uint256 seed) external {
        seat = seat % 2;
        address to = seed % 6 == 0 ? address(0) : heirs[(seed >> 8) % 5];
        bytes memory payload = abi.encodeCall(registry.transferOwnership, (to));
        if (_asOwner("offer the ownership", seat, payload, true, "")) seats[seat].next = to;
    }

    function acceptOwnership(uint256 seat, uint256 seed) external {
        seat = seat % 2;
        Seat storage s = seats[seat];
        address who = s.next == address(0) || seed % 3 == 0 ? _anybody(seed >> 8) : s.next;
        bytes memory payload = abi.encodeCall(registry.acceptOwnership, ());
        if (who != s.next) {
            return _mustFail("accept by another refused", who, target(seat), payload, _stranger(who));
        }
        _mustPass("accept the ownership", who, target(seat), payload);
        (s.former, s.owner, s.next) = (s.owner, who, address(0));
    }

    /// Rarely by the owner, since nothing can be done to that contract afterwards, which everything else then shows.
    function renounceOwnership(uint256 seat, uint256 seed) external {
        seat = seat % 2;
        Seat storage s = seats[seat];
        bytes memory payload = abi.encodeCall(registry.renounceOwnership, ());
        if (uint256(keccak256(abi.encode(seed))) % 8 != 0) return _asStranger(seat, seed, payload);
        if (_asOwner("renounce", seat, payload, true, "")) {
            (s.former, s.owner, s.next) = (s.owner, address(0), address(0));
        }
    }

    /// Every function of an owner or a guardian, by anybody else: former and next owners, the guardian, the treasury,
    /// the other contract's owner, holders.
    function trespass(uint256 which, uint256 seed) external {
        which = which % 11;
        if (which < 9) {
            uint256 seat = which < 5 ? REGISTRY : which < 6 ? PAUSE : (seed >> 40) % 2;
            return _asStranger(seat, seed, _ownersCall(which, seed));
        }
        address who = _anybody(seed);
        if (who == brake) who = address(vault);
        bytes memory payload =
            which == 9 ? abi.encodeCall(pause.pause, ()) : abi.encodeCall(pause.unpause, ());
        bytes memory why = abi.encodePacked(IProtocolPause.NotGuardian.selector);
        _mustFail("brake by another refused", who, address(pause), payload, why);
    }

    function _asStranger(uint256 seat, uint256 seed, bytes memory payload) private {
        address who = _anybody(seed);
        if (who == seats[seat].owner) who = address(vault);
        _mustFail("owner's call by another refused", who, target(seat), payload, _stranger(who));
    }

    function _ownersCall(uint256 which, uint256 seed) private returns (bytes memory) {
        if (which == 0) return abi.encodeCall(registry.appendGenesis, (_basket(seed)));
        if (which == 1) return abi.encodeCall(registry.seal, ());
        if (which == 2) return abi.encodeCall(registry.propose, (_basket(seed)));
        if (which == 3) return abi.encodeCall(registry.append, (_aProposal(seed)));
        if (which == 4) return abi.encodeCall(registry.setTreasury, (_anybody(seed)));
        if (which == 5) return abi.encodeCall(pause.setGuardian, (_anybody(seed)));
        if (which == 6) return abi.encodeCall(registry.transferOwnership, (_anybody(seed)));
        if (which == 7) return abi.encodeCall(registry.transferOwnership, (address(0)));
        return abi.encodeCall(registry.renounceOwnership, ());
    }

    // ---------------------------------------------------------------- the doors out, whoever owns

    function redeem(uint256 who, uint256 shares) external {
        _try("redeem");
        address holder = who % 2 == 0 ? alice : bob;
        shares = bound(shares, 1, 5e18);
        uint256 had = vault.balanceOf(holder);
        uint256 alfas = alfa.token.balanceOf(holder);
        uint256[] memory due = vault.previewRedeem(shares);
        vm.prank(holder);
        vault.redeem(shares, holder);
        assertEq(vault.balanceOf(holder), had - shares);
        assertEq(alfa.token.balanceOf(holder), alfas + due[0]);
        _succeed("redeem");
    }

    /// The fee is the treasury's of now, if USDG pays it at all.
    function sell(uint256 who, uint256 shares) external {
        _try("zap sale");
        address holder = who % 2 == 0 ? alice : bob;
        shares = bound(shares, 1e15, 5e18);
        uint256[] memory due = vault.previewRedeem(shares);
        SwapCall[] memory swaps = new SwapCall[](3);
        swaps[0] = exactInput(alfa, due[0]);
        swaps[1] = exactInput(bravo, due[1]);
        swaps[2] = exactInput(charlie, due[2]);
        uint256 paid = usdg.balanceOf(feesTo);
        vm.startPrank(holder);
        vault.approve(address(zapper), shares);
        (, uint256 gross, uint256 fee) =
            zapper.sell(address(vault), shares, 0, swaps, holder, holder, vm.getBlockTimestamp());
        vm.stopPrank();
        assertEq(fee, usdg.blocked(feesTo) ? 0 : zapFee(gross));
        assertEq(usdg.balanceOf(feesTo), paid + fee);
        _succeed("zap sale");
    }

    function placeOrder(uint256 who, uint256 kind) external {
        _try("place an order");
        address holder = who % 2 == 0 ? alice : bob;
        _owners.push(holder);
        if (kind % 3 == 0) {
            _orders.push(createExit(holder, 1e18, 50e18, 0));
            _escrows.push(address(exits));
        } else if (kind % 3 == 1) {
            _orders.push(createLimit(holder, 100e6, 50e18));
            _escrows.push(address(limits));
        } else {
            _orders.push(createSchedule(holder, 100e6, 5));
            _escrows.push(address(schedules));
        }
        _succeed("place an order");
    }

    /// Paused or not, expired or not: all of it comes back.
    function cancelOrder(uint256 which) external {
        if (_orders.length == 0) return;
        _try("cancel an order");
        which = which % _orders.length;
        (address holder, address escrow) = (_owners[which], _escrows[which]);
        uint256 worth = vault.balanceOf(holder) + usdg.balanceOf(holder);
        vm.prank(holder);
        IOrderEscrow(escrow).cancel(_orders[which]);
        uint256 back = escrow == address(exits) ? 1e18 : 100e6;
        assertEq(vault.balanceOf(holder) + usdg.balanceOf(holder), worth + back, "not all came back");
        uint256 last = _orders.length - 1;
        (_orders[which], _owners[which], _escrows[which]) = (_orders[last], _owners[last], _escrows[last]);
        _orders.pop();
        _owners.pop();
        _escrows.pop();
        _succeed("cancel an order");
    }

    /// The management fee is what time has made it, whoever gets it.
    function accrue() external {
        _try("accrue the fee");
        uint256 held = vault.balanceOf(alice) + vault.balanceOf(bob) + vault.balanceOf(address(exits));
        uint256 had = vault.balanceOf(feesTo);
        uint256 feeShares = vault.accrueFee();
        assertEq(vault.balanceOf(feesTo), had + feeShares);
        assertEq(vault.balanceOf(alice) + vault.balanceOf(bob) + vault.balanceOf(address(exits)), held);
        _succeed("accrue the fee");
    }

    // ---------------------------------------------------------------- time

    /// Anywhere, or to a moment when something ends: the second before it, or itself.
    function letTimePass(uint256 seed) external {
        uint256 now_ = vm.getBlockTimestamp();
        uint256 kind = seed % 5;
        uint256 moment;
        if (kind == 0) moment = pauseEnd;
        else if (kind == 1) moment = pauseEnd + 24 hours;
        else if (kind < 4) moment = proposed[keccak256(bytes(_aProposal(seed >> 8)))].since + 7 days;
        if (seed >> 128 & 1 == 0) moment -= moment == 0 ? 0 : 1;
        vm.warp(moment > now_ ? moment : now_ + bound(seed >> 8, 1, 2 days));
        _happened("time passes");
    }
}
