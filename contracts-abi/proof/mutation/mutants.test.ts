import solc from 'solc';
import { describe, expect, it } from 'vitest';
import { mutate, SWITCH, withGuards, type Node } from './mutants.ts';

const SOURCE = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

library Math {
    enum Rounding { Floor, Ceil }
    function mulDiv(uint256 a, uint256 b, uint256 c) internal pure returns (uint256) { return a * b / c; }
    function mulDiv(uint256 a, uint256 b, uint256 c, Rounding r) internal pure returns (uint256) {
        return a * b / c + (r == Rounding.Ceil ? 1 : 0);
    }
    function min(uint256 a, uint256 b) internal pure returns (uint256) { return a < b ? a : b; }
    function max(uint256 a, uint256 b) internal pure returns (uint256) { return a < b ? b : a; }
}

contract Till {
    error Refused(string why); // „why“: names no byte of one character each
    uint256 public constant LIMIT = uint256(10) / 3;
    address public keeper;

    modifier onlyKeeper() {
        if (msg.sender != keeper) revert Refused("keeper");
        _;
    }

    function share(uint256 a, uint256 b) external pure returns (uint256 out) {
        if (a >= b && b != 0) revert Refused(unicode"“”");
        out = Math.min(Math.mulDiv(a, b - 1, 7), a / b);
        for (uint256 i; i < 3; ++i) out += Math.mulDiv(a, i, b, Math.Rounding.Ceil);
    }

    function twice(uint64 a, bytes memory b) external view returns (uint256 c, bytes memory d) {
        (uint256 e, address f) = (a, msg.sender);
        if (f == keeper) (c, d) = (Math.max(a, e), b);
    }

    function empty(uint256 a) external onlyKeeper returns (bool small) {
        assembly { small := lt(a, 7) }
        if (small) keeper = address(0);
        else revert Refused("large");
    }
}
`;

type Output = {
  errors?: { severity: string; formattedMessage: string }[];
  sources: Record<string, { ast: Node }>;
};

function compile(sources: Record<string, string>): Output {
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(
      Object.entries(sources).map(([name, content]) => [name, { content }]),
    ),
    settings: { outputSelection: { '*': { '': ['ast'], '*': ['evm.bytecode.object'] } } },
  };
  return JSON.parse(solc.compile(JSON.stringify(input))) as Output;
}

const result = mutate(
  'src/till/Till.sol',
  Buffer.from(SOURCE),
  compile({ 'src/till/Till.sol': SOURCE }).sources['src/till/Till.sol']?.ast as Node,
  1,
);
const mutated = Buffer.from(withGuards(result.text, result.guards), 'latin1').toString('utf8');

describe('mutants', () => {
  it('break each check, comparison, rounding direction, off-by-one, value of a pair and guard once', () => {
    const names = result.mutants.map(({ name }) => name).filter((name) => name.startsWith('Till'));
    expect(names).toEqual([
      'Till.onlyKeeper: msg.sender != keeper → ==',
      'Till.onlyKeeper: revert Refused("keeper") → left out',
      'Till.share: a >= b → >',
      'Till.share: b != 0 → ==',
      'Till.share: revert Refused(unicode"“”") → left out',
      'Till.share: Math.min(Math.mulDiv(a, b - 1, 7), a / b) → Math.max',
      'Till.share: Math.min(Math.mulDiv(a, b - 1, 7), a / b) → the first alone',
      'Till.share: Math.min(Math.mulDiv(a, b - 1, 7), a / b) → the second alone',
      'Till.share: Math.mulDiv(a, b - 1, 7) → rounded up',
      'Till.share: b - 1 → without the 1',
      'Till.share: a / b → rounded up',
      'Till.share: Math.Rounding.Ceil → Floor',
      'Till.share: i < 3 → <=',
      'Till.twice: (a, msg.sender): a → 0',
      'Till.twice: (a, msg.sender): msg.sender → 0',
      'Till.twice: f == keeper → !=',
      'Till.twice: (Math.max(a, e), b): Math.max(a, e) → 0',
      'Till.twice: (Math.max(a, e), b): b → 0',
      'Till.twice: Math.max(a, e) → Math.min',
      'Till.twice: Math.max(a, e) → the first alone',
      'Till.twice: Math.max(a, e) → the second alone',
      'Till.empty: lt(a, 7) → or equal',
      'Till.empty: revert Refused("large") → left out',
      'Till.empty: onlyKeeper → left out',
    ]);
  });

  it('have distinct names and numbers in a row', () => {
    expect(new Set(result.mutants.map(({ name }) => name)).size).toBe(result.mutants.length);
    expect(result.mutants.map(({ id }) => id)).toEqual(result.mutants.map((_mutant, i) => i + 1));
  });

  it('all compile in one build, and leave the text between them as it was', () => {
    const { errors = [] } = compile({ 'src/till/Till.sol': mutated, 'src/Mutants.sol': SWITCH });
    expect(errors.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(mutated).toContain(
      'error Refused(string why); // „why“: names no byte of one character each',
    );
    expect(mutated).toContain('LIMIT = uint256(10) / 3;');
    expect(mutated).toMatch(/function empty\(uint256 a\) external onlyKeeperUnless\d+ returns/);
  });
});
