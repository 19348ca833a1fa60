import { expect, test } from 'vitest';
import { keeperChecks } from './readiness.ts';
import type { KeeperStatus } from './dry-run.ts';
import type { TickStatus } from './tick.ts';

const LIMITS = { tickMs: 60_000, sourceMs: 30_000, silentMs: 13_000, headMs: 20_000 };
const T = 1_800_000_000_000;

function worldOf(
  change: { advancedAtMs?: number | null; fault?: string | null; readAtMs?: number } = {},
) {
  const { advancedAtMs = T, fault = null, readAtMs = T } = change;
  const market = { gasPriceWei: 1n, ethPrice: null };
  const world = { blockNumber: 1n, timestamp: 1n, market, readAtMs };
  return { world: advancedAtMs === null ? null : world, advancedAtMs, fault };
}

function reasons(change: {
  replica?: KeeperStatus;
  tick?: Partial<TickStatus>;
  world?: { advancedAtMs: number | null; fault: string | null; readAtMs?: number };
  usable?: boolean;
  low?: string;
  duties?: string;
  now?: number;
}): string[] {
  let at = T;
  const checks = keeperChecks({
    replica: () => change.replica ?? { tag: 'leads' },
    leading: () =>
      change.replica !== undefined
        ? null
        : {
            sinceMs: T,
            tick: {
              lastTickMs: T,
              sourceOkMs: T,
              sourceFault: null,
              storeFault: null,
              coverWaits: null,
              ...change.tick,
            },
            world: worldOf(change.world),
            sender: {
              wallets: [
                {
                  address: '0x0000000000000000000000000000000000000001',
                  balanceWei: 0n,
                  inFlight: 0,
                  usable: change.usable ?? true,
                  reason: change.usable === false ? 'no ether' : null,
                },
              ],
              queued: 0,
              inFlight: 0,
              oldestUnsettledMs: 0,
            },
            low: change.low ?? null,
            duties: change.duties ?? null,
          },
    limits: LIMITS,
    now: () => at,
  });
  at = change.now ?? T;
  return checks.flatMap(({ name, check }) => {
    const result = check();
    if (!result.ok) return [`${name}: ${result.reason}`];
    return name !== 'lead' && result.note !== undefined ? [`${name} (ok): ${result.note}`] : [];
  });
}

test.each<[string, Parameters<typeof reasons>[0], string[]]>([
  ['all is well', {}, []],
  [
    'a wallet runs out of ETH',
    { low: '0x01 has ETH for 3 transactions' },
    ['wallets (ok): 0x01 has ETH for 3 transactions'],
  ],
  [
    'a duty waits for the budget',
    { duties: 'a duty that may cost $2 waits' },
    ['duties (ok): a duty that may cost $2 waits'],
  ],
  ['no tick has finished', { tick: { lastTickMs: null } }, ['loop: no tick has finished yet']],
  [
    'ticks have stopped',
    { tick: { lastTickMs: T - 60_001 } },
    ['loop: no tick has finished for 60 s'],
  ],
  [
    'cover work waits for long',
    { tick: { coverWaits: 'cover work waits: 1 snapshot for 6 min' } },
    ['cover (ok): cover work waits: 1 snapshot for 6 min'],
  ],
  [
    'no source answers',
    { tick: { sourceOkMs: T - 40_000, sourceFault: 'source 0: HTTP 500' } },
    ['jobs: no job source has answered for 40 s: source 0: HTTP 500'],
  ],
  [
    'the head is frozen',
    { world: { advancedAtMs: T - 21_000, fault: null } },
    ['chain: the head has not advanced for 21 s'],
  ],
  [
    'the chain is out of reach',
    { world: { advancedAtMs: T, fault: 'TimeoutError' } },
    ['chain: the chain does not answer: TimeoutError'],
  ],
  [
    'a read of the head hangs and its deadline is far',
    { world: { advancedAtMs: T - 14_000, fault: null, readAtMs: T - 14_000 } },
    ['chain: the chain does not answer: no head was read for 14 s'],
  ],
  [
    'nothing was read yet',
    { world: { advancedAtMs: null, fault: null } },
    ['chain: no block has been read yet'],
  ],
  ['no wallet is usable', { usable: false }, ['wallets: no ether']],
  [
    'the journal fails',
    { tick: { storeFault: 'SqliteError' } },
    ['store: the journal cannot be written: SqliteError'],
  ],
  ['it stands by, however long', { replica: { tag: 'stands_by' }, now: T + 1e9 }, []],
  [
    'it takes over',
    { replica: { tag: 'takes_over' } },
    ['lead: it is taking the lead: the journal is being repaired'],
  ],
  [
    'it could not take over',
    { replica: { tag: 'fails', reason: 'the database does not answer: ECONNREFUSED' } },
    ['lead: the database does not answer: ECONNREFUSED'],
  ],
])('readiness tells when %s', (_, change, expected) => {
  expect(reasons(change)).toEqual(expected);
});
