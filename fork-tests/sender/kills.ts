/**
 * Kills a sending process with SIGKILL at every durable point, again and again on one journal and one chain, and
 * checks by the chain's own events that no intent was lost and none was executed twice.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { DURABLE_POINTS, type DurablePoint } from '../../runtime/sender/context.ts';
import { type SenderTables, senderMigrations } from '../../runtime/sender/tables.ts';
import { openStore } from '../../runtime/store/store.ts';
import { type Anvil, rpc, startAnvil } from '../anvil.ts';
import { startProxy } from '../proxy/proxy.ts';
import { fund } from './bench.ts';
import type { KillPlan } from './kill-child.ts';
import { callFor, executions, installTarget } from './target.ts';

export type KillReport = {
  kills: number;
  /** Per point: how often the process was killed there, and the phases of the journal's open rows at that moment. */
  histogram: Map<DurablePoint, { kills: number; phases: Record<string, number> }>;
  intents: number;
  outcomes: Record<string, number>;
  /** What must be empty: intents with an outcome that the chain contradicts, and rows that never settled. */
  problems: string[];
};

/** What a node answers that takes a transaction and loses it. */
const LOST_HASH = `0x${'0'.repeat(64)}`;
/** Points that are reached only when nothing is mined: the node then loses what it is sent. */
const NEEDS_STANDSTILL = new Set<DurablePoint>([
  'replacement_persisted',
  'replacement_sent',
  'cancel_persisted',
  'cancel_sent',
]);
const BATCH = 6;
/** Of each call, in the lives that need not ask for it. */
const KNOWN_GAS = '300000';
const LIFE_MS = 120_000;

/** Runs `rounds` kills at each durable point. */
export async function runKills(
  rounds: number,
  progress: (line: string) => void = () => undefined,
): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'kills-'));
  const anvil = await startAnvil({ blockTime: 0.1 });
  const proxy = await startProxy(anvil.url);
  try {
    await installTarget(anvil.url);
    const privateKeys = [generatePrivateKey(), generatePrivateKey()];
    for (const key of privateKeys) {
      await fund(anvil.url, privateKeyToAccount(key).address, '100');
    }
    const databaseUrl = `file:${folder}/journal.sqlite`;
    const base = { rpcUrl: proxy.url, databaseUrl, privateKeys };
    const report: KillReport = {
      kills: 0,
      histogram: new Map(),
      intents: 0,
      outcomes: {},
      problems: [],
    };
    let life = 0;
    for (let round = 0; round < rounds; round += 1) {
      for (const point of DURABLE_POINTS) {
        life += 1;
        const batch = Array.from({ length: BATCH }, (_, index) => `life${life}-${index}`);
        // A cancel comes at once only for an intent with a limit of its own, at the head of an empty line.
        const cancels = point.startsWith('cancel');
        if (point === 'cancel_persisted')
          await settle({ ...base, batch: [], crash: null, maxFeePerGas: null, gas: null }, report);
        const lost = NEEDS_STANDSTILL.has(point)
          ? proxy.on('eth_sendRawTransaction', {}, { fault: 'result', result: LOST_HASH })
          : null;
        const ended = await runLife({
          ...base,
          batch,
          crash: { point, nth: 1 + ((round + life) % (cancels ? 2 : 3)) },
          maxFeePerGas: cancels ? (await baseFee(anvil.url)).toString() : null,
          gas: life % 2 === 0 ? KNOWN_GAS : null,
        });
        lost?.remove();
        if (ended !== 'SIGKILL')
          report.problems.push(`life ${life} (${point}) ended with ${ended}`);
        else report.kills += 1;
        await note(report, point, databaseUrl);
        progress(`${report.kills} kills, last at ${point}`);
      }
    }
    await settle({ ...base, batch: ['last'], crash: null, maxFeePerGas: null, gas: null }, report);
    await judge(report, anvil, databaseUrl, privateKeys);
    return report;
  } finally {
    await proxy.stop();
    await anvil.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A life that ends by itself once everything is final. */
async function settle(plan: KillPlan, report: KillReport): Promise<void> {
  const ended = await runLife(plan);
  if (ended !== '0') report.problems.push(`a life without a kill ended with ${ended}`);
}

/** Enough for a first attempt and too little for any raise. */
async function baseFee(url: string): Promise<bigint> {
  const block = await rpc<{ baseFeePerGas: string }>(url, 'eth_getBlockByNumber', [
    'latest',
    false,
  ]);
  return BigInt(block.baseFeePerGas) + 10_000_000n;
}

/** How the process ended: its exit code, its signal, or "timeout". */
async function runLife(plan: KillPlan): Promise<string> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', join(import.meta.dirname, 'kill-child.ts')],
    {
      env: { ...process.env, KILL_PLAN: JSON.stringify(plan) },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  const timer = setTimeout(() => child.kill('SIGTERM'), LIFE_MS);
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(timer);
  return signal ?? String(code);
}

async function note(report: KillReport, point: DurablePoint, url: string): Promise<void> {
  const store = await openStore<SenderTables>({ url, migrations: senderMigrations });
  try {
    const rows = await store.db
      .selectFrom('sender_intent')
      .select(['phase'])
      .where('confirmed', '=', 0)
      .execute();
    const known = report.histogram.get(point) ?? { kills: 0, phases: {} };
    known.kills += 1;
    for (const { phase } of rows) known.phases[phase] = (known.phases[phase] ?? 0) + 1;
    report.histogram.set(point, known);
  } finally {
    await store.close();
  }
}

async function judge(
  report: KillReport,
  anvil: Anvil,
  url: string,
  privateKeys: readonly `0x${string}`[],
): Promise<void> {
  const onChain = await executions(anvil.url);
  const store = await openStore<SenderTables>({ url, migrations: senderMigrations });
  const rows = await store.db.selectFrom('sender_intent').selectAll().execute();
  await store.close();
  for (const row of rows) {
    report.intents += 1;
    const outcome = `${row.phase}${row.confirmed === 1 ? '' : ' (open)'}`;
    report.outcomes[outcome] = (report.outcomes[outcome] ?? 0) + 1;
    if (row.kind === 'fill') continue;
    const expected = row.phase === 'mined' ? 1 : 0;
    const seen = onChain.get(callFor(row.key)) ?? 0;
    if (seen !== expected) report.problems.push(`${row.key} is ${row.phase} but ran ${seen} times`);
    if (row.confirmed !== 1) report.problems.push(`${row.key} never settled: ${row.phase}`);
    onChain.delete(callFor(row.key));
  }
  if (onChain.size > 0) report.problems.push(`${onChain.size} executions without an intent`);
  for (const key of privateKeys) {
    const { address } = privateKeyToAccount(key);
    const [latest, pending] = await Promise.all(
      ['latest', 'pending'].map((tag) =>
        rpc<string>(anvil.url, 'eth_getTransactionCount', [address, tag]),
      ),
    );
    if (latest !== pending)
      report.problems.push(`${address} has a stuck nonce: ${latest}/${pending}`);
  }
}

/** The report as lines for a terminal. */
export function renderKills(report: KillReport): string {
  const lines = [`${report.kills} kills, ${report.intents} intents`];
  for (const [point, { kills, phases }] of report.histogram) {
    const open = Object.entries(phases)
      .map(([phase, count]) => `${phase} ${count}`)
      .join(', ');
    lines.push(`  ${point.padEnd(22)} ${'#'.repeat(kills)} ${kills}  open: ${open}`);
  }
  lines.push(`outcomes: ${JSON.stringify(report.outcomes)}`);
  lines.push(...report.problems.map((problem) => `PROBLEM: ${problem}`));
  lines.push(report.problems.length === 0 ? 'no intent lost, none executed twice' : 'FAILED');
  return lines.join('\n');
}
