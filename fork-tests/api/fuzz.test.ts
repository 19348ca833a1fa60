/**
 * 20,000 requests over every endpoint of the api, half of them made to succeed and half made to hurt: no fault, no
 * refusal in another shape than the one, nothing left in memory. Then every code of the table, each in its scene.
 *
 * FUZZ_SEED repeats a run; a failure prints its seed.
 */
import { rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENDPOINTS } from '../../api/endpoints/index.ts';
import type { Endpoint } from '../../api/http/endpoint.ts';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { BODY_LIMIT, hostileRequest } from './fuzz-hostile.ts';
import { validRequest } from './fuzz-requests.ts';
import { broken, codeOf } from './fuzz-rules.ts';
import { type FuzzWorld, pauseProtocol, prepareWorld, type Scene } from './fuzz-world.ts';
import { type ApiUnderTest, launchApi } from './use-api.ts';
import { type WireRequest, wireRequest } from './wire-request.ts';

const REQUESTS = 20_000;
/** Caches fill and code is compiled before memory is looked at. */
const WARM_UP = 4_000;
const BATCH = 500;
const AT_ONCE = 24;
/** Less than 2 kB for each request after the warm-up. */
const MOST_GROWTH_BYTES = 24_000_000;

const endpoints: readonly Endpoint[] = ENDPOINTS;
const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

const fork = useFork();
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
let api: ApiUnderTest & { folder: string };
/** The same, its chain behind a proxy that can go away. */
let proxy: Proxy;
let remote: ApiUnderTest & { folder: string };

const SETTINGS = {
  HTTP_BODY_LIMIT_BYTES: String(BODY_LIMIT),
  HTTP_REQUESTS_PER_MINUTE: '1000000',
  MARKS_INTERVAL_MS: '1000',
  // The chain stands still unless somebody trades.
  MARKS_STALE_AFTER_MS: '3600000',
  INDEX_INTERVAL_MS: '500',
};

beforeAll(async () => {
  proxy = await startProxy(fork.url);
  api = await launchApi(fork.url, fork.deployment, SETTINGS);
  remote = await launchApi(proxy.url, fork.deployment, {
    ...SETTINGS,
    MARKS_INTERVAL_MS: '60000',
    COST_INTERVAL_MS: '3600000',
    INDEX_INTERVAL_MS: '60000',
  });
});

afterAll(async () => {
  agent.destroy();
  for (const each of [api, remote]) {
    await each.stop();
    rmSync(each.folder, { recursive: true, force: true });
  }
  await proxy.stop();
});

type Fuzzed = { endpoint: string; request: WireRequest };

/** Bodies of hundreds of kilobytes: mostly the client's own work. */
const LARGE: ReadonlySet<string> = new Set(['openapi', 'docs']);

/** What the chain must be asked for costs a hundred times what is shared: it comes less often. */
function weightOf({ id, shared, method }: Endpoint): number {
  if (LARGE.has(id)) return 1;
  if (shared !== undefined) return 24;
  return method === 'get' ? 2 : 1;
}

function requests(world: FuzzWorld): fc.Arbitrary<Fuzzed> {
  const of = (make: typeof validRequest) => (endpoint: Endpoint) =>
    make(endpoint, world).map((request) => ({ endpoint: endpoint.id, request }));
  const valid = fc.oneof(
    ...endpoints.map((endpoint) => ({
      weight: weightOf(endpoint),
      arbitrary: of(validRequest)(endpoint),
    })),
  );
  const hostile = fc.oneof(
    ...endpoints.map((endpoint) => ({
      weight: endpoint.shared === undefined || LARGE.has(endpoint.id) ? 1 : 3,
      arbitrary: of(hostileRequest)(endpoint),
    })),
  );
  return fc.oneof(valid, hostile);
}

class Tally {
  readonly ok = new Map<string, number>();
  readonly codes = new Map<string, number>();
  readonly failures: string[] = [];
  requests = 0;
  valid = 0;
}

async function ask({ endpoint, request }: Fuzzed, tally: Tally): Promise<void> {
  const answer = await wireRequest(api.url, { ...request, agent });
  tally.requests += 1;
  const what = broken(request, answer);
  if (what !== null) {
    tally.failures.push(
      `${what}: ${JSON.stringify(request)} -> ${answer.status} ${answer.text.slice(0, 300)}`,
    );
  }
  if (answer.status < 400) tally.valid += 1;
  if (answer.status === 200) tally.ok.set(endpoint, (tally.ok.get(endpoint) ?? 0) + 1);
  const code = answer.status < 400 ? null : codeOf(answer);
  if (code !== null) tally.codes.set(code, (tally.codes.get(code) ?? 0) + 1);
}

/** So many requests, `AT_ONCE` of them in flight. */
async function fuzz(arbitrary: fc.Arbitrary<Fuzzed>, count: number, tally: Tally, from: number) {
  for (let batch = 0; batch * BATCH < count; batch += 1) {
    const queue = fc.sample(arbitrary, { numRuns: BATCH, seed: from + batch }).values();
    const worker = async () => {
      for (const fuzzed of queue) await ask(fuzzed, tally);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (tally.failures.length > 0) {
      throw new Error(`FUZZ_SEED=${seed}\n${tally.failures.slice(0, 10).join('\n')}`);
    }
  }
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  // What finalisers let go is collected by the second pass.
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

async function play(url: string, scenes: readonly Scene[], tally: Tally): Promise<void> {
  for (const { code, status, request } of scenes) {
    const answer = await wireRequest(url, { ...request, agent });
    expect([code, status, request.path, answer.text]).toEqual([
      codeOf(answer),
      answer.status,
      request.path,
      answer.text,
    ]);
    expect(broken(request, answer, [502, 503])).toBeNull();
    tally.codes.set(code, (tally.codes.get(code) ?? 0) + 1);
  }
}

/** Codes that the endpoints say they answer, and those that the server answers for all. SERVER is a fault of ours. */
function promisedCodes(): string[] {
  const own = endpoints.flatMap(({ refusals }) =>
    refusals.map((refusal) => (typeof refusal === 'string' ? refusal : refusal.code)),
  );
  const all = new Set<string>([...own, 'BAD_REQUEST', 'NOT_FOUND', 'METHOD_NOT_ALLOWED', 'PAUSED']);
  all.delete('SERVER');
  return [...all].toSorted();
}

test('20,000 requests leave the api as it was, each answered in its shape', async () => {
  await api.settled();
  const world = await prepareWorld(fork, api);
  const arbitrary = requests(world);
  const tally = new Tally();

  await fuzz(arbitrary, WARM_UP, tally, seed);
  const before = heapBytes();
  await fuzz(arbitrary, REQUESTS - WARM_UP, tally, seed + 1_000);
  const growth = heapBytes() - before;

  expect(tally.requests).toBe(REQUESTS);
  expect(tally.valid / tally.requests).toBeGreaterThanOrEqual(0.3);
  expect(endpoints.map(({ id }) => id).filter((id) => !tally.ok.has(id))).toEqual([]);
  expect(growth).toBeLessThan(MOST_GROWTH_BYTES);

  await play(api.url, world.refused, tally);
  await pauseProtocol(fork);
  await play(api.url, world.paused, tally);
  await proxy.pause();
  await play(remote.url, world.cutOff, tally);
  expect(promisedCodes().filter((code) => !tally.codes.has(code))).toEqual([]);

  process.stdout.write(
    `fuzz: seed ${seed}, ${((100 * tally.valid) / tally.requests).toFixed(0)}% valid, heap ${(growth / 1e6).toFixed(1)} MB more, codes ${JSON.stringify(Object.fromEntries(tally.codes))}\n`,
  );
}, 300_000);
