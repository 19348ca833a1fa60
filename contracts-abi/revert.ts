/**
 * Revert data to words. What a contract reverts with is chosen by the contract: the text is capped and is for people;
 * branch on `name` alone, and only for contracts that are known.
 */

import {
  type Abi,
  decodeAbiParameters,
  decodeErrorResult,
  type Hex,
  size,
  toFunctionSelector,
} from 'viem';
import * as generated from './generated/index.ts';

/** Longer revert data is never decoded. */
const MAX_REVERT_BYTES = 4_096;
const MAX_TEXT = 300;
const ERROR_STRING = '0x08c379a0';
const PANIC = '0x4e487b71';

type AbiError = Extract<Abi[number], { type: 'error' }>;

export type DecodedRevert = {
  /** The error's name ("BelowFloor"), "Error" or "Panic". */
  name: string;
  args: readonly unknown[];
};

let known: Map<Hex, AbiError> | null = null;

/** Every custom error of the protocol and of the genuine contracts, by selector. */
function knownErrors(): Map<Hex, AbiError> {
  if (known !== null) return known;
  known = new Map();
  for (const abi of Object.values(generated) as unknown[]) {
    if (!Array.isArray(abi)) continue; // bytecode stands beside the ABIs
    for (const item of abi as Abi) {
      if (item.type !== 'error') continue;
      const signature = `${item.name}(${item.inputs.map(canonicalType).join(',')})`;
      known.set(toFunctionSelector(signature), item);
    }
  }
  return known;
}

function canonicalType(input: { type: string; components?: readonly unknown[] }): string {
  if (!input.type.startsWith('tuple')) return input.type;
  const parts = (input.components ?? []) as { type: string; components?: readonly unknown[] }[];
  return `(${parts.map(canonicalType).join(',')})${input.type.slice('tuple'.length)}`;
}

/** The error behind revert data; null when it is none that we know, malformed, or over {@link MAX_REVERT_BYTES}. */
export function decodeRevert(data: Hex): DecodedRevert | null {
  if (size(data) < 4 || size(data) > MAX_REVERT_BYTES) return null;
  const selector = data.slice(0, 10).toLowerCase() as Hex;
  const body: Hex = `0x${data.slice(10)}`;
  try {
    if (selector === ERROR_STRING) {
      return { name: 'Error', args: decodeAbiParameters([{ type: 'string' }], body) };
    }
    if (selector === PANIC) {
      return { name: 'Panic', args: decodeAbiParameters([{ type: 'uint256' }], body) };
    }
    const item = knownErrors().get(selector);
    if (item === undefined) return null;
    const { errorName, args } = decodeErrorResult({ abi: [item], data });
    return { name: errorName, args: args ?? [] };
  } catch {
    return null; // expected: anybody can revert with a known selector and garbage behind it
  }
}

/** Printable ASCII only, capped: the words are the contract's, not ours. */
function safeText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 200);
}

function argumentText(value: unknown): string {
  if (typeof value === 'string') {
    if (/^0x(?:[0-9a-fA-F]{2})*$/.test(value) && value.length > 66)
      return `${size(value as Hex)} bytes`;
    return safeText(value);
  }
  if (Array.isArray(value)) return `[${value.slice(0, 8).map(argumentText).join(', ')}]`;
  return safeText(String(value));
}

/**
 * One line for people: `BelowFloor(0x…, 990000, 1000000)`, the string of a plain revert, or what little is known.
 * An inner revert that a module wraps is shown instead of its wrapper.
 */
export function describeRevert(data: Hex | null): string {
  if (data === null || data === '0x') return 'reverted without a reason';
  const decoded = decodeRevert(data);
  if (decoded === null) {
    return size(data) > MAX_REVERT_BYTES
      ? `reverted with ${size(data)} bytes`
      : `reverted with an unknown error ${data.slice(0, 10)}`;
  }
  const { name, args } = decoded;
  if (name === 'Error') return safeText(String(args[0]));
  if (name === 'Panic') return `Panic(0x${(args[0] as bigint).toString(16)})`;
  if (name === 'ModuleCallFailed') return describeRevert(args[0] as Hex);
  return `${name}(${args.map(argumentText).join(', ')})`.slice(0, MAX_TEXT);
}

/**
 * The revert data inside whatever an RPC client threw, however deep; null when the node sent none.
 * Shapes: `data: "0x…"` (geth, Anvil) and `data: {data: "0x…"}` (some gateways).
 */
export function revertDataOf(error: unknown): Hex | null {
  let current: unknown = error;
  for (let depth = 0; depth < 10 && typeof current === 'object' && current !== null; depth += 1) {
    const { data, cause } = current as { data?: unknown; cause?: unknown };
    const inner = typeof data === 'object' && data !== null && 'data' in data ? data.data : data;
    if (typeof inner === 'string' && /^0x[0-9a-fA-F]*$/.test(inner)) return inner as Hex;
    current = cause;
  }
  return null;
}
