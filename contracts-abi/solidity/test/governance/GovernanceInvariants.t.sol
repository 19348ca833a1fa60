// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Test} from "../support/Test.sol";
import {GovernanceHandler} from "./GovernanceHandler.sol";

/// Rule 26 over random lives of the protocol's owners and guardians: the registry only appends, a week after all could
/// see it; a pause lasts seven days at most and never follows another within a day; ownership moves to whom it was
/// offered and to nobody else; what was renounced stays so; and none of it touches a holder or closes a way out.
contract GovernanceInvariantsTest is Test {
    GovernanceHandler private handler;

    function setUp() public {
        handler = new GovernanceHandler();
        handler.found();
        targetContract(address(handler));
        bytes4[] memory selectors = new bytes4[](22);
        selectors[0] = GovernanceHandler.appendGenesis.selector;
        selectors[1] = GovernanceHandler.seal.selector;
        selectors[2] = GovernanceHandler.propose.selector;
        selectors[3] = GovernanceHandler.propose.selector; // twice: most of what follows needs one
        selectors[4] = GovernanceHandler.append.selector;
        selectors[5] = GovernanceHandler.append.selector;
        selectors[6] = GovernanceHandler.turnCoat.selector;
        selectors[7] = GovernanceHandler.setTreasury.selector;
        selectors[8] = GovernanceHandler.setGuardian.selector;
        selectors[9] = GovernanceHandler.pauseNow.selector;
        selectors[10] = GovernanceHandler.unpause.selector;
        selectors[11] = GovernanceHandler.transferOwnership.selector;
        selectors[12] = GovernanceHandler.acceptOwnership.selector;
        selectors[13] = GovernanceHandler.renounceOwnership.selector;
        selectors[14] = GovernanceHandler.trespass.selector;
        selectors[15] = GovernanceHandler.redeem.selector;
        selectors[16] = GovernanceHandler.sell.selector;
        selectors[17] = GovernanceHandler.placeOrder.selector;
        selectors[18] = GovernanceHandler.cancelOrder.selector;
        selectors[19] = GovernanceHandler.accrue.selector;
        selectors[20] = GovernanceHandler.letTimePass.selector;
        selectors[21] = GovernanceHandler.letTimePass.selector;
        targetSelectors(address(handler), selectors);
    }

    function invariant_owners_and_guardians_do_what_they_may_and_no_more() public view {
        handler.assertBooks();
    }

    function afterInvariant() public {
        handler.assertWholeList();
        handler.report(vm, "governance", targetSelectors());
    }

    /// The campaign would hold just as well over actions that never happen: a fixed random sequence does each of them.
    function test_the_random_lives_reach_every_action() public {
        uint256 dice = 0x4663;
        uint256 fresh = vm.snapshotState();
        string[31] memory actions = _actions();
        bool[31] memory reached;
        for (uint256 life; life < 12; life++) {
            for (uint256 i; i < 120; i++) {
                dice = uint256(keccak256(abi.encode(dice)));
                _act(dice % 22, dice >> 8, uint256(keccak256(abi.encode(dice, "again"))));
                handler.assertBooks();
            }
            handler.assertWholeList();
            for (uint256 i; i < actions.length; i++) {
                if (handler.timesDone(actions[i]) != 0) reached[i] = true;
            }
            vm.revertToState(fresh);
        }
        for (uint256 i; i < actions.length; i++) {
            assertTrue(reached[i], actions[i]);
        }
    }

    function _actions() private pure returns (string[31] memory) {
        return [
            "genesis",
            "genesis refused",
            "genesis after the seal refused",
            "seal",
            "seal refused",
            "propose",
            "propose refused",
            "propose again",
            "propose again refused",
            "append",
            "append refused",
            "append of nothing refused",
            "append before seven days refused",
            "set the treasury",
            "set the treasury refused",
            "set the guardian",
            "pause",
            "pause under a pause refused",
            "pause within 24 hours refused",
            "unpause",
            "unpause of nothing refused",
            "former guardian refused",
            "offer the ownership",
            "accept the ownership",
            "accept by another refused",
            "renounce",
            "owner's call after renouncing refused",
            "owner's call by another refused",
            "brake by another refused",
            "zap sale",
            "cancel an order"
        ];
    }

    function _act(uint256 action, uint256 a, uint256 b) private {
        if (action == 0) handler.appendGenesis(a);
        else if (action == 1) handler.seal();
        else if (action < 4) handler.propose(a);
        else if (action < 6) handler.append(a);
        else if (action == 6) handler.turnCoat(a);
        else if (action == 7) handler.setTreasury(a);
        else if (action == 8) handler.setGuardian(a);
        else if (action == 9) handler.pauseNow();
        else if (action == 10) handler.unpause();
        else if (action == 11) handler.transferOwnership(a, b);
        else if (action == 12) handler.acceptOwnership(a, b);
        else if (action == 13) handler.renounceOwnership(a, b);
        else if (action == 14) handler.trespass(a, b);
        else if (action == 15) handler.redeem(a, b);
        else if (action == 16) handler.sell(a, b);
        else if (action == 17) handler.placeOrder(a, b);
        else if (action == 18) handler.cancelOrder(a);
        else if (action == 19) handler.accrue();
        else handler.letTimePass(a);
    }
}
