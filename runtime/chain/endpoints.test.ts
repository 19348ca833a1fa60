import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReadCall } from './attempts.ts';
import { Endpoints, type ReadEndpoint } from './endpoints.ts';
import type { Verdict } from './endpoint-verdict.ts';

const TIMEOUT_MS = 10_000;
const CALL: ReadCall = { method: 'eth_call', params: [] };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

class Faulty extends Error {
  readonly verdict: Verdict;
  constructor(verdict: Verdict) {
    super(verdict.tag);
    this.verdict = verdict;
  }
}

type Behaviour = 'answers' | 'hangs' | 'lacks' | Verdict | { slowMs: number };

/** An endpoint in the test's hand: how it behaves, its head, and what it was asked. */
class Fake {
  behaviour: Behaviour = 'answers';
  /** Null: as far as the chain. */
  head: number | null = null;
  readonly asked: string[] = [];
  readonly endpoint: ReadEndpoint;

  constructor(name: string) {
    this.endpoint = { name, ask: (call, signal) => this.#ask(name, call, signal) };
  }

  count(method = CALL.method): number {
    return this.asked.filter((each) => each === method).length;
  }

  async #ask(name: string, { method }: ReadCall, signal: AbortSignal): Promise<unknown> {
    this.asked.push(method);
    const { behaviour } = this;
    if (behaviour === 'hangs') {
      return await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
    }
    if (behaviour === 'lacks') return null;
    if (behaviour !== 'answers' && 'slowMs' in behaviour) {
      await new Promise((resolve) => {
        setTimeout(resolve, behaviour.slowMs);
      });
    } else if (behaviour !== 'answers') throw new Faulty(behaviour);
    // A chain of four blocks a second.
    const number = this.head ?? Math.floor(Date.now() / 250);
    const hex = (value: number) => `0x${value.toString(16)}`;
    if (method === 'eth_blockNumber') return hex(number);
    if (method !== 'eth_getBlockByNumber') return name;
    return { number: hex(number), timestamp: hex(Math.floor(number / 4)) };
  }
}

function setUp(count = 2) {
  const fakes = Array.from({ length: count }, (_, index) => new Fake('abc'[index] ?? ''));
  const log: string[] = [];
  const note = (details: { endpoint: string }, message: string) =>
    void log.push(`${details.endpoint}: ${message}`);
  const endpoints = new Endpoints({
    endpoints: fakes.map(({ endpoint }) => endpoint),
    timeoutMs: TIMEOUT_MS,
    verdictOf: (error) => (error instanceof Faulty ? error.verdict : { tag: 'fault' }),
    lateError: ({ method }) => new Error(`${method} late`),
    clock: Date.now,
    logger: { info: note, warn: note } as never,
  });
  const ask = async (call = CALL): Promise<{ answer: unknown; ms: number }> => {
    const start = Date.now();
    const answer = endpoints.request(call).catch((error: Error) => error.message);
    for (let ms = 0; ms <= TIMEOUT_MS; ms += 50) {
      const done = await Promise.race([
        answer.then((value) => ({ value })),
        vi.advanceTimersByTimeAsync(0),
      ]);
      if (done !== undefined && 'value' in done) {
        return { answer: done.value, ms: Date.now() - start };
      }
      await vi.advanceTimersByTimeAsync(50);
    }
    throw new Error('no answer within the deadline');
  };
  const [first, second, third] = fakes;
  if (first === undefined || second === undefined) throw new Error('at least two');
  return { first, second, third, ask, log };
}

describe('a block that an endpoint does not have', () => {
  const block: ReadCall = { method: 'eth_getBlockByHash', params: [`0x${'ab'.repeat(32)}`, false] };

  it('is told by another one that has it', async () => {
    const { first, ask } = setUp();
    first.behaviour = 'lacks';
    expect(await ask(block)).toEqual({ answer: 'b', ms: 0 });
  });

  it('is none where all say so, and where the others are silent', async () => {
    const { first, second, ask } = setUp();
    first.behaviour = second.behaviour = 'lacks';
    expect(await ask(block)).toEqual({ answer: null, ms: 0 });
    second.behaviour = 'hangs';
    expect(await ask(block)).toEqual({ answer: null, ms: 1_000 });
    [first.behaviour, second.behaviour] = ['hangs', 'lacks'];
    expect((await ask(block)).ms).toBeLessThanOrEqual(2_000);
  });
});

describe('an endpoint that hangs', () => {
  it('costs one call a second, the ones after nothing, and a probe finds out when it is back', async () => {
    const { first, second, ask, log } = setUp();
    first.behaviour = 'hangs';
    expect(await ask()).toEqual({ answer: 'b', ms: 1_000 });
    for (let call = 0; call < 5; call += 1) expect(await ask()).toEqual({ answer: 'b', ms: 0 });
    expect(first.count()).toBe(1);
    // Each pause ends in a probe that hangs as well: nobody's call does.
    for (let second_ = 0; second_ < 60; second_ += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await ask()).toEqual({ answer: 'b', ms: 0 });
    }
    expect(first.count()).toBe(1);
    expect(first.asked.length).toBeLessThan(12);
    first.behaviour = 'answers';
    await vi.advanceTimersByTimeAsync(13_000);
    expect((await ask()).answer).toBe('b');
    expect((await ask()).answer).toBe('a');
    expect(second.count()).toBeGreaterThan(60);
    expect(log).toEqual([
      'a: an RPC endpoint is left alone for a while',
      'a: an RPC endpoint is in use again',
    ]);
  });

  it('does not stop a call though two of three hang', async () => {
    const { first, second, ask } = setUp(3);
    first.behaviour = 'hangs';
    second.behaviour = 'hangs';
    expect(await ask()).toEqual({ answer: 'c', ms: 2_000 });
    expect(await ask()).toEqual({ answer: 'c', ms: 0 });
  });

  it('ends a call at its deadline where all of them do', async () => {
    const { first, second, ask } = setUp();
    first.behaviour = 'hangs';
    second.behaviour = 'hangs';
    expect(await ask()).toEqual({ answer: 'eth_call late', ms: TIMEOUT_MS });
    // None is refused a call for what it was before.
    second.behaviour = 'answers';
    expect((await ask()).answer).toBe('b');
  });
});

describe('a slow endpoint', () => {
  it('is waited for while no other is faster', async () => {
    const { first, second, ask } = setUp();
    first.behaviour = { slowMs: 1_500 };
    second.behaviour = { slowMs: 1_500 };
    expect(await ask()).toEqual({ answer: 'a', ms: 1_500 });
    expect(await ask()).toEqual({ answer: 'a', ms: 1_500 });
  });

  it('may take its time for a range of logs', async () => {
    const { first, second, ask } = setUp();
    first.behaviour = { slowMs: 4_000 };
    expect(await ask({ method: 'eth_getLogs' })).toEqual({ answer: 'a', ms: 4_000 });
    expect(second.count('eth_getLogs')).toBe(0);
  });
});

describe('an endpoint that fails', () => {
  it('is followed by the next at once, and left alone after the second time', async () => {
    const { first, ask } = setUp();
    first.behaviour = { tag: 'fault' };
    for (let call = 0; call < 4; call += 1) expect(await ask()).toEqual({ answer: 'b', ms: 0 });
    // Its probe counts as well.
    expect(first.asked.length).toBe(2);
  });

  it('is asked once more where all fail', async () => {
    const { first, second, ask } = setUp();
    first.behaviour = { tag: 'fault' };
    second.behaviour = { tag: 'fault' };
    expect((await ask()).answer).toBe('fault');
    expect([first.count(), second.count()]).toEqual([2, 2]);
  });

  it('by what every other would say ends the call', async () => {
    const { first, second, ask } = setUp();
    first.behaviour = { tag: 'reverted' };
    expect((await ask()).answer).toBe('reverted');
    expect(second.count()).toBe(0);
  });

  it('by refusing a call is not left alone, and its refusal says more than that the other is gone', async () => {
    const { first, second, ask } = setUp();
    first.behaviour = { tag: 'refused' };
    expect((await ask()).answer).toBe('b');
    second.behaviour = { tag: 'fault' };
    for (let call = 0; call < 4; call += 1) expect((await ask()).answer).toBe('refused');
    second.behaviour = 'hangs';
    await vi.advanceTimersByTimeAsync(20_000);
    await ask();
    await vi.advanceTimersByTimeAsync(3_000);
    // Nobody waits for an endpoint that is known to hang.
    expect(await ask()).toEqual({ answer: 'refused', ms: 0 });
  });
});

describe('an endpoint that answers from the past', () => {
  it('is found out by the first call and not asked while another is further', async () => {
    const { first, second, ask, log } = setUp();
    first.head = Math.floor(Date.now() / 250) - 8;
    await ask();
    for (let call = 0; call < 20; call += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      expect((await ask()).answer).toBe('b');
    }
    expect(log).toEqual(['a: an RPC endpoint answers from the past: others are asked first']);
    // The other one is slow, or refuses: better late than old.
    second.behaviour = { slowMs: 3_000 };
    expect(await ask()).toEqual({ answer: 'b', ms: 3_000 });
    second.behaviour = { tag: 'refused' };
    expect((await ask()).answer).toBe('refused');
    // It does not answer: better old than nothing.
    second.behaviour = 'hangs';
    expect((await ask()).answer).toBe('a');
  });

  it('still tells logs up to a block that it has, where the other tells none', async () => {
    const { first, second, ask } = setUp();
    second.head = Math.floor(Date.now() / 250) - 8;
    await ask();
    first.behaviour = { tag: 'refused' };
    const logsTo = (block: number): ReadCall => ({
      method: 'eth_getLogs',
      params: [{ fromBlock: '0x1', toBlock: `0x${block.toString(16)}` }],
    });
    expect((await ask(logsTo(second.head))).answer).toBe('b');
    expect((await ask(logsTo(second.head + 1))).answer).toBe('refused');
    expect((await ask()).answer).toBe('refused');
  });

  it('that freezes on the way is left within six seconds, and used again when it moves on', async () => {
    const { first, ask } = setUp();
    await ask();
    first.head = Math.floor(Date.now() / 250);
    let left = 0;
    for (; (await ask()).answer === 'a'; left += 1) await vi.advanceTimersByTimeAsync(1_000);
    expect(left).toBeLessThanOrEqual(6);
    first.head = null;
    for (left = 0; (await ask()).answer === 'b'; left += 1)
      await vi.advanceTimersByTimeAsync(1_000);
    expect(left).toBeLessThanOrEqual(17);
  });
});

it('comparing costs each endpoint one call in five seconds, and none where nobody asks', async () => {
  const { first, second, ask } = setUp();
  for (let call = 0; call < 60; call += 1) {
    await ask();
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(first.asked.length - first.count()).toBe(12);
  expect(second.asked.length).toBe(12);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(second.asked.length).toBe(12);
});

describe('an endpoint of another chain', () => {
  const ofChain = (name: string, id: string, asked: string[]): ReadEndpoint => ({
    name,
    ask: async ({ method }) => {
      asked.push(`${name} ${method}`);
      return await Promise.resolve(method === 'eth_chainId' ? id : name);
    },
  });
  const over = (ids: readonly string[], asked: string[], log: unknown[]) =>
    new Endpoints({
      endpoints: ids.map((id, index) => ofChain('abc'[index] ?? '', id, asked)),
      timeoutMs: TIMEOUT_MS,
      verdictOf: () => ({ tag: 'fault' }),
      lateError: () => new Error('late'),
      clock: Date.now,
      chain: { id: 4_663 },
      logger: { info: vi.fn(), warn: vi.fn(), error: (line: object) => log.push(line) } as never,
    });

  it('answers nothing, first or not, and is named once', async () => {
    const asked: string[] = [];
    const log: unknown[] = [];
    const endpoints = over(['0x1', '0x1237'], asked, log);
    expect(await endpoints.servesChain()).toEqual({ tag: 'right' });
    for (let round = 0; round < 3; round += 1) expect(await endpoints.request(CALL)).toBe('b');
    expect(asked.filter((each) => each.startsWith('a'))).toEqual(['a eth_chainId']);
    expect(log).toEqual([{ endpoint: 'a', chain: 1 }]);
  });

  it('of our id, where our contract has no code, answers nothing until it has', async () => {
    const contract = '0x00000000000000000000000000000000000c0de0';
    const asked: string[] = [];
    const log: unknown[] = [];
    const code = { a: '0x', b: '0x60' };
    const endpoints = new Endpoints({
      endpoints: (['a', 'b'] as const).map((name) => ({
        name,
        ask: async ({ method, params }) => {
          asked.push(`${name} ${method}`);
          if (method === 'eth_getCode') expect(params).toEqual([contract, 'latest']);
          const told: Record<string, string> = { eth_chainId: '0x1237', eth_getCode: code[name] };
          return await Promise.resolve(told[method] ?? name);
        },
      })),
      timeoutMs: TIMEOUT_MS,
      verdictOf: () => ({ tag: 'fault' }),
      lateError: () => new Error('late'),
      clock: Date.now,
      chain: { id: 4_663, contract },
      logger: { info: vi.fn(), warn: vi.fn(), error: (line: object) => log.push(line) } as never,
    });
    expect(await endpoints.servesChain()).toEqual({ tag: 'right' });
    for (let second = 0; second < 30; second += 1) {
      expect(await endpoints.request(CALL)).toBe('b');
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(asked).not.toContain('a eth_call');
    expect(log).toEqual([{ endpoint: 'a', contract }]);
    // It was catching up: nobody has to start anything again.
    code.a = '0x60';
    for (let second = 0; second < 5; second += 1) {
      await endpoints.request(CALL);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(await endpoints.request(CALL)).toBe('a');
  });

  it('fails every call where there is no other', async () => {
    const asked: string[] = [];
    const endpoints = over(['0x1', '0x2'], asked, []);
    expect(await endpoints.servesChain()).toEqual({ tag: 'foreign', ids: [1, 2] });
    const answer = endpoints.request(CALL).catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    expect(await answer).toMatch(/serves another chain/);
    expect(asked).toEqual(['a eth_chainId', 'b eth_chainId']);
  });
});
