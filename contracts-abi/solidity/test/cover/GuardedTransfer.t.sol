// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {GuardedTransfer} from "../../src/libraries/GuardedTransfer.sol";
import {Test} from "../support/Test.sol";
import {TestToken} from "../support/TestToken.sol";

/// Answers a transfer with bytes of the test's choice, after burning gas of the test's choice.
contract OddToken {
    uint256 private _burns;
    bytes private _answer;

    function set(uint256 burns, bytes calldata answer) external {
        (_burns, _answer) = (burns, answer);
    }

    function transfer(address, uint256) external returns (bool) {
        uint256 start = gasleft();
        uint256 burns = _burns;
        bytes memory answer = _answer;
        while (start - gasleft() < burns) {}
        assembly ("memory-safe") {
            return(add(answer, 32), mload(answer))
        }
    }
}

contract GuardedTransferTest is Test {
    OddToken private odd = new OddToken();
    address private to = makeAddr("to");

    /// Its own frame, so that what is left of the gas can be chosen.
    function send(address token) external returns (bool) {
        return GuardedTransfer.tryTransfer(token, to, 7);
    }

    function test_a_token_delivers_by_true_or_by_silence() public {
        TestToken token = new TestToken("Token", "TKN", 6);
        token.mint(address(this), 14);
        assertTrue(this.send(address(token)));
        token.setMisbehaviour(TestToken.Misbehaviour.ReturnsNothing);
        assertTrue(this.send(address(token)));
        assertEq(token.balanceOf(to), 14);
        assertFalse(this.send(address(token))); // nothing left to send
    }

    function test_only_a_whole_word_of_one_is_true() public {
        assertTrue(_answered(abi.encode(uint256(1))));
        assertTrue(_answered(abi.encode(uint256(1), uint256(0)))); // what follows is nobody's business
        assertTrue(_answered(""));
        assertFalse(_answered(abi.encode(uint256(0))));
        assertFalse(_answered(abi.encode(uint256(2))));
        assertFalse(_answered(abi.encode(type(uint256).max)));
        bytes memory word = abi.encode(uint256(1));
        assembly ("memory-safe") {
            mstore(word, 31)
        }
        assertFalse(_answered(word));
        assertFalse(_answered(hex"01"));
    }

    function test_an_address_without_code_delivers_nothing() public {
        assertFalse(this.send(makeAddr("nobody")));
    }

    function test_a_flood_of_data_is_not_copied() public {
        TestToken token = new TestToken("Token", "TKN", 6);
        token.mint(address(this), 7);
        token.setBlobSize(20_000);
        token.setMisbehaviour(TestToken.Misbehaviour.RevertsBlob);
        assertFalse(this.send(address(token)));
        token.setMisbehaviour(TestToken.Misbehaviour.ReturnsBlob);
        uint256 before = gasleft();
        assertTrue(this.send(address(token)));
        assertLt(before - gasleft(), 100_000);
    }

    function test_no_token_takes_more_than_its_share_of_gas() public {
        odd.set(type(uint256).max, "");
        uint256 before = gasleft();
        assertFalse(this.send(address(odd)));
        assertLt(before - gasleft(), 420_000);
    }

    /// A token that needs nearly all of its gas: with whatever is left, either it gets it or everything reverts.
    function testFuzz_too_little_gas_reverts_and_never_passes_for_a_refusal(uint256 gas_) public {
        odd.set(385_000, abi.encode(uint256(1)));
        gas_ = gas_ % 4 == 0 ? bound(gas_, 20_000, 600_000) : bound(gas_, 395_000, 440_000);
        try this.send{gas: gas_}(address(odd)) returns (bool delivered) {
            assertTrue(delivered, "starved, and called a refusal");
        } catch {
            assertLt(gas_, 430_000, "enough was not enough");
        }
    }

    function test_too_little_gas_has_a_name() public {
        vm.expectRevert(GuardedTransfer.NotEnoughGas.selector);
        this.send{gas: 400_000}(address(odd));
    }

    function _answered(bytes memory answer) private returns (bool) {
        odd.set(0, answer);
        return this.send(address(odd));
    }
}
