/** Every status of wire.md, Relayer, and what is none of the relayer's. */
import { describe, expect, it } from 'vitest';
import { classify, readNonce, readStatus } from './answer.ts';
import { createFeeMemory } from './fee-memory.ts';

const hash = `0x${'ab'.repeat(32)}`;
const digest = `0x${'cd'.repeat(32)}`;
const reply = (status: number, body: unknown, retryAfterSeconds: number | null = null) =>
  ({ tag: 'answered', status, body, retryAfterSeconds }) as const;
const error = (code: string, more: object = {}) => ({
  ok: false,
  error: 'in words',
  code,
  retryable: false,
  ...more,
});

describe('an answer to a post', () => {
  it.each<[string, number, unknown, object]>([
    [
      'mined',
      200,
      { ok: true, hash, requiredFee: '30', extra: 1 },
      { tag: 'mined', hash, nextFee: 30n },
    ],
    ['mined, no fee named', 200, { ok: true, hash }, { tag: 'mined', nextFee: null }],
    ['mined without a hash', 200, { ok: true }, { tag: 'doubt' }],
    ['a captive portal', 200, null, { tag: 'doubt' }],
    ['pending', 202, { ok: true, status: 'pending', hash, digest }, { tag: 'pending', hash }],
    [
      'a quote',
      402,
      error('FEE_REQUIRED', { requiredFee: '30' }),
      { tag: 'fee', requiredFee: 30n },
    ],
    ['a quote out of form', 402, error('FEE_REQUIRED', { requiredFee: 30 }), { tag: 'doubt' }],
    [
      'used',
      409,
      error('NONCE_USED', { hash, executedDigest: digest, executed: true }),
      { tag: 'nonce_used', hash, executedDigest: digest },
    ],
    ['used, by whom is not known', 409, error('NONCE_USED'), { tag: 'nonce_used', hash: null }],
    ['taken', 409, error('SLOT_TAKEN', { digest, status: 'pending' }), { tag: 'taken', digest }],
    ['bad', 400, error('BAD_REQUEST', { next: 'rebuild' }), { tag: 'refused', next: 'rebuild' }],
    [
      'forbidden',
      403,
      error('SESSION_LIMIT', { next: 'ask_owner' }),
      { tag: 'refused', next: 'ask_owner' },
    ],
    ['without next', 422, error('NO_COVER'), { tag: 'refused', code: 'NO_COVER', next: 'rebuild' }],
    [
      'a next of later',
      422,
      error('NO_COVER', { next: 'pray' }),
      { tag: 'refused', next: 'rebuild' },
    ],
    [
      'expired',
      410,
      error('EXPIRED', { next: 'rebuild', chainTime: 9 }),
      { tag: 'refused', chainTime: 9 },
    ],
    ['a fault', 500, error('SERVER', { next: 'reconcile' }), { tag: 'doubt' }],
    ['upstream', 502, error('UPSTREAM', { next: 'reconcile' }), { tag: 'doubt' }],
    ['uncertain', 504, error('UNCERTAIN', { hash, digest }), { tag: 'doubt', hash }],
    ['a proxy that has no upstream', 502, null, { tag: 'doubt' }],
    ['a proxy that is busy', 503, null, { tag: 'doubt' }],
    ['a proxy that limits', 429, null, { tag: 'refused', next: 'wait' }],
    ['a proxy that refuses', 403, { message: 'no' }, { tag: 'doubt' }],
    ['a redirect', 302, null, { tag: 'doubt' }],
  ])('that is %s', (_, status, body, expected) => {
    expect(classify(reply(status, body))).toMatchObject(expected);
  });

  it('that asks to wait says for how long', () => {
    expect(classify(reply(429, error('RATE_LIMITED'), 7))).toMatchObject({
      tag: 'refused',
      next: 'wait',
      retryAfterSeconds: 7,
    });
    expect(classify(reply(503, error('PAUSED')))).toMatchObject({ retryAfterSeconds: null });
  });

  it('that never came is doubt', () => {
    expect(classify({ tag: 'unanswered', why: 'the connection failed' })).toEqual({
      tag: 'doubt',
      why: 'the connection failed',
      hash: null,
    });
  });
});

describe('the status routes', () => {
  it('are read with fields beyond those known, and not otherwise', () => {
    expect(readStatus(reply(200, { ok: true, digest, status: 'mined', hash, at: 1 }))).toEqual({
      status: 'mined',
      hash,
    });
    expect(readStatus(reply(404, error('NOT_FOUND')))).toBeNull();
    expect(readStatus(reply(200, { status: 'of later' }))).toBeNull();
    expect(readStatus({ tag: 'unanswered', why: '' })).toBeNull();
    const action = { digest, status: 'mined', hash };
    expect(readNonce(reply(200, { used: true, action }))).toEqual({
      module: null,
      used: true,
      executed: { digest, hash },
    });
    expect(readNonce(reply(200, { used: false, action: null }))).toEqual({
      module: null,
      used: false,
      executed: null,
    });
    expect(readNonce(reply(200, {}))).toBeNull();
  });
});

describe('the memory of fees', () => {
  it('recalls the last fee of each kind within the cap, and none for a cancel', () => {
    const fees = createFeeMemory();
    expect(fees.recall('buy', 100n)).toBeNull();
    fees.note('buy', 30n);
    fees.note('buy', 40n);
    fees.note('cover-cancel', 30n);
    expect(fees.recall('buy', 40n)).toBe(40n);
    expect(fees.recall('buy', 39n)).toBeNull();
    expect(fees.recall('sell', 100n)).toBeNull();
    expect(fees.recall('cover-cancel', 100n)).toBeNull();
  });
});
