/** What the chain itself says, of a nonce and of cover listings: the last word wherever the caller has an RPC. */
import { type Address, getAbiItem, type Hex, type PublicClient } from 'viem';
import {
  coverMarketAbi,
  coverModuleAbi,
  sessionModuleAbi,
} from '../../contracts-abi/generated/index.ts';
import type { Entry } from './ledger.ts';

type Slot = Pick<Entry, 'type' | 'module' | 'account' | 'key' | 'nonce'>;

/** Price in USDG base units per $1,000 of cover. */
export type CoverListing = {
  side: 'offer' | 'request';
  week: number;
  vault: Address;
  fromBps: number;
  toBps: number;
  pricePer1k: bigint;
};

export type ChainReader = {
  /** Timestamp of the newest block, unix seconds. */
  time(): Promise<number>;
  /**
   * Both of one block: a nonce that is unused at a time past the deadline is never used by that action. Times are unix
   * seconds. Rejects when the chain cannot be asked.
   */
  nonce(slot: Slot): Promise<{ used: boolean; time: number }>;
  /** Which version used the nonce; null where the node does not have or serve the event. */
  execution(slot: Slot): Promise<{ hash: Hex; digest: Hex } | null>;
  /** In the order of the ids; null for one that the market does not know. Rejects when the chain cannot be asked. */
  coverListings(market: Address, ids: readonly bigint[]): Promise<(CoverListing | null)[]>;
  /** The week of cover that trades now; null where none does. Rejects when the chain cannot be asked. */
  coverWeek(market: Address): Promise<number | null>;
};

/**
 * @param options.lookbackBlocks how far back executions are searched; providers cap the range of one query.
 * @example const chain = createChainReader(createPublicClient({ transport: http(rpcUrl) }));
 */
export function createChainReader(
  client: PublicClient,
  { lookbackBlocks = 10_000n }: { lookbackBlocks?: bigint } = {},
): ChainReader {
  const newest = () => client.getBlock({ blockTag: 'latest' });
  const executedLogs = async (slot: Slot) => {
    const head = await client.getBlockNumber({ cacheTime: 0 });
    const range = {
      address: slot.module,
      fromBlock: head > lookbackBlocks ? head - lookbackBlocks : 0n,
      toBlock: head,
      args: { account: slot.account, key: slot.key },
      strict: true,
    } as const;
    return slot.type === 'trade'
      ? await client.getLogs({ ...range, event: EXECUTED })
      : await client.getLogs({ ...range, event: COVER_EXECUTED });
  };
  return {
    time: async () => Number((await newest()).timestamp),
    nonce: async ({ type, module, account, nonce }) => {
      const { number, timestamp } = await newest();
      const used = await client.readContract({
        address: module,
        abi: type === 'trade' ? sessionModuleAbi : coverModuleAbi,
        functionName: 'nonceUsed',
        args: [account, nonce],
        blockNumber: number,
      });
      return { used, time: Number(timestamp) };
    },
    execution: async (slot) => {
      try {
        const log = (await executedLogs(slot)).find(({ args }) => args.nonce === slot.nonce);
        return log === undefined ? null : { hash: log.transactionHash, digest: log.args.digest };
      } catch {
        // Expected: providers cap ranges and prune; that the nonce is used is known without the event.
        return null;
      }
    },
    coverListings: async (market, ids) =>
      await Promise.all(ids.map((id) => listingOf(client, market, id))),
    coverWeek: async (market) => {
      const [some, week] = await client.readContract({
        address: market,
        abi: coverMarketAbi,
        functionName: 'currentWeek',
      });
      return some ? week : null;
    },
  };
}

/** ICoverMarket.Side; 0 is a listing that never was. */
const SIDES = [null, 'offer', 'request'] as const;

async function listingOf(
  client: PublicClient,
  market: Address,
  id: bigint,
): Promise<CoverListing | null> {
  const { side: number, terms } = await client.readContract({
    address: market,
    abi: coverMarketAbi,
    functionName: 'listingOf',
    args: [id],
  });
  const side = SIDES[number] ?? null;
  if (side === null) return null;
  const { week, vault, fromBps, toBps, pricePer1k } = terms;
  return { side, week, vault, fromBps, toBps, pricePer1k };
}

const EXECUTED = getAbiItem({ abi: sessionModuleAbi, name: 'Executed' });
const COVER_EXECUTED = getAbiItem({ abi: coverModuleAbi, name: 'CoverExecuted' });
