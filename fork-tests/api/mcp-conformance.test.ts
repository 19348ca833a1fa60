/**
 * Other people's clients as whole programs: the conformance suite of the protocol, and the inspector's command line.
 * Both run from node_modules and reach nothing but this machine.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fork, startFork } from '../harness/fork.ts';
import type { ToolAnswer } from './mcp-client.ts';
import { launchApi } from './use-api.ts';

const run = promisify(execFile);
const BIN = join(import.meta.dirname, '../../node_modules/.bin');

let fork: Fork;
let api: Awaited<ReturnType<typeof launchApi>>;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
  fork = await startFork();
  api = await launchApi(fork.url, fork.deployment);
  await api.settled();
});
afterAll(async () => {
  await api.stop();
  await fork.anvil.stop();
  for (const each of [api.folder, folder]) rmSync(each, { recursive: true, force: true });
});

/** Scenarios that hold for a server whatever it offers. */
const FOR_EVERY_SERVER = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];

/**
 * The others ask for what the suite's own example server has and this one does not declare, by why. The suite fails as
 * soon as one of these passes, or any other does not.
 */
const NOT_OFFERED = {
  'tools of fixed names': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-with-logging',
    'tools-call-error',
    'tools-call-with-progress',
    'tools-call-sampling',
    'tools-call-elicitation',
    'json-schema-2020-12',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
  ],
  'sessions and event streams: this server is stateless and answers JSON': [
    'server-sse-polling',
    'server-sse-multiple-streams',
  ],
  'capabilities that a server may leave out': [
    'logging-set-level',
    'completion-complete',
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
  ],
};

test('every conformance scenario that is for every server passes', async () => {
  const baseline = join(folder, 'not-offered.yml');
  const lines = Object.values(NOT_OFFERED).flatMap((names) => names.map((name) => `  - ${name}`));
  writeFileSync(baseline, ['server:', ...lines, ''].join('\n'));
  const { stdout } = await run(
    join(BIN, 'conformance'),
    ['server', '--url', `${api.url}/mcp`, '--suite', 'all', '--expected-failures', baseline],
    { cwd: folder },
  );
  for (const scenario of FOR_EVERY_SERVER) {
    expect(stdout).toMatch(new RegExp(`✓ ${scenario}: [1-9]\\d* passed, 0 failed`));
  }
}, 240_000);

/** What `mcp-inspector --cli` starts in a second process, which here is half the cost of each call. */
const INSPECTOR_CLI = join(BIN, '../@modelcontextprotocol/inspector-cli/build/index.js');

async function inspect(program: readonly [string, ...string[]], ...options: string[]) {
  const [file, ...first] = program;
  const { stdout } = await run(file, [...first, `${api.url}/mcp`, ...options], { cwd: folder });
  return JSON.parse(stdout) as unknown;
}

test('the inspector lists every tool and calls each', async () => {
  const { tools } = (await inspect(
    [join(BIN, 'mcp-inspector'), '--cli'],
    '--method',
    'tools/list',
  )) as { tools: { name: string }[] };
  const address = fork.accounts.alice.account.address;
  const key = fork.accounts.agent.account.address;
  const inputs: Record<string, Record<string, string | number>> = {
    basket_markets: { prices: '0' },
    basket_basket: { ticker: 'CORE', days: 1 },
    basket_account: { address },
    basket_buy: { ticker: 'CORE', amountUsdg: 20, address },
    basket_sell: { ticker: 'CORE', shares: 'max', address },
    basket_order: { kind: 'limit', ticker: 'CORE', amountUsdg: 20, triggerNav: 50, address },
    basket_guide: {},
    basket_agent_session: { owner: address, key },
    basket_agent_trade: { owner: address, key, ticker: 'CORE', side: 'buy', amountUsdg: 20 },
    basket_cover: { view: 'book', ticker: 'CORE', coverUsd: 100 },
    basket_agent_cover: { owner: address, key, action: 'cancel', listingId: '1' },
  };
  /** Alice holds no shares and has granted nothing. */
  const refusals: Record<string, string> = {
    basket_sell: 'INSUFFICIENT_SHARES',
    basket_agent_trade: 'SESSION_INACTIVE',
    basket_agent_cover: 'SESSION_INACTIVE',
  };
  expect(tools.map(({ name }) => name)).toEqual(Object.keys(inputs));
  for (const [name, input] of Object.entries(inputs)) {
    const pairs = Object.entries(input).map(([field, value]) => `${field}=${value}`);
    const answer = (await inspect(
      [process.execPath, INSPECTOR_CLI],
      '--method',
      'tools/call',
      '--tool-name',
      name,
      ...pairs.flatMap((pair) => ['--tool-arg', pair]),
    )) as ToolAnswer;
    expect([name, answer.structuredContent?.code]).toEqual([name, refusals[name]]);
    expect([name, answer.isError]).toEqual([name, name in refusals ? true : undefined]);
    expect(answer.content[0]?.text.length).toBeGreaterThan(10);
  }
}, 240_000);
