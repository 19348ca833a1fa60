/**
 * Whether the code at an address is a contract of ours, built from these sources: byte for byte, but for the immutables
 * that its constructor filled in. Each of those has many places in the code, of which a getter reads one: all of them
 * hold the same word here, and that word is read out of the code, to be compared with what it has to be (immutables.ts).
 */
import { type Address, bytesToBigInt, bytesToHex, type Hex, hexToBytes, size } from 'viem';
import * as generatedModule from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';

const generated: Readonly<Record<string, unknown>> = generatedModule;

type Generated = typeof generatedModule;
type RuntimeName = Extract<keyof Generated, `${string}Runtime`>;
type BuiltContract = RuntimeName extends `${infer Name}Runtime` ? Name : never;
/** Test chains alone have these, and AccountsGenesis keeps nothing once it has created. */
type NotStanding = 'accountsGenesis' | 'localToken' | 'localWeth' | 'marketMaker';
export type OwnContract = Exclude<BuiltContract, NotStanding>;

export type ImmutableOf<C extends OwnContract> = Extract<
  keyof Generated[`${C}Runtime`]['immutables'],
  string
>;

type Immutable = { type: 'address' | 'bytes32' | 'uint256'; places: readonly number[] };
type Runtime = { offset: number; size: number; immutables: Readonly<Record<string, Immutable>> };

/** An immutable's word as its type says: a number, or the bytes of an address or of a whole word. */
export type Word = bigint | Hex;

export type Standing = {
  /** AS_BUILT, or what is wrong in words. */
  verdict: string;
  /** By name; empty where the code is not as built. */
  immutables: Readonly<Record<string, Word>>;
};

export const AS_BUILT = 'as built';

export async function readOwn(
  client: ReadClient,
  address: Address,
  contract: OwnContract | 'localToken' | 'localWeth',
): Promise<Standing> {
  const wrong = (verdict: string): Standing => ({ verdict, immutables: {} });
  const code = await client.getCode({ address });
  if (code === undefined || code === '0x') return wrong('no contract');
  const built = runtimeCode(contract);
  const standing = hexToBytes(code);
  if (standing.length !== built.length) return wrong(`${standing.length} bytes of other code`);
  const immutables: Record<string, Word> = {};
  for (const [name, { type, places }] of Object.entries(runtimeOf(contract).immutables)) {
    const words = new Set(
      places.map((at) => {
        const word = bytesToHex(standing.subarray(at, at + 32));
        standing.fill(0, at, at + 32);
        return word;
      }),
    );
    const [word, other] = words;
    if (word === undefined) throw new Error(`${contract}: ${name} has no place`);
    if (other !== undefined)
      return wrong(`${name} is ${word} in one place and ${other} in another`);
    const value = wordAs(type, word);
    if (value === null) return wrong(`${name} is no address: ${word}`);
    immutables[name] = value;
  }
  const at = standing.findIndex((byte, index) => byte !== built[index]);
  return at < 0 ? { verdict: AS_BUILT, immutables } : wrong(`other code from byte ${at} on`);
}

/** Null: no word of this type. */
function wordAs(type: Immutable['type'], word: Hex): Word | null {
  if (type === 'bytes32') return word;
  if (type === 'uint256') return bytesToBigInt(hexToBytes(word));
  return word.startsWith(`0x${'00'.repeat(12)}`) ? `0x${word.slice(26)}` : null;
}

/** The code that the constructor leaves, its immutables zero. */
function runtimeCode(contract: BuiltContract): Uint8Array {
  const { offset, size } = runtimeOf(contract);
  return hexToBytes(generated[`${contract}Bytecode`] as Hex).subarray(offset, offset + size);
}

/** Bytes of the code that is left on chain, and of the creation code without arguments, as far as they are known. */
export function creationSizes(data: Hex): { code: number; creation: number } {
  for (const [name, value] of Object.entries(generated)) {
    if (!name.endsWith('Bytecode') || !data.startsWith(value as Hex)) continue;
    const { size: code } = runtimeOf(name.slice(0, -'Bytecode'.length) as BuiltContract);
    return { code, creation: size(value as Hex) };
  }
  return { code: size(data), creation: size(data) };
}

function runtimeOf(contract: BuiltContract): Runtime {
  return generated[`${contract}Runtime`] as Runtime;
}
