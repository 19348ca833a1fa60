/** People who place orders all the time: limit buys, schedules and, of what those bought, stops. All due at once. */
import { type Abi, type Address, erc20Abi, type Hex, maxUint256, parseEventLogs } from 'viem';
import { SHARE, USD } from '../../contracts-abi/constants.ts';
import {
  exitEscrowAbi,
  limitEscrowAbi,
  navOracleAbi,
  scheduleEscrowAbi,
} from '../../contracts-abi/generated/index.ts';
import { type ChainClient, reasonOf, write } from '../chain/client.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import { type Manifest, vaultOf } from '../chain/seed/manifest.ts';

export type OrderKind = 'limit' | 'schedule' | 'sell';
export type Placed = { id: Hex; kind: OrderKind; escrow: Address };

export type Owners = {
  placed: readonly Placed[];
  /** What could not be placed, in words; empty when all went well. */
  faults: readonly string[];
  stop(): Promise<void>;
};

const TICKERS = ['HEALTH', 'CORE', 'MAG7'];
const SIZE = 40n * USD;
/** Tolerance at once and at most, in bps: the market moves while an order waits. */
const TERMS = { slippageBps: 300, capBps: 500 } as const;
const HOUR = 3_600;
/** A limit buy without a trigger, a stop far above any price. */
const NO_TRIGGER = 0n;

export async function startOwners(options: {
  client: ChainClient;
  manifest: Manifest;
  roles: readonly Role[];
  pauseMs: number;
}): Promise<Owners> {
  const { client, manifest, roles, pauseMs } = options;
  const { deployment } = manifest;
  const placed: Placed[] = [];
  const faults: string[] = [];
  const ending = new AbortController();

  const approve = async (role: Role, token: Address, spender: Address): Promise<void> => {
    await write(client, devAccount(role).account, {
      address: token,
      abi: erc20Abi,
      functionName: 'approve',
      args: [spender, maxUint256],
    });
  };
  for (const role of roles) {
    await approve(role, deployment.usdg, deployment.limitEscrow);
    await approve(role, deployment.usdg, deployment.scheduleEscrow);
    for (const ticker of TICKERS) {
      await approve(role, vaultOf(manifest, ticker), deployment.exitEscrow);
    }
  }

  const create = async (
    role: Role,
    kind: OrderKind,
    escrow: Address,
    abi: Abi,
    terms: object,
  ): Promise<void> => {
    const receipt = await write(client, devAccount(role).account, {
      address: escrow,
      abi,
      functionName: 'create',
      args: [terms],
    });
    for (const { args } of parseEventLogs({
      abi: [...limitEscrowAbi, ...scheduleEscrowAbi, ...exitEscrowAbi],
      eventName: ['LimitCreated', 'ScheduleCreated', 'ExitCreated'],
      logs: receipt.logs,
    })) {
      placed.push({ id: args.id, kind, escrow });
    }
  };

  const place = async (role: Role, turn: number): Promise<void> => {
    const ticker = TICKERS[turn % TICKERS.length] ?? 'CORE';
    const vault = vaultOf(manifest, ticker);
    const { address } = devAccount(role).account;
    const deadline = Number((await client.getBlock()).timestamp) + 24 * HOUR;
    const shares = await client.readContract({
      address: vault,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [address],
    });
    const [nav] = await client.readContract({
      address: deployment.oracle,
      abi: navOracleAbi,
      functionName: 'tryReferenceNav',
      args: [vault],
    });
    // Worth an order at today's price: sold again, so that the owners' money lasts.
    if (nav > 0n && (shares * nav) / 10n ** 18n > (SIZE * SHARE) / USD) {
      await create(role, 'sell', deployment.exitEscrow, exitEscrowAbi, {
        vault,
        shares,
        stopNav: nav * 2n,
        tpNav: 0n,
        hardFloorNav: 0n,
        ...TERMS,
        deadline,
      });
    } else if (turn % 4 === 3) {
      await create(role, 'schedule', deployment.scheduleEscrow, scheduleEscrowAbi, {
        kind: 0,
        vault,
        total: SIZE,
        slots: 1,
        interval: HOUR,
        startAt: 0,
        ...TERMS,
      });
    } else {
      await create(role, 'limit', deployment.limitEscrow, limitEscrowAbi, {
        vault,
        amount: SIZE,
        triggerNav: NO_TRIGGER,
        ...TERMS,
        deadline,
      });
    }
  };

  const live = async (role: Role, first: number): Promise<void> => {
    for (let turn = first; !ending.signal.aborted; turn += 1) {
      try {
        await place(role, turn);
      } catch (fault) {
        faults.push(`${role}: ${reasonOf(fault)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const running = Promise.all(roles.map(live));
  return {
    placed,
    faults,
    stop: async () => {
      ending.abort();
      await running;
    },
  };
}

/** How often each order was filled, by the chain's events from `fromBlock` on. */
export async function fillsById(
  client: ChainClient,
  escrows: readonly Address[],
  fromBlock: bigint,
): Promise<Map<Hex, { count: number; executor: Address }>> {
  const found = new Map<Hex, { count: number; executor: Address }>();
  const head = await client.getBlockNumber();
  for (let from = fromBlock; from <= head; from += 1_000n) {
    const logs = await client.getLogs({
      address: [...escrows],
      fromBlock: from,
      toBlock: from + 999n > head ? head : from + 999n,
    });
    for (const { args } of parseEventLogs({ abi: exitEscrowAbi, eventName: 'OrderFilled', logs })) {
      found.set(args.id, {
        count: (found.get(args.id)?.count ?? 0) + 1,
        executor: args.executor,
      });
    }
  }
  return found;
}
