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

/** @param abi functions alone, none of two names alike */
export function functionSet<const abi extends Abi>(abi: abi): FunctionSet<abi> {
  const functions = abi as unknown as readonly AbiFunction[];
  const bySelector = new Map(functions.map((item) => [toFunctionSelector(item) as string, item]));
  const selectors = new Map(
    functions.map((item) => [item.name, { item, selector: toFunctionSelector(item) }]),
  );
  return {
    decode(data) {
      const item = bySelector.get(data.slice(0, SELECTOR_CHARACTERS));
      if (item === undefined) throw new Error('a call of another function');
      const args = decodeAbiParameters(item.inputs, `0x${data.slice(SELECTOR_CHARACTERS)}`);
      return { functionName: item.name, args };
    },
    encode(name, args) {
      const known = selectors.get(name);
      if (known === undefined) throw new Error(`no function ${name}`);
      const { item, selector } = known;
      return `${selector}${encodeAbiParameters(item.inputs, args as readonly unknown[]).slice(2)}`;
    },
  };
}
