import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = readFileSync(new URL('./README.md', import.meta.url), 'utf8');
const solidity = readFileSync(new URL('./solidity/src/Constants.sol', import.meta.url), 'utf8');

describe('the roles page', () => {
  it('lists every constant of the contracts with its value and a source, and no other', () => {
    const declared = [
      ...solidity.matchAll(/^ {4}(?:uint256|int24|address) internal constant (\w+) = ([\w ]+);/gm),
    ].map(([, name, value]) => `${name} = ${value}`);
    const rows = [...page.matchAll(/^\| `([A-Z_\d]+)` +\| `([\w ]+)` +\| (.+?) +\|$/gm)];
    expect(declared.length).toBeGreaterThan(50);
    expect(rows.map(([, name, value]) => `${name} = ${value}`)).toEqual(declared);
    for (const [, name, , source] of rows) {
      expect(`${name}: ${source}`).toMatch(
        /interface\.md \d+|protocol\.md|wire\.md|rule|ours|scale|basis/,
      );
    }
  });
});
