import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as constants from './constants.ts';

const solidity = readFileSync(new URL('./solidity/src/Constants.sol', import.meta.url), 'utf8');

const UNITS: Record<string, bigint> = { minutes: 60n, hours: 3_600n, days: 86_400n };

/** "7 days", "10_000", "1e18" and "250_000" as Solidity reads them. */
function valueOf(literal: string): bigint {
  const [number = '', unit] = literal.replaceAll('_', '').split(' ');
  const [mantissa = '', exponent = '0'] = number.split('e');
  return (
    BigInt(mantissa) * 10n ** BigInt(exponent) * (unit === undefined ? 1n : (UNITS[unit] ?? 0n))
  );
}

const declared = [
  ...solidity.matchAll(/(?:uint256|int24) internal constant (\w+) = ([\w ]+);/g),
].map(([, name = '', literal = '']) => ({ name, value: valueOf(literal) }));

describe('constants', () => {
  it('finds every constant of Constants.sol but the one address', () => {
    const all = [...solidity.matchAll(/\bconstant (\w+)/g)].map(([, name]) => name);
    expect(declared.map(({ name }) => name)).toEqual(all.filter((name) => name !== 'DEAD'));
  });

  it.each(declared)('$name is the same in Solidity and in TypeScript', ({ name, value }) => {
    expect((constants as Record<string, unknown>)[name]).toBe(value);
  });

  it('names nothing that Solidity does not', () => {
    const own = new Set(['CHAIN_ID', 'NAV_SCALE']);
    const names = new Set(declared.map(({ name }) => name));
    expect(Object.keys(constants).filter((name) => !own.has(name) && !names.has(name))).toEqual([]);
  });
});
