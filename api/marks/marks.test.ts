import {
  createPublicClient,
  custom,
  decodeFunctionData,
  encodeFunctionResult,
  getAbiItem,
  type Hex,
  multicall3Abi,
  toFunctionSelector,
} from 'viem';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { basketRegistryAbi } from '../../contracts-abi/generated/index.ts';
import { createLogger } from '../../runtime/logger.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { MarkBodies } from './mark-bodies.ts';
import { Marks } from './marks.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`;
const basketsItem = getAbiItem({ abi: basketRegistryAbi, name: 'baskets' });
const BASKETS = toFunctionSelector(basketsItem);
const NO_BASKETS = encodeFunctionResult({ abi: [basketsItem], result: [] });
const ZEROS: Hex = `0x${'00'.repeat(64)}`;

/** Marks of a registry without baskets, on a chain whose head the test moves. */
function marksUnderTest(intervalMs = 50) {
  const state = { head: 1, reads: 0 };
  const answer = (callData: Hex): Hex => (callData.startsWith(BASKETS) ? NO_BASKETS : ZEROS);
  const request = async ({ method, params }: { method: string; params?: unknown }) => {
    if (method === 'eth_chainId') return word(CHAIN_ID);
    if (method === 'eth_getBlockByNumber') {
      return { hash: word(state.head), number: '0x1', timestamp: '0x1', transactions: [] };
    }
    state.reads += 1;
    const [{ data }] = params as [{ data: Hex }];
    const { args } = decodeFunctionData({ abi: multicall3Abi, data });
    const calls = args?.[0] as readonly { callData: Hex }[];
    return encodeFunctionResult({
      abi: multicall3Abi,
      functionName: 'aggregate3',
      result: calls.map(({ callData }) => ({ success: true, returnData: answer(callData) })),
    });
  };
  const address = (byte: string): Hex => `0x${byte.repeat(20)}`;
  const marks = new Marks({
    client: createPublicClient({ transport: custom({ request }) }),
    deployment: {
      usdg: address('01'),
      weth: address('02'),
      multicall3: address('03'),
      uniswapV3Factory: address('04'),
      registry: address('05'),
      oracle: address('06'),
      pause: address('07'),
      baskets: [],
    } as unknown as Deployment,
    navAt: async () => null,
    onRead: () => undefined,
    logger: createLogger('api', 'fatal'),
    metrics: createMetrics('test'),
    intervalMs,
    costIntervalMs: 60_000,
    catalogIntervalMs: 3_600_000,
    staleAfterMs: 15_000,
    answerWithinMs: 5_000,
  });
  const refreshAt = async (ms: number): Promise<number> => {
    vi.setSystemTime(1_000_000 + ms);
    const before = state.reads;
    await marks.refresh();
    return state.reads - before;
  };
  return { marks, state, refreshAt };
}

describe('marks of a block that stands', () => {
  it('are read again once a second, and are as of now in between', async () => {
    const { marks, refreshAt } = marksUnderTest();
    await refreshAt(0);
    const { version } = marks.snapshot();
    for (const ms of [50, 500, 999]) {
      expect(await refreshAt(ms)).toBe(0);
      expect(marks.snapshot()).toMatchObject({ version, takenAtMs: 1_000_000 + ms });
    }
    expect(await refreshAt(1_000)).toBe(1);
    expect(marks.snapshot().version).toBe(version + 1);
    // The second begins with the read, not with the look at the head that followed it.
    expect([await refreshAt(1_999), await refreshAt(2_000)]).toEqual([0, 1]);
  });

  it('are read at once of another block, and of one that replaced it at its height', async () => {
    const { state, refreshAt } = marksUnderTest();
    await refreshAt(0);
    state.head = 2;
    expect([await refreshAt(50), await refreshAt(100)]).toEqual([1, 0]);
  });

  it('are read each time by who asks once a second or less', async () => {
    const { refreshAt } = marksUnderTest(1_000);
    await refreshAt(0);
    expect([await refreshAt(50), await refreshAt(100)]).toEqual([1, 1]);
  });

  it('are as old in every body as the marks are', async () => {
    const { marks, refreshAt } = marksUnderTest();
    const bodies = new MarkBodies(marks);
    for (const ms of [0, 50, 100, 1_050, 1_100]) {
      await refreshAt(ms);
      const texts = [bodies.markets(undefined, true, false), bodies.baskets(undefined, false)];
      for (const { text } of texts) {
        expect(JSON.parse(text)).toMatchObject({ asOfMs: 1_000_000 + ms, live: true });
      }
    }
  });

  it('are serialised once while nothing changes', async () => {
    const { marks, refreshAt } = marksUnderTest();
    const bodies = new MarkBodies(marks);
    const body = () => bodies.markets(undefined, true, false);
    await refreshAt(0);
    const first = body();
    expect(body()).toBe(first);
    await refreshAt(50);
    expect(body()).not.toBe(first);
  });
});
