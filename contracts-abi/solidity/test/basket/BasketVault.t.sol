// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {TestToken} from "../support/TestToken.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {VaultConfig} from "../../src/basket/VaultConfig.sol";
import {VaultFixture} from "./VaultFixture.sol";
import {Constants} from "../../src/Constants.sol";
import {IBasketVault} from "../../src/interfaces/IBasketVault.sol";

contract BasketVaultTest is VaultFixture {
    uint256 private constant SCALE = 1e45; // RAY x SHARE
    uint256 private constant MOST = 1e30; // shares: a trillion whole ones

    function setUp() public {
        deployVault();
    }

    /// A base unit of a share beyond whole ones costs a base unit of each token.
    function test_theSeedRoundsUpPerToken() public {
        VaultConfig memory config = plainConfig();
        config.seedShares = 1e18 + 1;
        BasketVault founded = foundVault(config);
        for (uint256 i; i < tokens.length; ++i) {
            uint256 units = config.constituents[i].genesisUnits;
            assertEq(tokens[i].balanceOf(address(founded)), units + 1);
        }
    }

    function test_aVaultOfItsLockedShareAloneNeedsNoReceiver() public {
        VaultConfig memory config = plainConfig();
        config.seedShares = 1e18;
        config.seedTo = address(0);
        assertEq(foundVault(config).totalSupply(), 1e18);
    }

    function test_theSeedLocksOneShareForEver() public view {
        assertEq(vault.balanceOf(Constants.DEAD), 1e18);
        assertEq(vault.balanceOf(seedHolder), SEED_SHARES - 1e18);
        assertEq(vault.totalSupply(), SEED_SHARES);
        assertEq(vault.genesisAt(), genesis);
        assertEq(vault.managementFeeBps(), 95);
        assertEq(vault.registry(), address(registry));
        assertEq(vault.constituentCount(), 3);
        assertEq(vault.constituents()[1].token, address(tokens[1]));
        assertEq(vault.tokenDecimals()[1], 8);
        assertEq(vault.decimals(), 18);
    }

    function test_unitsAtGenesisAreTheStatedOnes() public view {
        uint256[] memory units = vault.unitsPerShare();
        for (uint256 i; i < 3; ++i) {
            assertEq(units[i], vault.constituents()[i].genesisUnits);
        }
    }

    function test_mintPullsExactlyThePreviewAndGivesExactlyTheShares() public {
        skip(40 days);
        uint256[] memory preview = vault.previewMint(3.7e18);
        uint256[] memory paid = mintShares(alice, 3.7e18);
        assertEq(paid, preview);
        assertEq(vault.balanceOf(alice), 3.7e18);
        for (uint256 i; i < 3; ++i) {
            assertEq(tokens[i].balanceOf(alice), 0);
        }
    }

    function test_redeemSendsExactlyThePreviewToTheReceiver() public {
        mintShares(alice, 5e18);
        skip(100 days);
        uint256[] memory preview = vault.previewRedeem(5e18);
        vm.prank(alice);
        uint256[] memory amounts = vault.redeem(5e18, bob);
        assertEq(amounts, preview);
        for (uint256 i; i < 3; ++i) {
            assertEq(tokens[i].balanceOf(bob), preview[i]);
        }
        assertEq(vault.balanceOf(alice), 0);
    }

    function testFuzz_amountsRoundAgainstTheCallerByLessThanOneUnit(uint256 shares, uint256 elapsed) public {
        shares = bound(shares, 1, MOST);
        skip(bound(elapsed, 0, 50 * 365 days));
        uint256 index = vault.feeIndex();
        uint256[] memory into = vault.previewMint(shares);
        uint256[] memory out = vault.previewRedeem(shares);
        for (uint256 i; i < 3; ++i) {
            uint256 exact = vault.constituents()[i].genesisUnits * shares; // x index / SCALE, at most 2^228
            (uint256 whole, uint256 rest) = _product(exact, index);
            assertEq(out[i], whole);
            assertEq(into[i], rest == 0 ? whole : whole + 1);
            assertGe(into[i], 1);
        }
    }

    function testFuzz_mintThenRedeemNeverProfitsInAnyToken(uint256 shares, uint256 wait, uint256 hold)
        public
    {
        shares = bound(shares, 1, MOST);
        skip(bound(wait, 0, 3_650 days));
        uint256[] memory paid = mintShares(alice, shares);
        skip(bound(hold, 0, 3_650 days));
        uint256[] memory back = redeemShares(alice, shares);
        for (uint256 i; i < 3; ++i) {
            assertLe(back[i], paid[i]);
        }
        _assertBacked();
    }

    function testFuzz_splittingNeverHelps(uint256 shares, uint256 cut) public {
        shares = bound(shares, 2, MOST);
        cut = bound(cut, 1, shares - 1);
        skip(33 days);
        (uint256[] memory one, uint256[] memory two) =
            (vault.previewMint(cut), vault.previewMint(shares - cut));
        uint256[] memory whole = vault.previewMint(shares);
        for (uint256 i; i < 3; ++i) {
            assertGe(one[i] + two[i], whole[i]);
        }
        (one, two, whole) =
        (vault.previewRedeem(cut), vault.previewRedeem(shares - cut), vault.previewRedeem(shares));
        for (uint256 i; i < 3; ++i) {
            assertLe(one[i] + two[i], whole[i]);
        }
    }

    function testFuzz_donationsChangeNothing(uint256 donation, uint256 shares) public {
        shares = bound(shares, 1, MOST);
        mintShares(alice, shares);
        skip(10 days);
        bytes32 before = _view(shares);
        for (uint256 i; i < 3; ++i) {
            tokens[i].mint(address(vault), bound(donation, 1, 1e40));
        }
        assertEq(_view(shares), before);
        uint256[] memory expected = vault.previewRedeem(shares);
        assertEq(redeemShares(alice, shares), expected);
    }

    function testFuzz_accruingChangesNobodysClaim(uint256 shares, uint256 elapsed) public {
        shares = bound(shares, 1, MOST);
        mintShares(alice, shares);
        skip(bound(elapsed, 1, 3_650 days));
        uint256[] memory before = vault.previewRedeem(shares);
        uint256 supplyBefore = vault.totalSupply();
        vault.accrueFee();
        assertEq(vault.previewRedeem(shares), before);
        // All claims together are what they were at genesis: supply x index is constant.
        uint256 whole = vault.totalSupply() * vault.feeIndex();
        assertLe(whole, supplyBefore * 1e27);
        assertGe(whole + vault.feeIndex(), supplyBefore * 1e27);
        _assertBacked();
    }

    function test_aYearsFeeIsTheStatedShareOfTheBasket() public {
        skip(365 days);
        uint256 feeShares = vault.accrueFee();
        assertApproxEqRel(feeShares * 1e18 / vault.totalSupply(), 0.0095e18, 200);
        assertEq(vault.balanceOf(treasury), feeShares);
    }

    function testFuzz_howOftenTheFeeIsPokedIsIrrelevant(uint256 seed, uint8 pokes) public {
        uint256 start = block.timestamp;
        uint256 state = vm.snapshotState();
        vm.warp(start + 400 days);
        vault.accrueFee();
        uint256 atOnce = vault.balanceOf(treasury);
        vm.revertToStateAndDelete(state);

        uint256 count = uint256(pokes) % 64 + 1;
        for (uint256 i; i < count; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            vm.warp(start + 400 days * i / count + seed % (400 days / count));
            vault.accrueFee();
        }
        vm.warp(start + 400 days);
        vault.accrueFee();
        uint256 inSteps = vault.balanceOf(treasury);
        assertLe(inSteps, atOnce + 1);
        assertGe(inSteps + 2 * count, atOnce);
    }

    function test_pokingEverySecondWithDustSupplyCannotWearTheFeeAway() public {
        for (uint256 i; i < 200; ++i) {
            skip(1);
            vault.accrueFee();
        }
        uint256 inSteps = vault.balanceOf(treasury);
        uint256 exact = SEED_SHARES * 1e27 / vault.feeIndex() - SEED_SHARES;
        assertApproxEqAbs(inSteps, exact, 200);
        assertEq(vault.accrueFee(), 0);
    }

    function test_newcomersPayNoFeeForTheTimeBeforeThem() public {
        skip(365 days);
        uint256 owedBefore = vault.totalSupply() * 1e27 / vault.feeIndex() - vault.totalSupply();
        mintShares(alice, 1_000_000e18);
        assertApproxEqAbs(vault.balanceOf(treasury), owedBefore, 1);
        uint256 feeBefore = vault.balanceOf(treasury);
        vault.accrueFee();
        assertEq(vault.balanceOf(treasury), feeBefore);
        _assertBacked();
    }

    function test_theFeeGoesToTheTreasuryOfTheDay() public {
        skip(1 days);
        vm.prank(owner);
        registry.setTreasury(bob);
        vault.accrueFee();
        assertEq(vault.balanceOf(treasury), 0);
        assertGt(vault.balanceOf(bob), 0);
    }

    function test_refusesZeroSharesAndUselessReceivers() public {
        mintShares(alice, 1e18);
        vm.startPrank(alice);
        vm.expectRevert(IBasketVault.ZeroShares.selector);
        vault.mint(0, alice);
        vm.expectRevert(IBasketVault.ZeroShares.selector);
        vault.redeem(0, alice);
        vm.expectRevert(abi.encodeWithSelector(IBasketVault.InvalidReceiver.selector, address(vault)));
        vault.redeem(1, address(vault));
        vm.expectRevert(abi.encodeWithSelector(IBasketVault.InvalidReceiver.selector, address(0)));
        vault.redeem(1, address(0));
        vm.expectRevert(abi.encodeWithSelector(IBasketVault.InvalidReceiver.selector, address(0)));
        vault.claimOwed(address(tokens[0]), address(0));
        vm.stopPrank();
    }

    function test_nobodyRedeemsWhatTheyDoNotHold() public {
        mintShares(alice, 1e18);
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, bob, 0, 1e18));
        vm.prank(bob);
        vault.redeem(1e18, bob);
    }

    function test_mintRefusesATokenThatDeliversLess() public {
        uint256[] memory amounts = vault.previewMint(1e18);
        for (uint256 i; i < 3; ++i) {
            tokens[i].mint(alice, amounts[i]);
            vm.prank(alice);
            tokens[i].approve(address(vault), amounts[i]);
        }
        bytes memory refusal = abi.encodeWithSelector(IBasketVault.TokenTookFee.selector, address(tokens[2]));
        vm.startPrank(alice);
        tokens[2].setMisbehaviour(TestToken.Misbehaviour.FeeOnTransfer);
        vm.expectRevert(refusal);
        vault.mint(1e18, alice);
        tokens[2].setMisbehaviour(TestToken.Misbehaviour.LiesTrue);
        vm.expectRevert(refusal);
        vault.mint(1e18, alice);
        tokens[2].setMisbehaviour(TestToken.Misbehaviour.ReturnsFalse);
        vm.expectRevert();
        vault.mint(1e18, alice);
        tokens[2].setMisbehaviour(TestToken.Misbehaviour.ReturnsNothing);
        vault.mint(1e18, alice);
        assertEq(vault.balanceOf(alice), 1e18);
        vm.stopPrank();
    }

    function test_sharesMoveByPermit() public {
        (address signer, uint256 key) = makeAddrAndKey("signer");
        mintShares(signer, 1e18);
        uint256 deadline = block.timestamp + 1;
        bytes32 digest = keccak256(
            abi.encodePacked(
                hex"1901",
                vault.DOMAIN_SEPARATOR(),
                keccak256(
                    abi.encode(
                        keccak256(
                            "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
                        ),
                        signer,
                        bob,
                        1e18,
                        0,
                        deadline
                    )
                )
            )
        );
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        vault.permit(signer, bob, 1e18, deadline, v, r, s);
        vm.prank(bob);
        vault.transferFrom(signer, bob, 1e18);
        assertEq(vault.balanceOf(bob), 1e18);
    }

    function _view(uint256 shares) private view returns (bytes32) {
        return keccak256(
            abi.encode(
                vault.unitsPerShare(),
                vault.feeIndex(),
                vault.previewMint(shares),
                vault.previewRedeem(shares),
                vault.totalSupply()
            )
        );
    }

    /// (x * index) / SCALE in 512 bits, by splitting x: the library under test must not check itself.
    function _product(uint256 x, uint256 index) private pure returns (uint256 whole, uint256 rest) {
        uint256 high = x / SCALE;
        uint256 low = x % SCALE; // below 2^150, and the index is below 2^90
        whole = high * index + (low * index) / SCALE;
        rest = (low * index) % SCALE;
    }

    /// Invariant 1: each balance covers units x supply.
    function _assertBacked() private view {
        for (uint256 i; i < 3; ++i) {
            (uint256 whole,) =
                _product(vault.constituents()[i].genesisUnits * vault.totalSupply(), vault.feeIndex());
            assertGe(tokens[i].balanceOf(address(vault)), whole);
        }
    }
}
