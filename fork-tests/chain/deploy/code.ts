/**
 * Whether the code at an address is a contract of ours, built from these sources: byte for byte, but for the immutables
 * that its constructor filled in, which are checked by their getters.
 */
import { type Address, type Hex, hexToBytes, size } from 'viem';
import * as generatedModule from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';

export type OwnContract =
  | 'accountFactory'
  | 'accountSetup'
  | 'basketRegistry'
  | 'basketVault'
  | 'basketZapper'
  | 'coverMarket'
  | 'coverModule'
  | 'exitEscrow'
  | 'limitEscrow'
  | 'navOracle'
  | 'protocolPause'
  | 'scheduleEscrow'
  | 'sessionModule';

const generated: Readonly<Record<string, unknown>> = generatedModule;

type Runtime = {
  offset: number;
  size: number;
  immutables: readonly (readonly [number, number])[];
};

/** @returns "as built", or what is wrong in words. */
export async function judgeCode(
  client: ReadClient,
  address: Address,
  contract: OwnContract,
): Promise<string> {
  const code = await client.getCode({ address });
  if (code === undefined || code === '0x') return 'no contract';
  const built = runtimeCode(contract);
  const standing = hexToBytes(code);
  if (standing.length !== built.length) return `${standing.length} bytes of other code`;
  for (const [start, length] of runtimeOf(contract).immutables)
    standing.fill(0, start, start + length);
  const at = standing.findIndex((byte, index) => byte !== built[index]);
  return at < 0 ? AS_BUILT : `other code from byte ${at} on`;
}

export const AS_BUILT = 'as built';

/** The code that the constructor leaves, its immutables zero. */
function runtimeCode(contract: OwnContract): Uint8Array {
  const { offset, size } = runtimeOf(contract);
  return hexToBytes(creationOf(contract)).subarray(offset, offset + size);
}

/** Bytes of the code that is left on chain, and of the creation code without arguments, as far as they are known. */
export function creationSizes(data: Hex): { code: number; creation: number } {
  for (const [name, value] of Object.entries(generated)) {
    if (!name.endsWith('Bytecode') || !data.startsWith(value as Hex)) continue;
    const { size: code } = runtimeOf(name.slice(0, -'Bytecode'.length) as OwnContract);
    return { code, creation: size(value as Hex) };
  }
  return { code: size(data), creation: size(data) };
}

function runtimeOf(contract: OwnContract): Runtime {
  return generated[`${contract}Runtime`] as Runtime;
}

function creationOf(contract: OwnContract): Hex {
  return generated[`${contract}Bytecode`] as Hex;
}
