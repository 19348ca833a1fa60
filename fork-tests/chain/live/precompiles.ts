/**
 * Arbitrum's precompiles do not exist in Anvil's EVM; on a fork their addresses hold the byte 0xfe, so a call burns
 * all gas. Stubs answer instead.
 */
import type { Address, Hex } from 'viem';
import type { ChainClient } from '../client.ts';

const STUBS: readonly { address: Address; code: Hex }[] = [
  // ArbSys: NUMBER in one word, which is what arbBlockNumber() is asked for.
  { address: '0x0000000000000000000000000000000000000064', code: '0x435f5260205ff3' },
  // ArbGasInfo: six words of zero, the longest of its answers (getPricesInWei); L1 data is free on a fork.
  { address: '0x000000000000000000000000000000000000006C', code: '0x60c05ff3' },
];

/** Places the stubs where nothing that can run stands. */
export async function stubPrecompiles(client: ChainClient): Promise<void> {
  for (const { address, code } of STUBS) {
    const present = await client.getCode({ address });
    if (present === undefined || present === '0x' || present === '0xfe') {
      await client.setCode({ address, bytecode: code });
    }
  }
}
