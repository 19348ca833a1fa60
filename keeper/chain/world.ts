/**
 * What every job of a tick shares: the head of the chain, the gas price and the ETH price, read together and kept for
 * a moment, so that a job costs no RPC for them.
 */
import { type Address, hexToBigInt, type PublicClient } from 'viem';
import { navOracleAbi } from '../../contracts-abi/generated/index.ts';
import type { GasMarket } from '../policy/profit.ts';
import { within } from '../../runtime/deadline.ts';
import { rpcFaultOf } from './rpc-fault.ts';

export type World = {
  blockNumber: bigint;
  /** Unix seconds of the head. */
  timestamp: bigint;
  market: GasMarket;
  readAtMs: number;
};

export type WorldView = {
  /** The world, at most `maxAgeMs` old; null when the chain does not answer in time. Who asks meanwhile shares it. */
  read(maxAgeMs: number): Promise<World | null>;
  /** For `/ready`: last head seen and when it last advanced. */
  status(): { world: World | null; advancedAtMs: number | null; fault: string | null };
};

export function createWorldView(options: {
  client: PublicClient;
  oracle: Address;
  /** What the sender adds to the base fee, wei per gas. */
  tipWei: bigint;
  timeoutMs: number;
  now?: () => number;
}): WorldView {
  const { client, oracle, tipWei, timeoutMs, now = Date.now } = options;
  let world: World | null = null;
  let highest: bigint | null = null;
  let advancedAtMs: number | null = null;
  let fault: string | null = null;
  let reading: Promise<World | null> | null = null;

  async function readEthPrice(): Promise<bigint | null> {
    try {
      const [spot, average] = await client.readContract({
        address: oracle,
        abi: navOracleAbi,
        functionName: 'ethPrice',
      });
      return dearerPrice(spot, average);
    } catch (error) {
      // A pool that cannot be read is a price unknown; a chain that does not answer fails the head as well.
      if (rpcFaultOf(error).tag === 'unavailable') throw error;
      return null;
    }
  }

  async function refresh(): Promise<World> {
    const [block, ethPrice] = await Promise.all([
      client.getBlock({ blockTag: 'latest', includeTransactions: false }),
      readEthPrice(),
    ]);
    // What the sender will pay, not what the node suggests: nodes add tips that this chain does not ask for.
    const baseFee =
      block.baseFeePerGas ?? hexToBigInt(await client.request({ method: 'eth_gasPrice' }));
    return {
      blockNumber: block.number,
      timestamp: block.timestamp,
      market: { gasPriceWei: baseFee + tipWei, ethPrice },
      readAtMs: now(),
    };
  }

  async function readNow(): Promise<World | null> {
    try {
      world = await within(refresh(), timeoutMs, 'reading the head');
      fault = null;
    } catch (error) {
      const reason = rpcFaultOf(error);
      fault = reason.tag === 'unavailable' ? reason.why : reason.tag;
      return null;
    }
    if (highest === null || world.blockNumber > highest) {
      highest = world.blockNumber;
      advancedAtMs = now();
    }
    return world;
  }

  return {
    async read(maxAgeMs) {
      if (world !== null && now() - world.readAtMs < maxAgeMs) return world;
      reading ??= readNow().finally(() => {
        reading = null;
      });
      return await reading;
    },
    status: () => ({ world, advancedAtMs, fault }),
  };
}

/** A head read longer ago than this is read again, though no tick comes to it. */
const WATCH_AGE_MS = 7_500;
const WATCH_EVERY_MS = 2_500;
/** Longest time without a head that was read while `watchHead` runs and the chain answers. */
export const HEAD_READ_MAX_AGE_MS = 13_000;

/**
 * Reads the head where ticks do not come to it, held up by whatever hangs: `/ready` tells that nobody answers. Costs
 * nothing while ticks read it. Returns what ends it.
 */
export function watchHead(world: WorldView): () => void {
  const timer = setInterval(() => void world.read(WATCH_AGE_MS), WATCH_EVERY_MS);
  return () => clearInterval(timer);
}

/**
 * The price that makes gas look dearer: a spot price pushed down for a block must not make a loss look like a profit.
 * Null when there is no spot; the average is zero where its window is invalid.
 */
export function dearerPrice(spot: bigint, average: bigint): bigint | null {
  if (spot <= 0n) return null;
  return average > spot ? average : spot;
}
