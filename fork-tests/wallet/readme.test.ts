/**
 * The README's loop, run as it stands there in one shell: against the local chain with its market, and api, keeper and
 * relayer as processes of their own. Between two steps the test looks at what the step has left, as its reader does.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeChainFiles } from '../chain/files.ts';
import { devAccount } from '../chain/seed/accounts.ts';
import { type LocalChain, startLocalChain } from '../chain/start.ts';
import { createStack, type Stack, until } from '../e2e/stack.ts';

const root = join(import.meta.dirname, '..', '..');
const STEP_MS = 120_000;
const addressOf = (role: 'alice' | 'agent') => devAccount(role).account.address;

type Body = Record<string, unknown>;
type Row = Record<string, unknown>;

let chain: LocalChain;
let stack: Stack;
let shell: Shell;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'readme-'));
  chain = await startLocalChain({ port: 0 });
  const deploymentFile = join(folder, 'deployment.json');
  writeChainFiles(deploymentFile, chain.manifest);
  stack = await createStack({ rpcUrl: chain.url, deployment: chain.manifest.deployment });
  await stack.start('api');
  await Promise.all([stack.start('keeper'), stack.start('relayer')]);
  shell = new Shell({ RPC_URLS: chain.url, DEPLOYMENT_FILE: deploymentFile });
}, 300_000);

afterAll(async () => {
  await shell?.end();
  await stack?.stop();
  await chain?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The numbered steps of the loop, with this stack's addresses in its first lines. */
function readmeSteps(): { opening: string; steps: Map<number, string> } {
  const page = readFileSync(join(root, 'README.md'), 'utf8');
  const [, block = ''] = /## The loop by hand\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(page) ?? [];
  const [opening = '', ...parts] = block.split(/^(?=# \d+\. )/m);
  const filled = opening
    .replace(/^ALICE=.*$/m, `ALICE=${addressOf('alice')}`)
    .replace(/^AGENT=.*$/m, `AGENT=${addressOf('agent')}`)
    .replace(/^API=.*$/m, `API=${stack.urls.api}`);
  expect(filled.trim().split('\n')).toHaveLength(3);
  const steps = new Map(parts.map((part) => [Number(/^# (\d+)/.exec(part)?.[1]), part]));
  expect([...steps.keys()]).toEqual(parts.map((_, index) => index + 1));
  return { opening: filled, steps };
}

/** One bash for all steps, as a reader has it. It takes a step from its fourth channel, and says when that is done. */
class Shell {
  readonly #child: ChildProcess;
  readonly #steps: Writable;
  #output = '';
  #complaints = '';

  constructor(env: Record<string, string>) {
    const loop = 'while IFS= read -r -d "" -u 3 step; do eval "$step"; echo "<done $?>"; done';
    this.#child = spawn('bash', ['-o', 'pipefail', '-c', loop], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    this.#steps = this.#child.stdio[3] as Writable;
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#output += chunk.toString('utf8');
    });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#complaints += chunk.toString('utf8');
    });
  }

  async run(step: string): Promise<{ printed: string; complaints: string }> {
    const from = this.#output.length;
    this.#steps.write(`${step}\0`);
    const printed = () => this.#output.slice(from);
    await until(
      `the end of ${step.split('\n')[0]}`,
      async () => (/<done \d+>\n$/.test(printed()) ? true : null),
      STEP_MS,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${printed()}${this.#complaints}`, { cause: error });
    });
    return { printed: printed(), complaints: this.#complaints };
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#steps.end();
    await ended;
  }
}

/** What the step printed, with no refusal but the one that asks for a fee. */
async function runStep(step: string): Promise<string> {
  const { printed, complaints } = await shell.run(step);
  expect(complaints).toBe('');
  expect(printed).toMatch(/<done 0>\n$/);
  const codes = [...printed.matchAll(/"code": ?"(\w+)"/g)].map(([, code]) => code);
  expect(codes.filter((code) => code !== 'FEE_REQUIRED')).toEqual([]);
  return printed;
}

/** Waits for the api to say so: its index is a block or two behind. */
async function said(path: string, holds: (body: Body) => boolean): Promise<Body> {
  let last: unknown = null;
  return await until(path, async () => {
    const { status, body } = await stack.get(`${stack.urls.api}${path}`);
    last = body;
    return status === 200 && holds(body) ? body : null;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${JSON.stringify(last)}`, { cause: error });
  });
}

const rows = (body: Body, name: string): Row[] => body[name] as Row[];

test('the loop of the README does what it says, step by step', async () => {
  const { opening, steps } = readmeSteps();
  const step = async (number: number): Promise<string> => {
    const text = steps.get(number);
    if (text === undefined) throw new Error(`the README has no step ${number}`);
    steps.delete(number);
    return await runStep(text);
  };
  const alice = addressOf('alice');
  await runStep(opening);

  // A wallet buys, sets a stop, and the keeper fills it once the price fell.
  await step(1);
  await step(2);
  await said(`/v1/wallet/${alice}`, (body) => rows(body, 'holdings').length === 1);
  await step(3);
  await said(`/v1/orders/${alice}`, (body) => rows(body, 'orders').length === 0);
  const wallet = await said(`/v1/wallet/${alice}`, (body) => Number(body.usdg) > 99_900);
  expect(wallet.holdings).toEqual([]);
  expect(await step(4)).toContain('"orders": []');

  // An agent trades through the relayer.
  const session = `/v1/agent/session?owner=${alice}&key=${addressOf('agent')}`;
  expect(await step(5)).toMatch(/"status": 402[\s\S]*"status": 200/);
  const { account } = await said(session, (body) => body.active === true);
  await said(`/v1/positions/${String(account)}`, (body) => rows(body, 'positions').length === 1);

  // It buys cover and asks for more; an underwriter fills that.
  await step(6);
  await said(session, (body) => body.coverEnabled === true);
  expect((await step(7)).match(/"status": 200/g)).toHaveLength(2);
  const cover = `/v1/cover/positions/${String(account)}`;
  const bought = await said(cover, (body) => rows(body, 'listings').length === 1);
  expect(bought.positions).toMatchObject([{ ticker: 'CORE', coverUsd: 200, paid: false }]);
  await step(8);
  const filled = await said(cover, (body) => rows(body, 'positions').length === 2);
  expect(filled.listings).toEqual([]);
  const { current } = await said('/v1/cover/weeks', () => true);

  // The weekend pays it, and the book goes on.
  const weekend = await step(9);
  for (const name of ['close', 'push', 'settle', 'payouts']) {
    expect(weekend).toContain(`"step": "${name}"`);
  }
  // As a reader does who pastes both: nothing is waited for between them.
  const told = await step(10);
  expect(told.match(/"paid": true/g)).toHaveLength(2);
  expect(told).not.toMatch(/"paid": false/);
  const paid = await said(cover, (body) => rows(body, 'positions').every((row) => row.paid));
  expect(paid.positions).toHaveLength(2);
  for (const { coverUsd, paidOut, move } of rows(paid, 'positions')) {
    expect(Number(move)).toBeLessThan(-0.06);
    expect(Number(paidOut) / Number(coverUsd)).toBeGreaterThan(0.4);
  }
  const book = await said(`/v1/cover/book/CORE`, (body) =>
    rows(body, 'ranges').some(({ offers }) =>
      (offers as Row[]).some(({ pricePer1k, coverUsd }) => pricePer1k === 5.5 && coverUsd === 500),
    ),
  );
  expect(Number(book.week)).toBe(Number(current) + 1);
  expect([...steps.keys()]).toEqual([]);
}, 600_000);
