/** What an operator asks of the relayer beside it: why, statement, quarantine. Books that equal the balances. */
import type { Address, Hex } from 'viem';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { actionDigest } from '../../contracts-abi/typed-data.ts';
import { runDoctor } from '../../relayer/cli/doctor.ts';
import { runQuarantine } from '../../relayer/cli/quarantine.ts';
import { runStatement } from '../../relayer/cli/statement.ts';
import { runWhy } from '../../relayer/cli/why.ts';
import { readStatement, totalOf } from '../../relayer/money/statement.ts';
import { besideRelayer } from '../../relayer/store.ts';
import { useFork } from '../harness/fork.ts';
import { type Agent, buyAction, openAgent, signedBody, usdgOf } from './agent.ts';
import {
  type DataFolder,
  dataFolder,
  relayerEnv,
  startTestRelayer,
  type TestRelayer,
  until,
} from './relayer.ts';

const fork = useFork();
let data: DataFolder;
let env: Record<string, string>;
let relayer: TestRelayer;
let agent: Agent;

beforeEach(async () => {
  data = dataFolder();
  env = relayerEnv(fork, data);
  agent = await openAgent(fork, 'alice');
  relayer = await startTestRelayer(fork, data);
});
afterEach(async () => {
  await relayer?.stop();
  data.remove();
});

const COLD = '0x000000000000000000000000000000000000c01d';
const wallet = (): Address => fork.accounts.relayer.account.address;

/** Quoted, signed again, mined. Returns the digests of both and the fee. */
async function bought(): Promise<{ quoted: Hex; mined: Hex; fee: bigint }> {
  const action = await buyAction(fork, agent, 50n * USD);
  const asked = await relayer.post(await signedBody(fork, agent, action));
  expect(asked.status).toBe(402);
  const fee = BigInt(String(asked.body.requiredFee));
  const paid = { ...action, fee };
  const answered = await relayer.post(await signedBody(fork, agent, paid));
  expect(answered.status).toBe(200);
  const module = fork.deployment.sessionModule;
  return { quoted: actionDigest(action, module), mined: actionDigest(paid, module), fee };
}

async function said(run: (say: (line: string) => void) => Promise<number>, code: number) {
  const lines: string[] = [];
  expect(await run((line) => lines.push(line))).toBe(code);
  return lines.join('\n');
}

const why = (digest: Hex): Promise<string> => said((say) => runWhy(digest, env, say), 0);

describe('why', () => {
  test('tells every check and state of an action in their order, beside the running relayer', async () => {
    const { quoted, mined } = await bought();
    const text = await until('the trail of a mined action', async () => {
      const lines = await why(mined);
      return /booked .*: mined/.test(lines) && lines.includes('answered: 200') ? lines : null;
    });
    const order = ['checked', 'simulated', 'claimed', 'handed over', 'broadcast', 'mined'];
    const places = order.map((what) => text.indexOf(` ${what}: `));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(text).toContain(`key ${agent.key.address}`);
    expect(text).toMatch(/attempt 0 stands at mined by 0x[0-9a-f]{64} in block \d+/);
    expect(text).toMatch(
      /journal: attempt 0 signed to execute: 0x[0-9a-f]{64} by 0x\w{40} nonce 0/,
    );
    const asked = await why(quoted);
    expect(asked).toMatch(/ quoted: FEE_REQUIRED: .*; requiredFee \d+; quoteExpiresAt \d+/);
    expect(asked).not.toContain('claimed: ');
  });

  test('names what refused an action, and knows nothing of one that never came', async () => {
    const action = await buyAction(fork, agent, 50n * USD, { deadline: await fork.now() });
    await relayer.post(await signedBody(fork, agent, action));
    const digest = actionDigest(action, fork.deployment.sessionModule);
    const text = await until('the refusal', async () => {
      const lines: string[] = [];
      await runWhy(digest, env, (line) => lines.push(line));
      const all = lines.join('\n');
      return all.includes('refused: ') ? all : null;
    });
    expect(text).toMatch(/refused: EXPIRED \(deadline\): /);
    const stranger = `0x${'12'.repeat(32)}` as const;
    expect(await said((say) => runWhy(stranger, env, say), 1)).toContain('nothing is known');
  });
});

describe('the statement', () => {
  test('equals what the wallet gained and spent, to the base unit, and is grouped by key and day', async () => {
    const usdgBefore = await usdgOf(fork, wallet());
    const weiBefore = await fork.client.getBalance({ address: wallet() });
    const first = await bought();
    const second = await bought();
    const statement = await until('both are booked', async () => {
      const read = await besideRelayer(env, true, ({ db }) => readStatement(db, 0));
      return totalOf(read.earnings).executed === 2 ? read : null;
    });
    const total = totalOf(statement.earnings);
    expect(total.feesUsdg).toBe(first.fee + second.fee);
    expect(await usdgOf(fork, wallet())).toBe(usdgBefore + total.feesUsdg);
    expect(await fork.client.getBalance({ address: wallet() })).toBe(weiBefore - total.gasWei);
    expect(total.gasUsdg).toBeGreaterThan(0n);
    expect(statement.earnings).toMatchObject([
      { key: agent.key.address, account: agent.account, executed: 2, unpriced: 0 },
    ]);

    let text = '';
    const write = (part: string) => {
      text += part;
    };
    expect(await runStatement({ since: '1d', csv: false, by: 'key' }, env, write)).toBe(0);
    expect(text).toMatch(new RegExp(`^${agent.account} +${agent.key.address} +2 +0 +`, 'm'));
    expect(text).toMatch(/^total +.* +2 +0 +/m);
    text = '';
    expect(await runStatement({ since: '1d', csv: true, by: 'all' }, env, write)).toBe(0);
    expect(text.split('\r\n')[1]).toContain(`,${total.gasWei},`);
    expect(await runStatement({ since: 'lately', csv: true, by: 'all' }, env, write)).toBe(2);
  });
});

describe('the doctor', () => {
  test('finds nothing to fix where all is well, beside the running relayer', async () => {
    const treasury = fork.accounts.carol;
    const full = { ...env, RELAY_TREASURY_PRIVATE_KEY: treasury.privateKey, RELAY_SWEEP_TO: COLD };
    const text = await said((say) => runDoctor(full, say), 0);
    expect(text).not.toContain('fail');
    expect(text).toMatch(/^(ok|warn) +rpc 1 +127\.0\.0\.1:\d+: chain 4663/m);
    expect(text).toMatch(/^ok +deployment +the contracts of the file name each other/m);
    expect(text).toMatch(/^ok +fees +600000 gas are quoted at \d+\.\d{6} USDG/m);
    expect(text).toMatch(/^ok +wallet +0x\w+: \d+(\.\d+)? ETH for about \d+ transactions/m);
    expect(text).toMatch(new RegExp(`^ok +treasury +${treasury.account.address}: \\d+\\.`, 'm'));
    expect(text).toMatch(/^ok +store +sqlite, \d+ slots, 0 keys kept out; a relayer has it/m);
  });

  test('says of each broken part what is wrong, and still looks at the others', async () => {
    await fork.client.setBalance({ address: wallet(), value: 0n });
    const broken = {
      ...env,
      RPC_URLS: `http://127.0.0.1:1/secret-key,${fork.url}`,
      RELAY_WAIT_MS: 'long',
      RELAY_TREASURY_PRIVATE_KEY: env.WALLET_PRIVATE_KEYS ?? '',
      RELAY_LISTS_FILE: `${data.path}/missing.json`,
    };
    const text = await said((say) => runDoctor(broken, say), 1);
    expect(text).toMatch(/^fail +settings +RELAY_WAIT_MS/m);
    expect(text).toMatch(/^fail +rpc 1 +127\.0\.0\.1:1: /m);
    expect(text).toMatch(/^(ok|warn) +rpc 2 +/m);
    expect(text).toMatch(/^fail +wallet +.*0 ETH for about 0 transactions/m);
    expect(text).toMatch(/^fail +treasury +.*is one of the wallets/m);
    expect(text).toMatch(/^fail +lists +/m);
    expect(text).toMatch(/^ok +deployment +/m);
    expect(text).not.toContain('secret-key');
    expect(text).not.toContain(env.WALLET_PRIVATE_KEYS);
  });
});

describe('quarantine', () => {
  test('lists who is kept out, and a released key may post at once', async () => {
    const now = Date.now();
    const key = agent.key.address;
    await besideRelayer(env, false, async ({ db }) => {
      const row = {
        key,
        strikes: 2,
        started_at: now,
        until: now + 3_600_000,
        lost_usdg: 1_500_000,
      };
      await db.insertInto('relay_quarantine').values(row).execute();
    });
    const body = await signedBody(fork, agent, await buyAction(fork, agent, 50n * USD));
    expect(await relayer.post(body)).toMatchObject({ status: 429 });
    const list = await said((say) => runQuarantine(null, env, say), 0);
    expect(list).toMatch(new RegExp(`^${key} +\\d{4}-.*Z +\\d{4}-.*Z +2 +1\\.500000$`, 'm'));
    expect(await said((say) => runQuarantine(key, env, say), 0)).toContain('may post again');
    expect(await said((say) => runQuarantine(key, env, say), 1)).toContain('is not kept out');
    expect(await relayer.post(body)).toMatchObject({ status: 402 });
    expect(await said((say) => runQuarantine(null, env, say), 0)).toBe('no key is kept out');
  });
});
