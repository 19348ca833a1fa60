/** Pools as Uniswap's own SDK computes them, read from the chain: another implementation than ours, of everything. */
import { CurrencyAmount, type Price, Token } from '@uniswap/sdk-core';
import { FeeAmount, Pool, type TickDataProvider } from '@uniswap/v3-sdk';
import type { Address } from 'viem';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { uniswapV3FactoryAbi, uniswapV3PoolAbi } from '../../contracts-abi/generated/index.ts';
import type { Fork } from '../harness/fork.ts';

const TIERS = new Map([
  [100, FeeAmount.LOWEST],
  [500, FeeAmount.LOW],
  [3_000, FeeAmount.MEDIUM],
  [10_000, FeeAmount.HIGH],
]);

export type Hop = { tokenIn: Address; tokenOut: Address; fee: number };

/** The state of all pools that were asked for, from one block on, and what swaps have made of it since. */
export class PoolBook {
  readonly #fork: Fork;
  readonly #decimals: (token: Address) => number;
  readonly #pools = new Map<string, Promise<Pool>>();
  /** Initialised ticks that swaps of this book went over. */
  crossed = 0;

  constructor(fork: Fork, decimals: (token: Address) => number) {
    this.#fork = fork;
    this.#decimals = decimals;
  }

  token(address: Address): Token {
    return new Token(CHAIN_ID, address, this.#decimals(address));
  }

  /** Swaps an exact amount hop by hop; later swaps meet the prices that it leaves. */
  async swap(hops: readonly Hop[], amountIn: bigint): Promise<bigint> {
    let amount = amountIn;
    for (const { tokenIn, tokenOut, fee } of hops) {
      const { key, pool } = await this.#pool(tokenIn, tokenOut, fee);
      const given = CurrencyAmount.fromRawAmount(this.token(tokenIn), amount.toString());
      const [received, after] = await pool.getOutputAmount(given);
      this.#pools.set(key, Promise.resolve(after));
      amount = BigInt(received.quotient.toString());
    }
    return amount;
  }

  /** The pool's price now, as an exact fraction. */
  async priceOf(token: Address, other: Address, fee: number): Promise<Price<Token, Token>> {
    const { pool } = await this.#pool(token, other, fee);
    return pool.priceOf(this.token(token));
  }

  async #pool(a: Address, b: Address, fee: number): Promise<{ key: string; pool: Pool }> {
    const key =
      [a, b]
        .map((each) => each.toLowerCase())
        .sort()
        .join() + fee;
    const known = this.#pools.get(key) ?? this.#read(a, b, fee);
    this.#pools.set(key, known);
    return { key, pool: await known };
  }

  async #read(a: Address, b: Address, fee: number): Promise<Pool> {
    const { client, deployment } = this.#fork;
    const address = await client.readContract({
      address: deployment.uniswapV3Factory,
      abi: uniswapV3FactoryAbi,
      functionName: 'getPool',
      args: [a, b, fee],
    });
    const read = { address, abi: uniswapV3PoolAbi } as const;
    const [slot0, liquidity] = await Promise.all([
      client.readContract({ ...read, functionName: 'slot0' }),
      client.readContract({ ...read, functionName: 'liquidity' }),
    ]);
    const tier = TIERS.get(fee);
    if (tier === undefined) throw new Error(`no fee tier ${fee}`);
    return new Pool(
      this.token(a),
      this.token(b),
      tier,
      slot0[0].toString(),
      liquidity.toString(),
      slot0[1],
      this.#ticksOf(address),
    );
  }

  /** Reads the words of the tick bitmap that a swap comes by. */
  #ticksOf(address: Address): TickDataProvider {
    const { client } = this.#fork;
    const read = { address, abi: uniswapV3PoolAbi } as const;
    const words = new Map<number, Promise<bigint>>();
    const wordAt = (position: number): Promise<bigint> => {
      const known =
        words.get(position) ??
        client.readContract({ ...read, functionName: 'tickBitmap', args: [position] });
      words.set(position, known);
      return known;
    };
    return {
      getTick: async (tick) => {
        this.crossed += 1;
        const found = await client.readContract({ ...read, functionName: 'ticks', args: [tick] });
        return { liquidityNet: found[1].toString() };
      },
      nextInitializedTickWithinOneWord: async (tick, lte, spacing) => {
        const compressed = Math.floor(tick / spacing) + (lte ? 0 : 1);
        const position = compressed >> 8;
        const word = await wordAt(position);
        const step = lte ? -1 : 1;
        const end = lte ? position * 256 : position * 256 + 255;
        for (let bit = compressed; bit !== end + step; bit += step) {
          if ((word >> BigInt(bit - position * 256)) & 1n) return [bit * spacing, true];
        }
        return [end * spacing, false];
      },
    };
  }
}
