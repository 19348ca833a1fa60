/**
 * The process that the kill test kills: a sender on a given journal, which submits a batch and, when told to, ends
 * itself with SIGKILL at the n-th passing of a durable point. Without a point it settles everything and exits 0.
 */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { isFinal } from '../../runtime/sender/entry.ts';
import { senderOptions, senderSettings } from '../../runtime/sender/options.ts';
import { createSender } from '../../runtime/sender/sender.ts';
import { entryOf, type SenderTables, senderMigrations } from '../../runtime/sender/tables.ts';
import { openStore } from '../../runtime/store/store.ts';
import { callFor, TARGET } from './target.ts';

export type KillPlan = {
  rpcUrl: string;
  databaseUrl: string;
  privateKeys: readonly Hex[];
  /** Keys to submit in this life. */
  batch: readonly string[];
  crash: { point: string; nth: number } | null;
  /** Limit of each intent of this batch, wei per gas; null: none. */
  maxFeePerGas: string | null;
  /** Gas of each intent of this batch; null: it is estimated. With it an intent may be written signed at once. */
  gas: string | null;
};

const plan = JSON.parse(process.env['KILL_PLAN'] ?? 'null') as KillPlan;
const store = await openStore<SenderTables>({
  url: plan.databaseUrl,
  migrations: senderMigrations,
  exclusive: 'sender',
});
let passed = 0;
const sender = createSender({
  rpc: { urls: [plan.rpcUrl], timeoutMs: 5_000 },
  chainId: 4663,
  wallets: plan.privateKeys.map((key) => privateKeyToAccount(key)),
  store,
  settings: {
    ...senderSettings(senderOptions.parse({ SENDER_CONFIRMATIONS: '4', SENDER_TICK_MS: '20' })),
    stuckAfterMs: 700,
    rebroadcastMs: 300,
    maxInFlightPerWallet: 4,
  },
  logger: pino({ level: 'silent' }),
  registry: new Registry(),
  metricsPrefix: 'basket_kill',
  onDurablePoint: (point) => {
    if (plan.crash === null || point !== plan.crash.point) return;
    passed += 1;
    if (passed === plan.crash.nth) process.kill(process.pid, 'SIGKILL');
  },
});
await sender.start();
await sender.freshen();
await Promise.all(
  plan.batch.map((key) =>
    sender.submit(
      {
        key,
        kind: 'test',
        to: TARGET,
        data: callFor(key),
        value: 0n,
        ...(plan.gas === null ? {} : { gas: BigInt(plan.gas) }),
        ...(plan.maxFeePerGas === null ? {} : { maxFeePerGas: BigInt(plan.maxFeePerGas) }),
      },
      { timeoutMs: 1_000 },
    ),
  ),
);

const end = Date.now() + 60_000;
for (;;) {
  const rows = await store.db.selectFrom('sender_intent').selectAll().execute();
  if (rows.every((row) => isFinal(entryOf(row, [])))) break;
  if (Date.now() > end) {
    process.stderr.write(
      `not settled: ${JSON.stringify(sender.status(), (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))}\n`,
    );
    process.exit(3);
  }
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
}
await sender.stop(0);
await store.close();
process.exit(0);
