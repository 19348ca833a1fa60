/**
 * Two senders on one PostgreSQL journal, the lead passing from one to the other at the worst moments: the old leader has
 * not noticed, or is between two steps. Each intent runs once, under one nonce.
 */
import { sql } from 'kysely';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DurablePoint } from '../../runtime/sender/context.ts';
import { createRpc, type Rpc } from '../../runtime/sender/rpc.ts';
import { createSender } from '../../runtime/sender/sender.ts';
import { type SenderTables, senderMigrations } from '../../runtime/sender/tables.ts';
import type { Sender } from '../../runtime/sender/types.ts';
import { createLead, type Fence, type Lead, Overtaken } from '../../runtime/store/lead.ts';
import { contend } from '../../runtime/store/leadership.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { type Anvil, rpc, startAnvil } from '../anvil.ts';
import { usePostgres } from '../harness/postgres.ts';
import { fund, intentFor, settled, TEST_SETTINGS, transactionCount, until } from './bench.ts';
import { executions, installTarget } from './target.ts';

const postgres = usePostgres();
const account = privateKeyToAccount(generatePrivateKey());
const closing: (() => Promise<unknown>)[] = [];
let anvil: Anvil;
let database = '';
let number = 0;

beforeAll(async () => {
  anvil = await startAnvil();
  await installTarget(anvil.url);
});
afterAll(async () => {
  await anvil?.stop();
});
beforeEach(async () => {
  number += 1;
  database = await postgres.database(`sender${number}`);
  const clean = await rpc<string>(anvil.url, 'evm_snapshot');
  closing.push(() => rpc(anvil.url, 'evm_revert', [clean]));
  await fund(anvil.url, account.address, '10');
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  await rpc(anvil.url, 'evm_setAutomine', [true]);
});

type Contender = { lead: Lead; store: Store<SenderTables> };

/** `notices: false`: behind a half-open connection it believes in its lead for ever. */
async function contender({ notices = true } = {}): Promise<Contender> {
  const store = await openStore<SenderTables>({ url: database, migrations: senderMigrations });
  const leadership = contend(database, 'test');
  const lead = createLead({
    store,
    leadership: notices ? leadership : { ...leadership, holds: () => true },
    name: 'test',
  });
  closing.push(async () => {
    await lead.release();
    await store.close();
  });
  return { lead, store };
}

async function taken({ lead }: Contender): Promise<Fence> {
  const answer = await lead.take();
  if (answer.tag !== 'taken') throw new Error(`it ${answer.tag}`);
  return answer.fence;
}

async function senderUnder(
  { store }: Contender,
  fence: Fence,
  more: { onDurablePoint?: (point: DurablePoint) => void; port?: Rpc } = {},
): Promise<{ sender: Sender; fatal: unknown[] }> {
  const fatal: unknown[] = [];
  const sender = createSender({
    rpc: more.port ?? { urls: [anvil.url], timeoutMs: 5_000 },
    chainId: 4663,
    wallets: [account],
    store,
    fence,
    settings: { ...TEST_SETTINGS, stuckAfterMs: 60_000 },
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    metricsPrefix: 'basket_test',
    onFatal: (error) => fatal.push(error),
    ...(more.onDurablePoint === undefined ? {} : { onDurablePoint: more.onDurablePoint }),
  });
  closing.push(() => sender.stop(0));
  await sender.start();
  return { sender, fatal };
}

/** The server drops the lock; the next one leads. */
async function overtake(old: Contender, next: Contender): Promise<Fence> {
  expect((await next.lead.take()).tag).toBe('follows');
  await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`.execute(
    old.store.db,
  );
  let fence: Fence | null = null;
  await until('the next one leads', async () => {
    const answer = await next.lead.take();
    if (answer.tag === 'taken') fence = answer.fence;
    return fence !== null;
  });
  if (fence === null) throw new Error('unreachable');
  return fence;
}

function closedGate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

async function attemptsOf({ store }: Contender) {
  return await store.db.selectFrom('sender_attempt').selectAll().execute();
}

async function expectOnce(sender: Sender, keys: readonly string[]): Promise<void> {
  for (const key of keys) expect(await settled(sender, key)).toMatchObject({ tag: 'mined' });
  expect([...(await executions(anvil.url)).values()]).toEqual(keys.map(() => 1));
  expect(await transactionCount(anvil.url, account.address)).toBe(keys.length);
}

describe('a leader that was overtaken and has not noticed', () => {
  it('takes no new work; what it has out keeps its nonce and lands once', async () => {
    const [old, next] = [await contender({ notices: false }), await contender()];
    await rpc(anvil.url, 'evm_setAutomine', [false]);
    const stale = await senderUnder(old, await taken(old));
    const sent = await stale.sender.submit(intentFor('a'));
    expect(sent).toMatchObject({ tag: 'broadcast', nonce: 0 });
    const newer = await senderUnder(next, await overtake(old, next));

    await expect(stale.sender.submit(intentFor('b'))).rejects.toThrow(Overtaken);
    expect(stale.fatal).toMatchObject([{ name: 'Overtaken' }]);
    expect(await newer.sender.get('b')).toBe(null);
    expect(await newer.sender.submit(intentFor('b'))).toMatchObject({ tag: 'broadcast', nonce: 1 });
    await rpc(anvil.url, 'evm_setAutomine', [true]);
    await rpc(anvil.url, 'evm_mine');
    await expectOnce(newer.sender, ['a', 'b']);
    expect(await attemptsOf(next)).toHaveLength(2);
  });

  it('stores nothing that it has signed: the next one uses that nonce', async () => {
    const [old, next] = [await contender({ notices: false }), await contender()];
    const fence = await taken(old);
    const gate = closedGate();
    let signed = false;
    const stale = await senderUnder(
      old,
      {
        ...fence,
        check: async (trx) => {
          // The bytes are about to be stored: the transaction has looked at nothing yet.
          if (signed) await gate.opened;
          await fence.check(trx);
        },
      },
      {
        onDurablePoint: (point) => {
          signed = signed || point === 'signed';
        },
      },
    );
    const given = stale.sender.submit(intentFor('a'), { timeoutMs: 20_000 });
    await until('the bytes are signed', () => signed);
    const newer = await senderUnder(next, await overtake(old, next));
    gate.open();
    await given;
    await until('the old one has ended', () => stale.fatal.length > 0);
    await expectOnce(newer.sender, ['a']);
    expect(await attemptsOf(next)).toMatchObject([{ nonce: 0 }]);
  });

  it('sends late what it had stored: the next one has sent the same bytes', async () => {
    const [old, next] = [await contender({ notices: false }), await contender()];
    const gate = closedGate();
    const port = createRpc({ urls: [anvil.url], timeoutMs: 5_000 });
    closing.push(async () => port.close());
    const sends: string[] = [];
    let asked = false;
    const stale = await senderUnder(old, await taken(old), {
      port: {
        ...port,
        untilResult: async (call, goOn) => {
          asked = true;
          await gate.opened;
          sends.push(String(call.params[0]));
          return await port.untilResult(call, goOn);
        },
      },
    });
    const given = stale.sender.submit(intentFor('a'), { timeoutMs: 20_000 });
    await until('the bytes are about to go out', () => asked);
    const newer = await senderUnder(next, await overtake(old, next));
    expect(await settled(newer.sender, 'a')).toMatchObject({ tag: 'mined' });
    gate.open();
    await given;
    await until('the old one has ended', () => stale.fatal.length > 0);
    await expectOnce(newer.sender, ['a']);
    const [attempt] = await attemptsOf(next);
    expect(sends).toEqual([attempt?.raw]);
  });
});

describe('a leader that knows that it lost the lead', () => {
  it('sends not even what it has stored: the next one does', async () => {
    const [old, next] = [await contender(), await contender()];
    const fence = await taken(old);
    const port = createRpc({ urls: [anvil.url], timeoutMs: 5_000 });
    closing.push(async () => port.close());
    let sends = 0;
    let lost = false;
    const stale = await senderUnder(
      old,
      { ...fence, holds: () => !lost && fence.holds() },
      {
        onDurablePoint: (point) => {
          lost = lost || point === 'persisted';
        },
        port: {
          ...port,
          untilResult: async (call, goOn) => {
            sends += 1;
            return await port.untilResult(call, goOn);
          },
          everywhere: async (calls) => {
            sends += calls.length;
            return await port.everywhere(calls);
          },
        },
      },
    );
    await stale.sender.submit(intentFor('a'), { timeoutMs: 20_000 });
    expect(stale.fatal).toMatchObject([{ name: 'Overtaken' }]);
    const newer = await senderUnder(next, await overtake(old, next));
    await expectOnce(newer.sender, ['a']);
    expect(sends).toBe(0);
    expect(await attemptsOf(next)).toHaveLength(1);
  });
});

describe('the lead', () => {
  it('has a fence for each term: that of an old one lets nothing through when its process leads anew', async () => {
    const [one, other] = [await contender({ notices: false }), await contender()];
    const first = await taken(one);
    await overtake(one, other);
    await other.lead.release();
    let second: Fence | null = null;
    await until('the first leads again', async () => {
      const answer = await one.lead.take();
      if (answer.tag === 'taken') second = answer.fence;
      return second !== null;
    });
    const under = (fence: Fence | null): Promise<void> =>
      one.store.db.transaction().execute(async (trx) => fence?.check(trx));
    await expect(under(first)).rejects.toThrow(Overtaken);
    await under(second);
  });

  it('passes on though a leader hangs within a transaction: the server ends that, and nothing of it stays', async () => {
    const [one, other] = [await contender({ notices: false }), await contender()];
    const fence = await taken(one);
    const { opened, open } = closedGate();
    const { opened: asleep, open: fallAsleep } = closedGate();
    const hanging = one.store.db.transaction().execute(async (trx) => {
      await fence.check(trx);
      fallAsleep();
      await opened;
      await fence.check(trx);
    });
    const end = hanging.then(
      () => 'committed',
      () => 'undone',
    );
    await asleep;
    await overtake(one, other);
    open();
    expect(await end).toBe('undone');
  }, 60_000);
});
