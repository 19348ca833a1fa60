/** A private key pasted anywhere into a request appears in no response, no log line and no metric (wire.md, Secrets). */
import { rmSync } from 'node:fs';
import { Agent } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENDPOINTS } from '../../api/endpoints/index.ts';
import type { Endpoint } from '../../api/http/endpoint.ts';
import { useFork } from '../harness/fork.ts';
import {
  assemble,
  JSON_HEADERS,
  type Parts,
  pathsOf,
  validParts,
  type World,
} from './fuzz-requests.ts';
import { type ApiUnderTest, launchApi } from './use-api.ts';
import { LogLines, type WireRequest, wireRequest } from './wire-request.ts';

/** Sixty-four digits that nothing else contains, as a key may be spelled. */
const DIGITS = 'deadc0de5ec4e700'.repeat(4);
const SPELLINGS = [`0x${DIGITS}`, DIGITS, `0X${DIGITS.toUpperCase()}`];

const HEADERS = [
  'x-request-id',
  'if-none-match',
  'accept',
  'accept-encoding',
  'origin',
  'referer',
  'cookie',
  'authorization',
  'user-agent',
  'x-forwarded-for',
  'x-api-key',
  'range',
  'mcp-protocol-version',
  'mcp-session-id',
];

const fork = useFork();
const agent = new Agent({ keepAlive: true });
const log = new LogLines();
let api: ApiUnderTest & { folder: string };

beforeAll(async () => {
  api = await launchApi(
    fork.url,
    fork.deployment,
    { LOG_LEVEL: 'trace', HTTP_TRUST_PROXY: 'loopback', MARKS_INTERVAL_MS: '1000' },
    log,
  );
});

afterAll(async () => {
  agent.destroy();
  await api.stop();
  rmSync(api.folder, { recursive: true, force: true });
});

/** The endpoint's request with the key in each place that a client can reach. */
function pastings(endpoint: Endpoint, parts: Parts, secret: string): WireRequest[] {
  const plain = assemble(parts);
  const joint = plain.path.includes('?') ? '&' : '?';
  const encoded = secret.replace(/[0-9a-fA-F]/, (digit) => `%${digit.charCodeAt(0).toString(16)}`);
  const body: Record<string, unknown> = parts.body ?? {};
  const withBody = (changed: unknown): WireRequest => ({
    ...plain,
    method: 'POST',
    headers: JSON_HEADERS,
    body: JSON.stringify(changed),
  });
  return [
    ...Object.keys(parts.params).map((name) =>
      assemble({ ...parts, params: { ...parts.params, [name]: secret } }),
    ),
    ...Object.keys(parts.query).map((name) =>
      assemble({ ...parts, query: { ...parts.query, [name]: secret } }),
    ),
    ...[secret, encoded].flatMap((text) => [
      { ...plain, path: `${pathsOf(endpoint)[0]}/${text}` },
      { ...plain, path: `${pathsOf(endpoint)[0]}/?${text}` },
      { ...plain, path: `${plain.path}${joint}fields=${text}` },
      { ...plain, path: `${plain.path}${joint}${text}=1` },
      { ...plain, path: `${plain.path}${joint}key=${text}` },
    ]),
    ...HEADERS.map((name) => ({ ...plain, headers: { ...plain.headers, [name]: secret } })),
    ...Object.keys(body).map((name) => withBody({ ...body, [name]: secret })),
    withBody({ ...body, [secret]: 1 }),
    withBody({ ...body, note: { deep: [secret] } }),
    withBody(secret),
    { ...withBody(body), body: `{"a":${secret}` },
    { ...withBody(body), headers: { 'content-type': secret } },
    { ...withBody(body), headers: { 'content-type': `application/json; charset=${secret}` } },
  ];
}

const shows = (text: string): boolean => text.toLowerCase().includes(DIGITS);

test('a key is nowhere but in the request', { timeout: 120_000 }, async () => {
  await api.marksSettled();
  const alice = fork.accounts.alice.account.address;
  const world: World = {
    tickers: ['CORE'],
    vaults: [fork.vault('CORE')],
    addresses: [alice],
    orderIds: [`0x${'12'.repeat(32)}`],
    owner: alice,
    key: alice,
  };
  // Each place with one spelling, the next with the next: all of them everywhere.
  const places = (ENDPOINTS as readonly Endpoint[]).flatMap((endpoint) => {
    const [parts] = fc.sample(validParts(endpoint, world), { numRuns: 1, seed: 1 });
    if (parts === undefined) throw new Error(`no request for ${endpoint.id}`);
    const spelled = SPELLINGS.map((secret) => pastings(endpoint, parts, secret));
    return (spelled[0] ?? []).flatMap((_, at) => spelled[at % SPELLINGS.length]?.[at] ?? []);
  });
  expect(places.length).toBeGreaterThan(ENDPOINTS.length * HEADERS.length);
  const leaks: string[] = [];
  const queue = places.values();
  const worker = async () => {
    for (const request of queue) {
      const answer = await wireRequest(api.url, { ...request, agent });
      if (shows(answer.text + JSON.stringify(answer.headers))) {
        leaks.push(`${JSON.stringify(request)} is answered with ${answer.text}`);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  // The line of a last request comes after all others.
  await wireRequest(api.url, { path: '/v1/none', headers: { 'x-request-id': 'the-last' }, agent });
  await expect.poll(() => log.accesses().at(-1)?.req.id).toBe('the-last');
  expect(log.accesses().length).toBeGreaterThan(ENDPOINTS.length * HEADERS.length);
  leaks.push(...log.texts.filter(shows).map((line) => `logged: ${line}`));
  if (shows((await api.get('/metrics')).text)) leaks.push('counted');
  expect(leaks.slice(0, 10)).toEqual([]);
});
