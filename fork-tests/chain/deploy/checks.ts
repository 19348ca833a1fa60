/** Reading a chain back against what is expected: every difference is collected, so that one run shows them all. */
import { type Abi, type Address, isAddressEqual } from 'viem';
import type { ReadClient } from '../client.ts';
import { isNoAnswer } from './settle.ts';

/** `expected` is a value that what is read must equal, or a Rule that it must satisfy; or a promise of one. */
export type Check = {
  what: string;
  actual: Promise<unknown>;
  expected: unknown;
};

/** Marks an expectation that is a rule, not a value: "at least 5". */
export class Rule {
  readonly text: string;
  readonly holds: (value: unknown) => boolean;
  constructor(text: string, holds: (value: unknown) => boolean) {
    this.text = text;
    this.holds = holds;
  }
}

export const atLeast = (least: bigint): Rule =>
  new Rule(`at least ${least}`, (value) => typeof value === 'bigint' && value >= least);

export function oneOf(...values: readonly unknown[]): Rule {
  return new Rule(values.map(show).join(' or '), (value) =>
    values.some((candidate) => same(value, candidate)),
  );
}

/** One view function's answer. */
export type Read = (
  address: Address,
  abi: Abi,
  functionName: string,
  args?: readonly unknown[],
) => Promise<unknown>;

/** A reader, at most so many calls at once: public endpoints refuse more than about twenty. */
export function reader(client: ReadClient, atOnce = 12): Read {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return async (address, abi, functionName, args = []) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      return await client.readContract<Abi, string, readonly unknown[]>({
        address,
        abi,
        functionName,
        args,
      });
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/** Views that return one address each and that many contracts have under these names. */
export function addressViews(...names: readonly string[]): Abi {
  return names.map((name) => ({
    type: 'function',
    name,
    stateMutability: 'view',
    inputs: [],
    outputs: [{ type: 'address' }],
  }));
}

/** Thrown with one line per difference. */
export class DifferenceError extends Error {
  constructor(subject: string, differences: readonly string[]) {
    super(`the ${subject} on chain differ:\n  ${differences.join('\n  ')}`);
    this.name = 'DifferenceError';
  }
}

/** Throws a DifferenceError, or what a node that does not answer left: nothing is known then. */
export async function compare(subject: string, checks: readonly Check[]): Promise<void> {
  const results = await Promise.all(
    checks.map(async ({ what, ...check }) => {
      try {
        const [value, expected] = await Promise.all([check.actual, check.expected]);
        return same(value, expected) ? null : `${what}: ${show(value)}, expected ${show(expected)}`;
      } catch (error) {
        if (isNoAnswer(error)) throw error;
        const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
        return `${what}: cannot be read (${reason})`;
      }
    }),
  );
  const wrong = results.filter((line) => line !== null);
  if (wrong.length > 0) throw new DifferenceError(subject, wrong);
}

function same(actual: unknown, expected: unknown): boolean {
  if (expected instanceof Rule) return expected.holds(actual);
  if (isAddressText(actual) && isAddressText(expected)) return isAddressEqual(actual, expected);
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return actual.length === expected.length && actual.every((item, i) => same(item, expected[i]));
  }
  if (isRecord(actual) && isRecord(expected)) {
    return Object.keys(expected).every((name) => same(actual[name], expected[name]));
  }
  return actual === expected;
}

function isAddressText(value: unknown): value is Address {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  if (value instanceof Rule) return value.text;
  return JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? `${item}` : item));
}
