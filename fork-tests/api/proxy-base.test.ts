/**
 * Behind a reverse proxy, on another port and under a base path: every URL comes from configuration, and clients are
 * told apart by what the trusted proxy says of them. The loops of a client through such a proxy are in fork-tests/client.
 */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ReverseProxy, startReverseProxy } from '../client/reverse-proxy.ts';
import { useFork } from '../harness/fork.ts';
import { type ApiUnderTest, launchApi } from './use-api.ts';
import { wireRequest } from './wire-request.ts';

const BASE = '/index/basket';
/** More than all tests here ask for together, before the last one asks for more. */
const LIMIT = 150;

const fork = useFork();
let proxy: ReverseProxy;
let api: ApiUnderTest & { folder: string };
let base: string;

beforeAll(async () => {
  proxy = await startReverseProxy();
  base = proxy.url(BASE);
  api = await launchApi(fork.url, fork.deployment, {
    PUBLIC_BASE_URL: base,
    RELAYER_URL: `${proxy.url('')}/relayer`,
    APPROVAL_URL: `${proxy.url('')}/owners/approve`,
    CHAIN_RPC_PUBLIC: 'https://rpc.example.org',
    HTTP_TRUST_PROXY: 'loopback',
    HTTP_REQUESTS_PER_MINUTE: String(LIMIT),
    MARKS_INTERVAL_MS: '1000',
  });
  proxy.route(BASE, api.url);
});

afterAll(async () => {
  await api.stop();
  rmSync(api.folder, { recursive: true, force: true });
  await proxy.stop();
});

/** Whatever a client says of the host it wants. */
const FORGED = {
  host: 'evil.example',
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'https',
  'x-forwarded-prefix': '/evil',
  forwarded: 'host=evil.example;proto=https',
};

test('every URL in every document is a configured one, whatever host was asked for', async () => {
  await api.marksSettled();
  const alice = fork.accounts.alice.account.address;
  const paths = [
    '/',
    '/openapi.json',
    '/llms.txt',
    '/docs',
    '/v1/markets',
    '/v1/baskets',
    '/v1/jobs',
    `/v1/agent/session?owner=${alice}&key=${alice}`,
  ];
  for (const path of paths) {
    const answer = await wireRequest(base, { path: `${BASE}${path}`, headers: FORGED });
    expect([path, answer.status]).toEqual([path, 200]);
    expect(answer.text).not.toContain('evil');
    expect(answer.text).not.toContain(api.url);
    expect(answer.text).not.toContain(fork.url);
  }
  const session = await wireRequest(base, { path: `${BASE}${paths.at(-1)}` });
  expect(JSON.parse(session.text)).toMatchObject({
    relayerUrl: `${proxy.url('')}/relayer/relay/v1/account/execute`,
    approvalUrl: `${proxy.url('')}/owners/approve?owner=${alice}&key=${alice}`,
  });
  const openapi = JSON.parse((await wireRequest(base, { path: `${BASE}/openapi.json` })).text) as {
    servers: { url: string }[];
  };
  expect(openapi.servers.map(({ url }) => url)).toEqual([base]);
  const guide = await wireRequest(base, { path: `${BASE}/llms.txt` });
  expect(guide.text).toContain(base);
  expect(guide.text).toContain(`${proxy.url('')}/relayer/relay/v1/account/cover`);
});

test('the paths that the root document names lead back through the proxy', async () => {
  const root = JSON.parse((await wireRequest(base, { path: `${BASE}/` })).text) as {
    llms: string;
    openapi: string;
    endpoints: Record<string, string>;
  };
  for (const path of [root.llms, root.openapi, ...Object.values(root.endpoints)]) {
    const target = path.replace(/^GET /, '');
    if (target.includes('{') || target.startsWith('POST ') || /session|sell-routes/.test(target))
      continue;
    expect([target, (await fetch(`${base}${target}`)).status]).toEqual([target, 200]);
  }
});

test('the documentation page loads what it needs from under the base path', async () => {
  const page = await fetch(`${base}/docs`);
  const html = await page.text();
  const links = [...html.matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, link]) => String(link));
  expect(links.length).toBeGreaterThan(0);
  for (const link of links) {
    const url = new URL(link, page.url);
    expect(url.href.startsWith(base)).toBe(true);
    expect([url.pathname, (await fetch(url)).status]).toEqual([url.pathname, 200]);
  }
});

test('a large body comes compressed, its ETag good for the next request', async () => {
  const headers = { 'accept-encoding': 'gzip' };
  const path = `${BASE}/openapi.json`;
  const first = await fetch(`${base}/openapi.json`, { headers });
  expect(first.headers.get('content-encoding')).toBe('gzip');
  expect(first.headers.get('vary')).toContain('Accept-Encoding');
  const again = await wireRequest(base, {
    path,
    headers: { ...headers, 'if-none-match': String(first.headers.get('etag')) },
  });
  expect([again.status, again.text]).toEqual([304, '']);
});

test('clients of the proxy are limited one by one, whatever they claim to be', async () => {
  const statuses = async (claimed: (at: number) => string) => {
    const seen = new Set<number>();
    for (let at = 0; at < LIMIT + 2; at += 1) {
      const headers = { 'x-forwarded-for': claimed(at) };
      seen.add((await wireRequest(api.url, { path: '/v1/markets?prices=0', headers })).status);
    }
    return [...seen].toSorted((a, b) => a - b);
  };
  // The proxy's word is last; what stands before it is the client's own.
  expect(await statuses((at) => `192.0.2.${at}, 203.0.113.9`)).toEqual([200, 429]);
  expect(await statuses((at) => `2001:db8:1:2::${at.toString(16)}`)).toEqual([200, 429]);
  expect(await statuses((at) => `198.51.100.${at}`)).toEqual([200]);
});
