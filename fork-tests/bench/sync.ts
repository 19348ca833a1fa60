/**
 * Logs per second of a whole sync into an empty SQLite file (durable, every projection of the process, rows and cursor
 * in one transaction) over bare `eth_getLogs` of the identical ranges with the identical filters, answers parsed as
 * JSON.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIndex } from '../api/index-under-test.ts';
import { rpc } from '../anvil.ts';
import { startBenchChain } from './measure/chain.ts';
import { sideBySide } from './measure/rounds.ts';
import { makeHistory } from './sync/history.ts';
import type { Bench } from './types.ts';

/** Blocks a range: at 400 transfers a block, the 10,000 logs that many providers allow in an answer. */
const RANGE = 25;
/** The median of five differed by a sixth from run to run. */
const ROUNDS = 15;

type Ask = (request: { method: string; params?: unknown }) => Promise<unknown>;

export const bench: Bench = async ({ say }) => {
  const { anvil, manifest } = await startBenchChain(say);
  const folder = mkdtempSync(join(tmpdir(), 'bench-sync-'));
  try {
    await makeHistory(anvil.url, manifest, say);
    let runs = 0;
    /** Seconds; `watch` sees every request. */
    const sync = async (watch?: (params: unknown) => void): Promise<number> => {
      const database = `file:${join(folder, `${(runs += 1)}.sqlite`)}`;
      const index = await openIndex(anvil.url, manifest.deployment, { database, maxRange: RANGE });
      if (watch !== undefined) {
        const client = index.client as unknown as { request: Ask };
        const ask = client.request;
        client.request = (request) => {
          if (request.method === 'eth_getLogs') watch(request.params);
          return ask(request);
        };
      }
      const started = performance.now();
      await index.catchUp();
      const seconds = (performance.now() - started) / 1_000;
      await index.close();
      return seconds;
    };
    const asked: unknown[] = [];
    await sync((params) => asked.push(params));
    const bare = async (): Promise<{ logs: number; seconds: number }> => {
      let logs = 0;
      const started = performance.now();
      for (const params of asked) {
        logs += (await rpc<unknown[]>(anvil.url, 'eth_getLogs', params as unknown[])).length;
      }
      return { logs, seconds: (performance.now() - started) / 1_000 };
    };
    const { logs } = await bare();
    if (logs < 20_000) throw new Error(`only ${logs} logs to read`);
    say(`${logs} logs in ${asked.length} ranges of ${RANGE} blocks`);
    const sides = await sideBySide({
      rounds: ROUNDS,
      ours: async () => logs / (await sync()),
      baseline: async () => logs / (await bare()).seconds,
      say,
    });
    return {
      ratio: sides.ratio,
      oursLogsPerSecond: sides.ours,
      baselineLogsPerSecond: sides.baseline,
      logs,
      ranges: asked.length,
      ratios: sides.ratios,
    };
  } finally {
    await anvil.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};
