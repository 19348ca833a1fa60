import { describe, expect, it } from 'vitest';
import { dailyFeeCap } from '../../contracts-abi/network-fees.ts';
import { checkBalance } from './balance.ts';
import { checkDeadline } from './deadline.ts';
import { checkGrant, nonceSpace } from './grant.ts';
import { checkFeeCaps, checkLimits } from './limits.ts';
import { checkPause } from './pause.ts';
import type { Session } from './session.ts';

const key = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65';
const NOW = 1_800_000_000;
const session: Session = {
  blockTime: NOW,
  grant: {
    owner: '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc',
    validUntil: NOW + 86_400,
    maxSlippageBps: 50,
    active: true,
    epoch: 3,
    dailyLimit: 100_000_000n,
    coverEnabled: true,
    coverDailyLimit: 10_000_000n,
  },
  turnover: 0n,
  fees: 0n,
  coverSpent: 0n,
  nonceUsed: false,
  nonceSpace: nonceSpace(key, 3),
  accountPaused: false,
  servicePaused: false,
  usdg: 50_000_000n,
  shares: 10n ** 18n,
};
const withGrant = (changes: Partial<Session['grant']>): Session => ({
  ...session,
  grant: { ...session.grant, ...changes },
});
const code = (result: ReturnType<typeof checkPause>): string =>
  result.ok ? 'ok' : result.refusal.code;

describe('checkGrant', () => {
  const nonce = (epoch: number): bigint => (nonceSpace(key, epoch) << 160n) | 5n;

  it.each<[string, bigint, Session, string]>([
    ['a nonce of the present epoch', nonce(3), session, 'ok'],
    ['a nonce of an earlier epoch', nonce(2), session, 'SESSION_INACTIVE'],
    ['a nonce of the first epoch', nonce(0), session, 'SESSION_INACTIVE'],
    ['a nonce of no epoch', 5n, session, 'BAD_REQUEST'],
    ['a nonce of a later epoch', nonce(4), session, 'BAD_REQUEST'],
    ['no grant', nonce(3), withGrant({ active: false }), 'SESSION_INACTIVE'],
    ['the last second', nonce(3), withGrant({ validUntil: NOW }), 'ok'],
    ['a second later', nonce(3), withGrant({ validUntil: NOW - 1 }), 'SESSION_INACTIVE'],
  ])('%s', (_name, given, state, expected) => {
    expect(code(checkGrant({ key, nonce: given }, state))).toBe(expected);
  });
});

describe('checkDeadline', () => {
  const at = (deadline: number, validUntil = NOW + 86_400) =>
    code(checkDeadline({ deadline, blockTime: NOW, validUntil, marginSeconds: 5 }));

  it.each([
    [NOW - 1, 'EXPIRED'],
    [NOW, 'EXPIRED'],
    [NOW + 4, 'EXPIRED'],
    [NOW + 5, 'ok'],
    [NOW + 900, 'ok'],
    [NOW + 901, 'BAD_REQUEST'],
  ])('%d', (deadline, expected) => {
    expect(at(deadline)).toBe(expected);
  });

  it('never goes past the grant', () => {
    expect(at(NOW + 300, NOW + 300)).toBe('ok');
    expect(at(NOW + 301, NOW + 300)).toBe('BAD_REQUEST');
  });
});

describe('checkLimits', () => {
  it.each<[string, { slippageBps: number; fee: bigint }, Session, string]>([
    ['all within', { slippageBps: 50, fee: 300_000n }, session, 'ok'],
    ['slippage above the grant', { slippageBps: 51, fee: 0n }, session, 'SESSION_LIMIT'],
    ['fee above $10', { slippageBps: 1, fee: 10_000_001n }, session, 'SESSION_LIMIT'],
    [
      'turnover used up',
      { slippageBps: 1, fee: 0n },
      { ...session, turnover: 100_000_000n },
      'SESSION_LIMIT',
    ],
    [
      'fees of the day to the last unit',
      { slippageBps: 1, fee: 1n },
      { ...session, fees: 19_999_999n },
      'ok',
    ],
    [
      'fees of the day passed',
      { slippageBps: 1, fee: 2n },
      { ...session, fees: 19_999_999n },
      'SESSION_LIMIT',
    ],
  ])('%s', (_name, action, state, expected) => {
    expect(code(checkLimits(action, state))).toBe(expected);
  });

  it('caps a day of fees at 20% of the daily limit, from $1 to $20', () => {
    expect(dailyFeeCap(0n)).toBe(1_000_000n);
    expect(dailyFeeCap(5_000_000n)).toBe(1_000_000n);
    expect(dailyFeeCap(10_000_000n)).toBe(2_000_000n);
    expect(dailyFeeCap(100_000_000n)).toBe(20_000_000n);
    expect(dailyFeeCap(10n ** 15n)).toBe(20_000_000n);
    expect(code(checkFeeCaps(2_000_001n, withGrant({ dailyLimit: 10_000_000n })))).toBe(
      'SESSION_LIMIT',
    );
  });
});

describe('checkPause', () => {
  it('knows both pauses', () => {
    expect(code(checkPause(session))).toBe('ok');
    expect(code(checkPause({ ...session, servicePaused: true }))).toBe('PAUSED');
    expect(code(checkPause({ ...session, accountPaused: true }))).toBe('PAUSED');
  });
});

describe('checkBalance', () => {
  it.each<[string, { kind: number; amount: bigint; fee: bigint }, Session, string]>([
    ['a sale of all shares', { kind: 1, amount: 10n ** 18n, fee: 0n }, session, 'ok'],
    [
      'a sale of one unit more',
      { kind: 1, amount: 10n ** 18n + 1n, fee: 0n },
      session,
      'INSUFFICIENT_SHARES',
    ],
    [
      'a sale by an account without USDG: the proceeds pay',
      { kind: 1, amount: 1n, fee: 9n },
      { ...session, usdg: 0n },
      'ok',
    ],
    [
      'a vault that is no token: the module says so',
      { kind: 1, amount: 1n, fee: 0n },
      { ...session, shares: null },
      'ok',
    ],
    ['a buy', { kind: 0, amount: 1n, fee: 1n }, session, 'ok'],
    [
      'a buy without USDG',
      { kind: 0, amount: 1n, fee: 0n },
      { ...session, usdg: 0n },
      'INSUFFICIENT_FUNDS',
    ],
    [
      'a buy that cannot pay its fee',
      { kind: 0, amount: 1n, fee: 50_000_001n },
      session,
      'INSUFFICIENT_FUNDS',
    ],
  ])('%s', (_name, action, state, expected) => {
    expect(code(checkBalance(action, state))).toBe(expected);
  });
});
