/**
 * Calls of a few functions, read and written many times a second: viem hashes the signature of each function of an ABI
 * anew for every call that it reads, and of one for every call that it writes.
 */
import {
  type Abi,
  type AbiFunction,
  type ContractFunctionArgs,
  type ContractFunctionName,
  decodeAbiParameters,
  type DecodeFunctionDataReturnType,
  encodeAbiParameters,
  type Hex,
  toFunctionSelector,
} from 'viem';

const SELECTOR_CHARACTERS = 10;

/** One of the functions of `abi` with its arguments, as viem's `decodeFunctionData` tells it. */
export type CallOf<abi extends Abi> = DecodeFunctionDataReturnType<abi>;

export type FunctionSet<abi extends Abi> = {
  /** @throws where the selector is of none of them, or the arguments do not decode */
  decode(data: Hex): CallOf<abi>;
  /** @throws where the arguments are not of its types */
  encode<name extends ContractFunctionName<abi>>(
    name: name,
    args: ContractFunctionArgs<abi, 'nonpayable' | 'payable' | 'view' | 'pure', name>,
  ): Hex;
};

/** A function of an ABI, its selector worked out. */
export type KnownFunction = { item: AbiFunction; selector: Hex };

/** Of every ABI that was asked of: those of this repository, a few dozen. */
const functionsOf = new WeakMap<Abi, Map<string, KnownFunction | null>>();

/** The one function of this name; null where there is none, or several. */
export function functionOf(abi: Abi, name: string): KnownFunction | null {
  let known = functionsOf.get(abi);
  if (known === undefined) {
    known = new Map();
    functionsOf.set(abi, known);
  }
  let found = known.get(name);
  if (found === undefined) {
    const named = abi.filter(
      (item): item is AbiFunction => item.type === 'function' && item.name === name,
    );
    const [item] = named;
    const isOne = item !== undefined && named.length === 1;
    found = isOne ? { item, selector: toFunctionSelector(item) } : null;
    known.set(name, found);
  }
  return found;
}

/** Calldata of a function. @throws where the arguments are not of its types */
export function encodeCall({ item, selector }: KnownFunction, args: readonly unknown[]): Hex {
  return `${selector}${encodeAbiParameters(item.inputs, args).slice(2)}`;
}

/** @param abi functions alone, none of two names alike */
export function functionSet<const abi extends Abi>(abi: abi): FunctionSet<abi> {
  const functions = abi as unknown as readonly AbiFunction[];
  const bySelector = new Map(functions.map((item) => [toFunctionSelector(item) as string, item]));
  return {
    decode(data) {
      const item = bySelector.get(data.slice(0, SELECTOR_CHARACTERS));
      if (item === undefined) throw new Error('a call of another function');
      const args = decodeAbiParameters(item.inputs, `0x${data.slice(SELECTOR_CHARACTERS)}`);
      return { functionName: item.name, args };
    },
    encode(name, args) {
      const known = functionOf(abi, name);
      if (known === null) throw new Error(`no function ${name}`);
      return encodeCall(known, args as readonly unknown[]);
    },
  };
}
