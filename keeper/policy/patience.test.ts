import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  after,
  backoff,
  FRESH,
  gate,
  type Patience,
  type PatienceEvent,
  PATIENCE_RULES as RULES,
} from './patience.ts';

const T = 1_800_000_000_000;
const fail: PatienceEvent = { tag: 'failed', reason: 'unknown error 0xdeadbeef' };
const revert: PatienceEvent = { tag: 'reverted_on_chain', reason: 'reverts on chain' };

function repeated(event: PatienceEvent, times: number, from: Patience = FRESH, at = T): Patience {
  let patience = from;
  for (let i = 0; i < times; i += 1) patience = after(patience, event, 'a', at, RULES);
  return patience;
}

describe('what is expected', () => {
  test.each([
    ['not_due', 10_000],
    ['does_not_pay', 15_000],
    ['closed', 60_000],
    ['paused', 30_000],
    ['unavailable', 10_000],
  ] as const)(
    '%s waits a little longer each time, at most %i ms, and is never quarantined',
    (tag, most) => {
      const first = repeated({ tag }, 1);
      const many = repeated({ tag }, 1_000);
      expect(first.notBeforeMs - T).toBeLessThanOrEqual(5_000);
      expect(many.notBeforeMs - T).toBe(most);
      expect(many.quarantine).toBeNull();
    },
  );
});

describe('what fails by itself', () => {
  test('backs off, then is quarantined with its reason', () => {
    expect(repeated(fail, RULES.failuresUntilQuarantine - 1).quarantine).toBeNull();
    const quarantined = repeated(fail, RULES.failuresUntilQuarantine);
    expect(quarantined.quarantine).toMatchObject({ reason: 'unknown error 0xdeadbeef' });
    expect(gate(quarantined, 'a', T + 600_000, RULES)).toEqual({
      tag: 'wait',
      untilMs: T + RULES.quarantineMs,
      quarantined: 'unknown error 0xdeadbeef',
    });
  });

  test('is tried again at once after the first time, then twice as late each time', () => {
    const waits = [1, 2, 3, 4].map((times) => repeated(fail, times).notBeforeMs - T);
    expect(waits).toEqual([500, 2_000, 4_000, 8_000]);
  });

  test('comes back on probation when what is said of it changes, and back into quarantine when that fails', () => {
    const quarantined = repeated(fail, RULES.failuresUntilQuarantine);
    expect(gate(quarantined, 'b', T + RULES.probationMs - 1, RULES).tag).toBe('wait');
    const at = T + RULES.probationMs;
    expect(gate(quarantined, 'b', at, RULES)).toEqual({ tag: 'go', onProbation: true });
    expect(gate(after(quarantined, fail, 'b', at, RULES), 'c', at + 1, RULES).tag).toBe('wait');
    expect(after(quarantined, { tag: 'not_due' }, 'b', at, RULES).quarantine).toBeNull();
  });

  test('comes back by itself when the quarantine ends', () => {
    const quarantined = repeated(fail, RULES.failuresUntilQuarantine);
    expect(gate(quarantined, 'a', T + RULES.quarantineMs, RULES).tag).toBe('go');
  });

  test('a revert on chain, which costs gas, is quarantined sooner and survives progress', () => {
    let patience = FRESH;
    for (let i = 0; i < RULES.revertsUntilQuarantine; i += 1) {
      expect(patience.quarantine).toBeNull();
      patience = after(after(patience, { tag: 'progress' }, 'a', T, RULES), revert, 'a', T, RULES);
    }
    expect(patience.quarantine?.reason).toBe('reverts on chain');
  });

  test('a revert on chain puts probation off further each time, whatever the source says anew', () => {
    let patience = repeated(revert, RULES.revertsUntilQuarantine);
    let at = T;
    let tries = 0;
    // A source that tells the job anew all the time, for a day.
    while (at < T + 86_400_000) {
      at += 5_000;
      if (gate(patience, `told at ${at}`, at, RULES).tag === 'wait') continue;
      tries += 1;
      patience = after(patience, { tag: 'progress' }, `told at ${at}`, at, RULES);
      patience = after(patience, revert, `told at ${at}`, at, RULES);
    }
    // At 30 s, 1, 2, 4, 8 and 16 minutes, then every half hour.
    expect(tries).toBe(6 + 46);
  });

  test('reverts are forgotten once a transaction did the work', () => {
    let patience = FRESH;
    for (let week = 0; week < 10; week += 1) {
      const at = T + week * 7 * 86_400_000;
      patience = after(patience, revert, 'a', at, RULES);
      expect(patience).toMatchObject({ reverts: 1, quarantine: null });
      for (const tag of ['progress', 'executed'] as const) {
        patience = after(patience, { tag }, 'a', at + 60_000, RULES);
      }
    }
    const beaten = repeated(revert, RULES.revertsUntilQuarantine);
    const executed = after(beaten, { tag: 'executed' }, 'a', T, RULES);
    expect(executed).toEqual({ ...FRESH, notBeforeMs: beaten.notBeforeMs });
  });
});

test('a fault of the surroundings counts against no job', () => {
  const before = repeated(fail, 3);
  const afterwards = repeated({ tag: 'unavailable' }, 50, before);
  expect(afterwards.failures).toBe(before.failures);
});

test('whatever happens, a job is tried again within the quarantine time', () => {
  const events: fc.Arbitrary<PatienceEvent> = fc.oneof(
    fc.constantFrom<PatienceEvent>(
      { tag: 'not_due' },
      { tag: 'does_not_pay' },
      { tag: 'closed' },
      { tag: 'paused' },
      { tag: 'unavailable' },
      { tag: 'progress' },
      { tag: 'executed' },
      fail,
      revert,
    ),
    fc.nat(60_000).map((ms): PatienceEvent => ({ tag: 'wait', ms })),
  );
  fc.assert(
    fc.property(fc.array(events, { maxLength: 60 }), (list) => {
      const patience = list.reduce((held, event) => after(held, event, 'a', T, RULES), FRESH);
      expect(gate(patience, 'a', T + RULES.quarantineMs, RULES).tag).toBe('go');
    }),
  );
});

test('a backoff never overflows', () => {
  expect(backoff(100_000, 1_000, 10_000)).toBe(10_000);
});
