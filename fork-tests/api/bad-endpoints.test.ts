/**
 * Endpoints that answer with status 200 what no node may, or from behind, beside one that is well: the rows are those of
 * a clean sync all the same, and the index goes on (field cases 37 and 39).
 */
import { numberToHex } from 'viem';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { SHARE, USD } from '../../contracts-abi/constants.ts';
import { useFork } from '../harness/fork.ts';
import { type Fault, type Proxy, type RpcReply, type Rule, startProxy } from '../proxy/proxy.ts';
import { type IndexOptions, type IndexUnderTest, openIndex } from './index-under-test.ts';
import { Story } from './story.ts';

const fork = useFork();
const story = new Story(fork);
/** Asked first; each test says what is wrong with it. */
let bad: Proxy;
let good: Proxy;
let head = 0;
const open: IndexUnderTest[] = [];

/** Told once: each test starts from its end. */
beforeAll(async () => {
  await story.buy('alice', 6n * SHARE);
  await story.sessionBuy(await story.agent('carol'), 50n, USD / 4n);
  for (let index = 0; index < 12; index += 1) {
    await story.exit('alice', SHARE / 5n, false);
    await story.transfer('alice', story.address('bob'), SHARE / 20n);
    await fork.client.mine({ blocks: 5, interval: 1 });
  }
});
beforeEach(async () => {
  bad = await startProxy(fork.url);
  good = await startProxy(fork.url);
  head = await headNow();
});
afterEach(async () => {
  for (const index of open.splice(0)) await index.close();
  await bad.stop();
  await good.stop();
});

const headNow = async (): Promise<number> =>
  Number(await fork.client.getBlockNumber({ cacheTime: 0 }));

async function index(
  urls: readonly string[] = [bad.url, good.url],
  options: IndexOptions = {},
): Promise<IndexUnderTest> {
  const opened = await openIndex(urls, fork.deployment, { timeoutMs: 2_000, ...options });
  open.push(opened);
  return opened;
}

/** Syncs, as the process does every now and then, until the rows reach the head of the chain. */
async function expectCleanRows(reading: IndexUnderTest): Promise<void> {
  const newest = await headNow();
  await vi.waitFor(
    async () => {
      await reading.sync();
      expect(reading.indexer.height).toBe(newest);
    },
    { timeout: 30_000, interval: 100 },
  );
  const clean = await index([fork.url]);
  await clean.catchUp();
  expect(await reading.dump()).toBe(await clean.dump());
}

type Range = { fromBlock: string; toBlock: string };
type RpcLog = Record<string, unknown> & { blockNumber: string };
type RpcBlock = Record<string, unknown> & { number: string; timestamp: string };

const spanOf = ([range]: unknown[]): number => {
  const { fromBlock, toBlock } = range as Range;
  return Number(toBlock) - Number(fromBlock) + 1;
};
const isLatest = ([tag]: unknown[]): boolean => tag === 'latest';
const isNumbered = (params: unknown[]): boolean => !isLatest(params);

/** Changes what is answered, where there is an answer. */
function rewrite(change: (result: never) => unknown) {
  return {
    fault: 'rewrite' as const,
    rewrite: (reply: RpcReply): RpcReply =>
      reply.result === null || reply.result === undefined
        ? reply
        : { ...reply, result: change(reply.result as never) },
  };
}
const rewriteBlock = (change: (block: RpcBlock) => RpcBlock | null) => rewrite(change);
const rewriteLogs = (change: (log: RpcLog, at: number) => RpcLog) =>
  rewrite((logs: RpcLog[]) => logs.map(change));

const NO_SUCH_METHOD = {
  fault: 'error',
  code: -32_601,
  message: 'the method does not exist',
  forwarded: false,
} as const;

/** As a replica answers that has the chain up to this block and takes what is beyond for empty. */
function lagBehind(endpoint: Proxy, at: number, newest = head): void {
  endpoint.on('eth_blockNumber', {}, { fault: 'result', result: numberToHex(at) });
  endpoint.on(
    'eth_getBlockByNumber',
    {},
    rewriteBlock((block) => (Number(block.number) > at ? null : block)),
  );
  endpoint.on('eth_getBlockByNumber', { where: isLatest }, { fault: 'stale', blocks: newest - at });
  endpoint.on(
    'eth_getLogs',
    {},
    rewrite((logs: RpcLog[]) => logs.filter(({ blockNumber }) => Number(blockNumber) <= at)),
  );
}

describe('beside a replica that lags,', () => {
  test.each([1, 2])(
    'one fault of logs, the %i. time they are asked for, loses none',
    async (nth) => {
      lagBehind(good, head - 40);
      const fault = bad.on('eth_getLogs', { nth }, { fault: 'http', status: 502 });
      await expectCleanRows(await index());
      expect(fault.hits).toBe(1);
    },
  );

  test('long answers that never come lose none', async () => {
    lagBehind(good, head - 40);
    const nothing = bad.on(
      'eth_getLogs',
      { where: (params) => spanOf(params) > 16 },
      { fault: 'result', result: null },
    );
    await expectCleanRows(await index());
    expect(nothing.hits).toBeGreaterThan(0);
  });

  test('logs that are none at all are not made up for by those that it has not', async () => {
    lagBehind(good, head - 40);
    bad.on('eth_getLogs', {}, { fault: 'result', result: null });
    const reading = await index();
    await reading.sync().catch(() => undefined);
    expect(reading.indexer.height).toBeLessThanOrEqual(head - 40);
    bad.clear();
    await expectCleanRows(reading);
  });
});

describe('an endpoint', () => {
  test('whose address goes over to a replica that lags, just as logs are asked for, loses none', async () => {
    const reading = await index();
    await expectCleanRows(reading);
    const before = head;
    // More than is read again at each run.
    for (let round = 0; round < 4; round += 1) {
      await story.transfer('alice', story.address('bob'), SHARE / 50n);
      await fork.client.mine({ blocks: 20, interval: 1 });
    }
    const newest = await headNow();
    const turned = bad.on(
      'eth_getLogs',
      { nth: 1 },
      rewrite((logs: RpcLog[]) => {
        lagBehind(bad, before, newest);
        return logs.filter(({ blockNumber }) => Number(blockNumber) <= before);
      }),
    );
    await expectCleanRows(reading);
    expect(turned.hits).toBe(1);
  });

  test('that tells no logs at all has them told by one that is a moment late', async () => {
    bad.on('eth_getLogs', {}, NO_SUCH_METHOD);
    const late = good.on(
      'eth_getBlockByNumber',
      { where: isLatest, times: 3 },
      { fault: 'stale', blocks: 2 },
    );
    const reading = await index();
    await reading.sync();
    expect(reading.indexer.height).toBe(head);
    expect(late.hits).toBe(3);
  });

  test.each<[string, Fault]>([
    ['cuts long answers', { fault: 'result', result: null }],
    [
      'takes short ranges alone',
      { fault: 'error', code: -32_602, message: 'up to 10 blocks', forwarded: false },
    ],
    ['refuses long answers', { fault: 'http', status: 413 }],
    ['is silent on long ranges', { fault: 'hang' }],
  ])('that tells no logs at all does not hide that another %s', async (_what, fault) => {
    bad.on('eth_getLogs', {}, NO_SUCH_METHOD);
    const limited = good.on('eth_getLogs', { where: (params) => spanOf(params) > 40 }, fault);
    await expectCleanRows(await index([bad.url, good.url], { timeoutMs: 600 }));
    expect(limited.hits).toBeGreaterThan(0);
  });
});

describe('an endpoint that breaks later is left for one that is well:', () => {
  test.each<[string, string, { where?: typeof isLatest }, unknown]>([
    ['null to everything', '*', {}, null],
    ['nothing to everything', '*', {}, undefined],
    ['null for every block', 'eth_getBlockByNumber', {}, null],
    ['null for every block but the newest', 'eth_getBlockByNumber', { where: isNumbered }, null],
    ['an empty object for the newest block', 'eth_getBlockByNumber', { where: isLatest }, {}],
  ])('%s', async (_what, method, match, result) => {
    const reading = await index();
    await expectCleanRows(reading);
    const broken = bad.on(method, match, { fault: 'result', result });
    await story.exit('alice', SHARE / 5n, false);
    await expectCleanRows(reading);
    expect(broken.hits).toBeGreaterThan(0);
  });

  test('a newest block without its hash', async () => {
    const reading = await index();
    await expectCleanRows(reading);
    bad.on(
      'eth_getBlockByNumber',
      { where: isLatest },
      rewriteBlock((block) => ({ ...block, hash: undefined })),
    );
    await story.exit('alice', SHARE / 5n, false);
    await expectCleanRows(reading);
  });

  test('a newest block far beyond the chain', async () => {
    const reading = await index();
    await expectCleanRows(reading);
    const beyond = bad.on(
      'eth_getBlockByNumber',
      { where: isLatest },
      rewriteBlock((block) => ({
        ...block,
        number: numberToHex(Number(block.number) + 1_000),
        hash: `0x${'ef'.repeat(32)}`,
      })),
    );
    await story.exit('alice', SHARE / 5n, false);
    await expectCleanRows(reading);
    expect(beyond.hits).toBeGreaterThan(0);
  });
});

test.each([
  ['null', null],
  ['no bytes', '0x'],
])(
  'an endpoint that answers calls with %s is left before the first read',
  async (_what, result) => {
    bad.on('eth_call', {}, { fault: 'result', result });
    await expectCleanRows(await index());
  },
);

describe('logs that contradict themselves are asked for elsewhere:', () => {
  test.each<[string, (log: RpcLog, at: number) => RpcLog]>([
    ['all with one index', (log) => ({ ...log, logIndex: '0x0' })],
    [
      'blocks of two hashes',
      (log, at) => (at % 5 === 4 ? { ...log, blockHash: `0x${'ee'.repeat(32)}` } : log),
    ],
    [
      'blocks of two times',
      (log, at) =>
        at % 3 === 1
          ? { ...log, blockTimestamp: numberToHex(Number(log.blockTimestamp) + 5) }
          : log,
    ],
  ])('%s', async (_what, change) => {
    const bent = bad.on('eth_getLogs', {}, rewriteLogs(change));
    await expectCleanRows(await index());
    expect(bent.hits).toBeGreaterThan(0);
  });
});

describe("the time of a block is read from its header where a log doesn't tell it:", () => {
  test.each<[string, (log: RpcLog, at: number) => RpcLog]>([
    ['a number', (log) => ({ ...log, blockTimestamp: Number(log.blockTimestamp) })],
    ['zero', (log) => ({ ...log, blockTimestamp: '0x0' })],
    [
      'nothing, now and then',
      (log, at) => (at % 2 === 0 ? log : { ...log, blockTimestamp: undefined }),
    ],
    ['nothing', (log) => ({ ...log, blockTimestamp: undefined })],
  ])('%s', async (_what, change) => {
    bad.on('eth_getLogs', {}, rewriteLogs(change));
    await expectCleanRows(await index([bad.url]));
    expect(bad.counts().eth_getBlockByHash).toBeGreaterThan(0);
  });
});

test('ranges that are answered with no list at all are asked for in parts, by one endpoint or two', async () => {
  for (const urls of [[bad.url], [bad.url, good.url]]) {
    for (const endpoint of [bad, good]) {
      endpoint.clear();
      endpoint.on(
        'eth_getLogs',
        { where: (params) => spanOf(params) > 10 },
        { fault: 'result', result: {} },
      );
    }
    await expectCleanRows(await index(urls));
  }
});

const TOO_MANY = '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"too many"}}';

test('too many calls do not shorten what is asked for, and lose none', async () => {
  const spans = new Set<number>();
  const note = (params: unknown[]): boolean => spans.add(spanOf(params)).size > 0;
  bad.on('eth_getLogs', { where: note }, { fault: 'delay', ms: 0 });
  await expectCleanRows(await index([bad.url]));
  const whole = [...spans];
  for (const [urls, told] of [
    [[bad.url], { fault: 'http', status: 429, body: TOO_MANY }],
    [[bad.url], { fault: 'error', code: 429, message: 'slow down', forwarded: false }],
    [[bad.url, good.url], { fault: 'http', status: 429, body: TOO_MANY }],
  ] as [string[], Fault][]) {
    const limits: Rule[] = [];
    for (const endpoint of [bad, good]) {
      endpoint.clear();
      endpoint.on('eth_getLogs', { where: note }, { fault: 'delay', ms: 0 });
      limits.push(endpoint.on('eth_getLogs', { times: 3 }, told));
    }
    await expectCleanRows(await index(urls));
    expect(limits.some(({ hits }) => hits === 3)).toBe(true);
  }
  expect([...spans]).toEqual(whole);
});

test.each<[string, Fault | null]>([
  ['by itself', null],
  ['beside one that breaks off', { fault: 'drop', forwarded: false }],
  ['beside one that tells no logs', NO_SUCH_METHOD],
])(
  'too many calls, said of each long range and of nothing else, are taken for too long a range, %s',
  async (_how, beside) => {
    const long = bad.on(
      'eth_getLogs',
      { where: (params) => spanOf(params) > 60 },
      { fault: 'http', status: 429, body: TOO_MANY },
    );
    if (beside !== null) good.on('eth_getLogs', {}, beside);
    await expectCleanRows(await index(beside === null ? [bad.url] : [bad.url, good.url]));
    expect(long.hits).toBeGreaterThanOrEqual(4);
  },
);

test('too many calls, said of long ranges of one place, are taken for that, though those beside it are told', async () => {
  const { startBlock } = fork.deployment;
  const place = Math.floor((startBlock + head) / 2);
  const dense = bad.on(
    'eth_getLogs',
    {
      where: (params) => {
        const { fromBlock, toBlock } = params[0] as Range;
        return Number(fromBlock) <= place && place <= Number(toBlock) && spanOf(params) > 8;
      },
    },
    { fault: 'error', code: 429, message: 'too many', forwarded: false },
  );
  await expectCleanRows(await index([bad.url], { maxRange: 30 }));
  expect(dense.hits).toBeGreaterThanOrEqual(4);
});

test.each([1, 2, 3])(
  'an endpoint of which each run gets %i ranges, no more than are read again, is caught up with',
  async (ranges) => {
    const reading = await index([bad.url], { maxRange: 40, overlap: 120 });
    await reading.sync();
    for (let round = 0; round < 5; round += 1) {
      await story.transfer('alice', story.address('bob'), SHARE / 50n);
      await fork.client.mine({ blocks: 10, interval: 1 });
    }
    let first = Number.POSITIVE_INFINITY;
    const beyond = bad.on(
      'eth_getLogs',
      {
        where: ([range]) => {
          const from = Number((range as Range).fromBlock);
          first = Math.min(first, from);
          return from >= first + ranges * 40;
        },
      },
      { fault: 'drop', forwarded: false },
    );
    const newest = await headNow();
    for (let run = 0; reading.indexer.height < newest && run < 40; run += 1) {
      first = Number.POSITIVE_INFINITY;
      await reading.sync().catch(() => undefined);
    }
    expect(reading.indexer.height).toBe(newest);
    expect(beyond.hits).toBeGreaterThan(0);
    beyond.remove();
    await expectCleanRows(reading);
  },
);

test.each([
  ['', 0],
  [', and the run that was to make up for that too', 1],
])(
  'a log that a replica did not have yet is found, though the run that read its block again met a limit%s',
  async (_, limits) => {
    const reading = await index([bad.url], { maxRange: 10, overlap: 20 });
    await reading.catchUp();
    await story.transfer('alice', story.address('bob'), SHARE / 50n);
    const at = await headNow();
    await fork.client.mine({ blocks: 2, interval: 1 });
    const hidden = bad.on(
      'eth_getLogs',
      {},
      rewrite((logs: RpcLog[]) => logs.filter(({ blockNumber }) => Number(blockNumber) !== at)),
    );
    await reading.catchUp();
    const cursor = reading.indexer.height;
    await fork.client.mine({ blocks: 10, interval: 1 });
    const limit = bad.on(
      'eth_getLogs',
      { where: ([range]) => Number((range as Range).fromBlock) > cursor },
      { fault: 'http', status: 429 },
    );
    await expect(reading.sync()).rejects.toThrow();
    expect(reading.indexer.height).toBe(cursor);
    limit.remove();
    hidden.remove();
    await reading.sync();
    expect(reading.indexer.height).toBe(await headNow());
    await fork.client.mine({ blocks: 1 });
    for (let run = 0; run < limits; run += 1) {
      const next = bad.on('eth_getLogs', {}, { fault: 'http', status: 429 });
      await expect(reading.sync()).rejects.toThrow();
      next.remove();
    }
    await reading.sync();
    await expectCleanRows(reading);
  },
);
