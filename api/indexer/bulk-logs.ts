/**
 * Large answers of logs, taken apart on a thread beside the process: ten thousand transfers of shares stop the event
 * loop for as long as some hundred requests take. Only of accounting are there so many; logs that anyone else wants come back.
 */
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { type Address, type Hex, zeroAddress } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import type { HeldLogs } from '../../runtime/chain/held-logs.ts';
import type { BlockRange } from '../../runtime/chain/log-shape.ts';
import type { IndexedLog } from '../../runtime/chain/read-logs.ts';
import type { Logger } from '../../runtime/logger.ts';
import { ACCOUNTING, rowsToWrite, type TakenApart } from '../accounting/accounting-projection.ts';
import { type Protocol, protocolOf } from '../accounting/read-transaction.ts';
import type { TakeApart } from './range-reader.ts';
import type { Wanted } from './routing.ts';

/** Bytes of an answer that are worth the way there and back: some two thousand logs. */
export const HELD_FROM = 1_048_576;

export type BulkOrder = {
  bytes: Uint8Array<ArrayBuffer>;
  /** What was asked for. */
  range: BlockRange;
  /** Logs of the projection whose rows are made. */
  wanted: readonly Wanted[];
  registry: Address;
  protocol: Protocol;
  /** Whether rows go into a SQLite file, or are sent to PostgreSQL. */
  isFile: boolean;
};

export type BulkMade = {
  /** Those that others want as well, or alone. */
  logs: IndexedLog[];
  count: number;
  blocks: { block: number; blockHash: Hex }[];
  rows: TakenApart;
};

/** Or the bytes as they came. */
export type BulkAnswer = { made: BulkMade } | { bytes: Uint8Array<ArrayBuffer> };

/** Longer than the largest answer takes by far: who takes so long never ends. */
const MOST_MS = 15_000;
/** A thread that has nothing to do for so long ends, and its memory with it. */
const IDLE_MS = 30_000;
/** All that an answer makes is garbage soon after: collected once for an answer or two, it costs next to nothing. */
const YOUNG_MB = 128;

type Thread = {
  /** Gives the bytes back as they were while it starts. @throws what broke it */
  run: (order: BulkOrder) => Promise<BulkAnswer>;
  /** Resolves once it can run. @throws as `run` */
  start: () => Promise<void>;
};

/** A thread that is there while it has something to do. */
export function logThread(resourceLimits: Piscina['options']['resourceLimits']): Thread {
  let pool: Piscina<BulkOrder, BulkAnswer> | null = null;
  let fault: Error | null = null;
  let starting: Promise<void> | null = null;
  let hasStarted = false;
  const open = () => {
    const at = new Piscina<BulkOrder, BulkAnswer>({
      filename: fileURLToPath(new URL('./bulk-worker.mjs', import.meta.url)),
      name: 'takeApart',
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
      resourceLimits,
      // What the process was started with is not for a thread.
      execArgv: [],
    });
    // One that breaks while it starts would be started again and again: what waits for it is told instead.
    at.on('error', (error: Error) => {
      fault = error;
      void at.destroy();
    });
    return at;
  };
  const runs = async (order: BulkOrder): Promise<BulkAnswer> => {
    pool ??= open();
    try {
      return await pool.run(order, {
        transferList: [order.bytes.buffer],
        signal: AbortSignal.timeout(MOST_MS),
      });
    } catch (error) {
      fault ??= error as Error;
      // Others may wait for the same thread, which is not started anew for them.
      void pool.destroy();
      throw fault;
    }
  };
  const start = async (): Promise<void> => {
    const isGone = hasStarted && pool?.threads.length === 0;
    if (starting === null || isGone) {
      hasStarted = false;
      starting = runs(NOTHING()).then(() => {
        hasStarted = true;
      });
      // Told by the next one that wants it.
      starting.catch(() => undefined);
    }
    await starting;
  };
  return {
    start,
    run: async (order) => {
      if (fault !== null) throw fault;
      const started = start();
      if (hasStarted) return await runs(order);
      started.catch(() => undefined);
      return { bytes: order.bytes };
    },
  };
}

const NOTHING = (): BulkOrder => ({
  bytes: new Uint8Array(0),
  range: { from: 0, to: 0 },
  wanted: [],
  registry: zeroAddress,
  protocol: {
    zapper: zeroAddress,
    exitEscrow: zeroAddress,
    limitEscrow: zeroAddress,
    scheduleEscrow: zeroAddress,
    sessionModule: zeroAddress,
  },
  isFile: true,
});

/** One for the process: with a second one a machine of two cores gains nothing. */
export const processThread = logThread({ maxYoungGenerationSizeMb: YOUNG_MB });

type BulkOptions = {
  deployment: Deployment;
  isFile: boolean;
  logger: Logger;
  /** Default: the process's one. */
  thread?: Pick<Thread, 'run'>;
};

/** For the indexer. Where the thread breaks once, the process takes everything apart itself from then on. */
export function bulkLogs<DB>({
  deployment,
  isFile,
  logger,
  thread = processThread,
}: BulkOptions): TakeApart<DB> {
  const protocol = protocolOf(deployment);
  const registry = deployment.registry.toLowerCase() as Address;
  let isBroken = false;
  return async (held: HeldLogs, routing) => {
    if (isBroken) return null;
    const { projection, wanted } = routing.of(ACCOUNTING);
    const order = {
      bytes: held.bytes,
      range: held.range,
      wanted,
      registry,
      protocol,
      isFile,
    };
    try {
      const answer = await thread.run(order);
      if ('bytes' in answer) {
        held.bytes = answer.bytes;
        return null;
      }
      const { rows, ...told } = answer.made;
      return { ...told, made: new Map([[projection, rowsToWrite<DB>(rows)]]) };
    } catch (error) {
      if (!isBroken) {
        logger.warn(
          { err: error },
          'the thread for large answers broke: they are taken apart in the process from now on',
        );
      }
      isBroken = true;
      if (held.bytes.length > 0) return null;
      throw error;
    }
  };
}
