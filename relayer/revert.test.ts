import * as fc from 'fast-check';
import { encodeErrorResult, type Hex, parseAbi } from 'viem';
import { describe, expect, it } from 'vitest';
import { encodeCoverData } from '../contracts-abi/cover-data.ts';
import {
  coverMarketAbi,
  coverModuleAbi,
  sessionModuleAbi,
} from '../contracts-abi/generated/index.ts';
import type { Action, CoverAction } from '../contracts-abi/typed-data.ts';
import type { Session } from './checks/session.ts';
import { innermostRevert, refusalOfRevert } from './revert.ts';

const foreign = parseAbi([
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error Error(string reason)',
  'error GrantInactive()',
  'error Paused()',
  'error NoReference(address vault, uint8 reason, address pool)',
  'error Strange(uint256 value)',
]);
const account = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const common = {
  account,
  key: account,
  data: '0x',
  nonce: 1n,
  deadline: 1,
  fee: 1n,
} as const;
const trade = { ...common, vault: account, amount: 1n, limit: 100n, slippageBps: 50 } as const;
const buy = { ...trade, kind: 0 };
const sell = { ...trade, kind: 1 };
const take: CoverAction = {
  ...common,
  kind: 0,
  data: encodeCoverData({ tag: 'take', ids: [1n], coverUsd: [50n], minCoverUsd: 50n, limit: 100n }),
};
const cancel: CoverAction = { ...common, kind: 4, fee: 0n };
const poor = { usdg: 50n } as Session;
const rich = { usdg: 1_000n } as Session;

const wrap = (data: Hex): Hex =>
  encodeErrorResult({ abi: sessionModuleAbi, errorName: 'ModuleCallFailed', args: [data] });
const balance = encodeErrorResult({
  abi: foreign,
  errorName: 'ERC20InsufficientBalance',
  args: [account, 50n, 100n],
});
const text = (reason: string): Hex =>
  encodeErrorResult({ abi: foreign, errorName: 'Error', args: [reason] });
const plain = (errorName: 'GrantInactive' | 'Paused'): Hex =>
  encodeErrorResult({ abi: foreign, errorName });
const module = (errorName: 'DailyLimitExceeded', args: readonly [bigint, bigint]): Hex =>
  encodeErrorResult({ abi: sessionModuleAbi, errorName, args });

describe('refusalOfRevert', () => {
  it.each<[string, Hex | null, Action, Session, string]>([
    ['daily limit', module('DailyLimitExceeded', [2n, 1n]), buy, rich, 'SESSION_LIMIT'],
    ['no grant', plain('GrantInactive'), buy, rich, 'SESSION_INACTIVE'],
    [
      'a token that speaks like the module',
      wrap(plain('GrantInactive')),
      buy,
      rich,
      'SIMULATION_FAILED',
    ],
    ['a pause met by the zapper', wrap(plain('Paused')), buy, rich, 'PAUSED'],
    [
      'no reference',
      encodeErrorResult({ abi: foreign, errorName: 'NoReference', args: [account, 2, account] }),
      buy,
      rich,
      'NO_REFERENCE',
    ],
    ['a balance too small', wrap(balance), buy, poor, 'INSUFFICIENT_FUNDS'],
    ['another token short', wrap(balance), buy, rich, 'SIMULATION_FAILED'],
    ['a balance error in a sale', wrap(balance), sell, poor, 'SIMULATION_FAILED'],
    ['a token of words', wrap(text('STF')), buy, poor, 'INSUFFICIENT_FUNDS'],
    ['a slipped price', wrap(text('Too much requested')), buy, poor, 'SIMULATION_FAILED'],
    ['nothing', null, buy, rich, 'SIMULATION_FAILED'],
    ['an unknown error', '0x12345678', buy, rich, 'SIMULATION_FAILED'],
  ])('%s', (_name, data, action, session, code) => {
    expect(refusalOfRevert(innermostRevert(data), action, session).code).toBe(code);
  });

  const market = (errorName: 'NotOpen' | 'TradingClosed'): Hex =>
    wrap(
      errorName === 'NotOpen'
        ? encodeErrorResult({ abi: coverMarketAbi, errorName, args: [1n] })
        : encodeErrorResult({ abi: coverMarketAbi, errorName, args: [1] }),
    );
  const notHolder = encodeErrorResult({
    abi: coverModuleAbi,
    errorName: 'NotAHolder',
    args: [account, 1n, 5n],
  });

  it.each<[string, Hex, Action | CoverAction, Session, string]>([
    ['a listing that was taken', market('NotOpen'), take, rich, 'NO_COVER'],
    ['a request that was filled', market('NotOpen'), cancel, rich, 'ORDER_NOT_OPEN'],
    ['a market that closed', market('TradingClosed'), take, rich, 'COVER_CLOSED'],
    ['an account without the basket', notHolder, take, rich, 'NOT_A_HOLDER'],
    ['a premium that is not there', wrap(balance), take, poor, 'INSUFFICIENT_FUNDS'],
    ['the words of the market in a trade', market('NotOpen'), buy, rich, 'SIMULATION_FAILED'],
  ])('of cover: %s', (_name, data, action, session, code) => {
    expect(refusalOfRevert(innermostRevert(data), action, session).code).toBe(code);
  });

  it('names the innermost error with its arguments', () => {
    expect(innermostRevert(wrap(wrap(balance))).text).toBe(
      `ERC20InsufficientBalance(${account}, 50, 100)`,
    );
    expect(innermostRevert(wrap(text('Too little received'))).text).toBe('Too little received');
  });

  it('cuts what a contract chose to say', () => {
    const huge = text('x'.repeat(100_000));
    expect(innermostRevert(huge).text.length).toBeLessThan(100);
    expect(innermostRevert(text('y'.repeat(1_000))).text.length).toBeLessThanOrEqual(300);
    let nested: Hex = '0x';
    for (let depth = 0; depth < 20; depth += 1) nested = wrap(nested);
    expect(innermostRevert(nested).name).toBeNull();
  });

  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const data = `0x${Buffer.from(bytes).toString('hex')}` as const;
        expect(innermostRevert(data).text.length).toBeLessThanOrEqual(300);
        expect(innermostRevert(wrap(data)).inner).toBe(true);
      }),
    );
  });
});
