/**
 * Makes the reference pools of a forked chain fit for a reference (rule 1): 700 observation slots and ten minutes of
 * observations. A pool's slots follow only when its ring comes round, so a pool with few needs that many writes, each
 * in a second of its own: chain time runs ahead of the clock by as much.
 */
import type { LocalAccount } from 'viem';
import { marketMakerAbi, uniswapV3PoolAbi } from '../../../contracts-abi/generated/index.ts';
import { type ChainClient, write } from '../client.ts';
import type { Progress } from '../deploy/protocol.ts';
import { fullRange } from '../price.ts';
import type { Manifest, SeededPool } from '../seed/manifest.ts';
import { CARDINALITY } from '../seed/tokens.ts';

const LEAST_CARDINALITY = 700;

export async function agePools(
  client: ChainClient,
  maker: LocalAccount,
  manifest: Pick<Manifest, 'maker'>,
  pools: readonly SeededPool[],
  progress: Progress,
): Promise<void> {
  const touch = async (seconds: number) => {
    await client.increaseTime({ seconds });
    await write(client, maker, {
      address: manifest.maker,
      abi: marketMakerAbi,
      functionName: 'touch',
      args: [pools.map(({ address, fee }) => ({ pool: address, ...fullRange(fee) }))],
      gas: 500_000n + 200_000n * BigInt(pools.length),
    });
  };

  const small = (await ringsOf(client, pools)).filter(({ slots }) => slots < LEAST_CARDINALITY);
  for (const { pool } of small) {
    await write(client, maker, {
      address: manifest.maker,
      abi: marketMakerAbi,
      functionName: 'grow',
      args: [pool.address, CARDINALITY],
      gas: 200_000n + 25_000n * BigInt(CARDINALITY),
    });
  }
  const writes = small.reduce((most, ring) => Math.max(most, ring.slots - ring.index), 0);
  for (let written = 0; written < writes; written += 1) {
    if (written % 50 === 0) progress(`growing observation slots: ${written} of ${writes} writes`);
    await touch(1);
  }
  for (const { pool, slots } of await ringsOf(client, pools)) {
    if (slots < LEAST_CARDINALITY) throw new Error(`pool ${pool.address} stays at ${slots} slots`);
  }
  progress('ageing observations');
  for (let passed = 0; passed <= 660; passed += 60) await touch(60);
}

type Ring = { pool: SeededPool; index: number; slots: number };

/** Where each pool's ring of observations stands. It grows at the write that follows its last slot. */
function ringsOf(client: ChainClient, pools: readonly SeededPool[]): Promise<Ring[]> {
  return Promise.all(
    pools.map(async (pool) => {
      const [, , index, slots] = await client.readContract({
        address: pool.address,
        abi: uniswapV3PoolAbi,
        functionName: 'slot0',
      });
      return { pool, index, slots };
    }),
  );
}
