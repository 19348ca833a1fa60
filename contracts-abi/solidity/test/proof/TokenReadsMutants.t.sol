// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {TokenReads} from "../../src/libraries/TokenReads.sol";
import {Test} from "../support/Test.sol";
import {TestToken} from "../support/TestToken.sol";

/// Answers whatever it is asked with the same bytes.
contract Parrot {
    bytes private _answer;
    bool private _reverts;

    constructor(bytes memory answer, bool reverts) {
        (_answer, _reverts) = (answer, reverts);
    }

    fallback() external {
        bytes memory answer = _answer;
        bool reverts = _reverts;
        assembly ("memory-safe") {
            if reverts { revert(add(answer, 32), mload(answer)) }
            return(add(answer, 32), mload(answer))
        }
    }
}

contract TokenReadsMutantsTest is Test {
    function balanceOf(address token, address who) external view returns (uint256) {
        return TokenReads.balanceOf(token, who);
    }

    function allowance(address token, address owner, address spender) external view returns (uint256) {
        return TokenReads.allowance(token, owner, spender);
    }

    function test_reads_what_the_token_says() public {
        TestToken token = new TestToken("Token", "TKN", 18);
        token.mint(address(0xbeef), 7);
        token.approve(address(0xbeef), 11);
        assertEq(this.balanceOf(address(token), address(0xbeef)), 7);
        assertEq(this.allowance(address(token), address(this), address(0xbeef)), 11);
    }

    function test_a_word_and_more_are_an_answer_and_less_is_none() public {
        assertEq(this.balanceOf(address(new Parrot(abi.encode(5), false)), address(this)), 5);
        assertEq(this.balanceOf(address(new Parrot(abi.encode(5, 6), false)), address(this)), 5);
        address short = address(new Parrot(new bytes(31), false));
        vm.expectRevert(bytes(""));
        this.balanceOf(short, address(this));
        vm.expectRevert(bytes(""));
        this.allowance(short, address(this), address(this));
        vm.expectRevert(bytes(""));
        this.balanceOf(address(0xdead), address(this)); // no code
    }

    function test_a_refusal_comes_back_as_it_was() public {
        bytes memory why = abi.encodeWithSelector(TestToken.TokenPaused.selector);
        address refusing = address(new Parrot(why, true));
        vm.expectRevert(why);
        this.balanceOf(refusing, address(this));
        vm.expectRevert(why);
        this.allowance(refusing, address(this), address(this));
    }
}
