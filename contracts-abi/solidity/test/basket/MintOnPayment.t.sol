// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {BasketZapper} from "../../src/basket/BasketZapper.sol";
import {IBasketVault, IMintPayer} from "../../src/interfaces/IBasketVault.sol";
import {ProtocolFixture} from "../support/ProtocolFixture.sol";
import {TestToken} from "../support/TestToken.sol";

/// Mints by asking, and pays what it is told to: all of it, a base unit too little of one token, or after a call back.
contract Payer is IMintPayer {
    BasketVault private immutable _vault;
    uint256 public short; // index of the token to be short of, plus one
    bytes public callBack;
    bool public callBackSucceeded;
    bytes public callBackResult;

    constructor(BasketVault vault) {
        _vault = vault;
    }

    function setShort(uint256 indexPlusOne) external {
        short = indexPlusOne;
    }

    function setCallBack(bytes calldata payload) external {
        callBack = payload;
    }

    function mint(uint256 shares, address to) external returns (uint256[] memory) {
        return _vault.mintOnPayment(shares, to);
    }

    function payForMint(address[] calldata tokens, uint256[] calldata amounts) external {
        if (callBack.length != 0) (callBackSucceeded, callBackResult) = address(_vault).call(callBack);
        for (uint256 i; i < amounts.length; ++i) {
            TestToken(tokens[i]).transfer(msg.sender, short == i + 1 ? amounts[i] - 1 : amounts[i]);
        }
    }
}

contract MintOnPaymentTest is ProtocolFixture {
    address private constant BOB = address(0xb0b);

    Payer private payer;

    function setUp() public {
        deployProtocol();
        payer = new Payer(tech);
    }

    /// To the base unit what `mint` pulls: rounded up, after the fee's accrual.
    function testFuzz_asksForWhatMintWouldPull(uint256 shares, uint32 later) public {
        shares = bound(shares, 1, 1_000_000e18);
        skip(later);
        uint256[] memory amounts = _fund(shares);
        uint256 state = vm.snapshotState();
        assertEq(payer.mint(shares, BOB), amounts);
        assertEq(tech.balanceOf(BOB), shares);
        for (uint256 i; i < amounts.length; ++i) {
            assertEq(TestToken(tech.constituents()[i].token).balanceOf(address(payer)), 0);
        }
        uint256 supply = tech.totalSupply();
        vm.revertToState(state);
        giveShares(tech, BOB, shares);
        assertEq(tech.totalSupply(), supply);
    }

    function test_aBaseUnitTooLittleOfAnyTokenMintsNothing() public {
        for (uint256 i; i < 3; ++i) {
            _fund(1e18);
            payer.setShort(i + 1);
            address token = tech.constituents()[i].token;
            vm.expectRevert(abi.encodeWithSelector(IBasketVault.TokenTookFee.selector, token));
            payer.mint(1e18, BOB);
        }
        assertEq(tech.balanceOf(BOB), 0);
    }

    function test_aTokenThatKeepsAPartMintsNothing() public {
        _fund(1e18);
        bravo.token.setMisbehaviourFor(TestToken.Misbehaviour.FeeOnTransfer, address(tech));
        vm.expectRevert(abi.encodeWithSelector(IBasketVault.TokenTookFee.selector, address(bravo.token)));
        payer.mint(1e18, BOB);
    }

    function test_zeroSharesAreRefused() public {
        vm.expectRevert(IBasketVault.ZeroShares.selector);
        payer.mint(0, BOB);
    }

    /// Constituents that a nested mint brought in, or a redemption took out, would be counted twice.
    function test_nothingOfTheVaultRunsWhileItWaitsForPayment() public {
        bytes[5] memory attempts = [
            abi.encodeCall(tech.mint, (1e18, BOB)),
            abi.encodeCall(tech.mintOnPayment, (1e18, BOB)),
            abi.encodeCall(tech.redeem, (1e18, BOB)),
            abi.encodeCall(tech.claimOwed, (address(alfa.token), BOB)),
            abi.encodeCall(tech.accrueFee, ())
        ];
        giveShares(tech, address(payer), 5e18);
        for (uint256 i; i < attempts.length; ++i) {
            _fund(1e18);
            payer.setCallBack(attempts[i]);
            payer.mint(1e18, BOB);
            assertFalse(payer.callBackSucceeded());
            assertEq(
                payer.callBackResult(),
                abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector)
            );
        }
        assertEq(tech.balanceOf(BOB), 5e18);
    }

    /// Whatever somebody left in the zapper stays there: no one but the vault of a purchase under way is paid.
    function test_theZapperPaysNobodyElse() public {
        alfa.token.mint(address(zapper), 5e18);
        address[] memory tokens = new address[](1);
        uint256[] memory amounts = new uint256[](1);
        (tokens[0], amounts[0]) = (address(alfa.token), 5e18);
        address[3] memory askers = [BOB, address(tech), address(this)];
        for (uint256 i; i < askers.length; ++i) {
            vm.prank(askers[i]);
            vm.expectRevert(BasketZapper.NotMinting.selector);
            zapper.payForMint(tokens, amounts);
        }
        assertEq(alfa.token.balanceOf(address(zapper)), 5e18);
    }

    function _fund(uint256 shares) private returns (uint256[] memory amounts) {
        amounts = tech.previewMint(shares);
        for (uint256 i; i < amounts.length; ++i) {
            TestToken(tech.constituents()[i].token).mint(address(payer), amounts[i]);
        }
    }
}
