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
/** More writes than any ring below 700 slots needs. */
const MOST_WRITES = 800;

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

  for (const pool of await tooFew(client, pools)) {
    await write(client, maker, {
      address: manifest.maker,
      abi: marketMakerAbi,
      functionName: 'grow',
      args: [pool.address, CARDINALITY],
      gas: 200_000n + 25_000n * BigInt(CARDINALITY),
    });
  }
  for (let writes = 0; ; writes += 1) {
    const left = await tooFew(client, pools);
    if (left.length === 0) break;
    if (writes === MOST_WRITES)
      throw new Error(`${left.length} pools do not grow observation slots`);
    if (writes % 50 === 0) progress(`growing observation slots of ${left.length} pools`);
    await touch(1);
  }
  progress('ageing observations');
  for (let passed = 0; passed <= 660; passed += 60) await touch(60);
}

async function tooFew(client: ChainClient, pools: readonly SeededPool[]): Promise<SeededPool[]> {
  const cardinalities = await Promise.all(
    pools.map(async ({ address }) => {
      const slot0 = await client.readContract({
        address,
        abi: uniswapV3PoolAbi,
        functionName: 'slot0',
      });
      return slot0[3];
    }),
  );
  return pools.filter((_, index) => (cardinalities[index] ?? 0) < LEAST_CARDINALITY);
}
