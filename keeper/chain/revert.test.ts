import * as fc from 'fast-check';
import { encodeErrorResult, type Hex, pad } from 'viem';
import { describe, expect, test } from 'vitest';
import {
  basketZapperAbi,
  exitEscrowAbi,
  navOracleAbi,
} from '../../contracts-abi/generated/index.ts';
import { readRevert } from './revert.ts';

const ID: Hex = pad('0x1', { size: 32 });
const OTHER: Hex = pad('0x2', { size: 32 });
const order = (
  errorName: 'NotTriggered' | 'NotOpen' | 'UnknownOrder' | 'OrderIsExpired',
  id: Hex,
) =>
  errorName === 'NotTriggered'
    ? encodeErrorResult({ abi: exitEscrowAbi, errorName, args: [id, 5n] })
    : errorName === 'NotOpen'
      ? encodeErrorResult({ abi: exitEscrowAbi, errorName, args: [id, 2] })
      : encodeErrorResult({ abi: exitEscrowAbi, errorName, args: [id] });

describe('a revert of the protocol', () => {
  test.each<[string, Hex]>([
    ['not_due', order('NotTriggered', ID)],
    ['closed', order('NotOpen', ID)],
    ['closed', order('UnknownOrder', ID)],
    ['expired', order('OrderIsExpired', ID)],
    ['paused', encodeErrorResult({ abi: exitEscrowAbi, errorName: 'Paused' })],
    [
      'not_due',
      encodeErrorResult({
        abi: navOracleAbi,
        errorName: 'NoReference',
        args: [pad('0x3', { size: 20 }), 3, pad('0x4', { size: 20 })],
      }),
    ],
    [
      'already_armed',
      encodeErrorResult({ abi: exitEscrowAbi, errorName: 'AlreadyArmed', args: [ID, 7] }),
    ],
    [
      'other',
      encodeErrorResult({ abi: basketZapperAbi, errorName: 'BadSwap', args: [0n, 'router'] }),
    ],
  ])('is read as %s', (tag, data) => {
    expect(readRevert(data, ID).tag).toBe(tag);
  });

  test('that misses the floor tells both figures', () => {
    const data = encodeErrorResult({
      abi: exitEscrowAbi,
      errorName: 'BelowFloor',
      args: [ID, 97n, 99n],
    });
    expect(readRevert(data, ID)).toMatchObject({ tag: 'below_floor', got: 97n, floor: 99n });
  });

  test('about another order says nothing about ours', () => {
    expect(readRevert(order('NotOpen', OTHER), ID).tag).toBe('other');
    expect(readRevert(order('NotTriggered', OTHER), ID).tag).toBe('other');
  });
});

describe('a revert of somebody else', () => {
  test('of 100 kB is capped and named shortly', () => {
    const data: Hex = `0xdeadbeef${'ab'.repeat(100_000)}`;
    expect(readRevert(data, ID)).toEqual({
      tag: 'other',
      text: 'reverted with 100004 bytes',
    });
  });

  test('with words made to mislead stays opaque', () => {
    const data = encodeErrorResult({
      abi: basketZapperAbi,
      errorName: 'BadSwap',
      args: [0n, 'NotOpen\u001b[31m nonce too low'],
    });
    const read = readRevert(data, ID);
    expect(read.tag).toBe('other');
    expect(read.text).not.toContain('\u001b');
  });

  test('of any bytes at all is read without a fault, and shortly', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const read = readRevert(`0x${Buffer.from(bytes).toString('hex')}`, ID);
        expect(read.text.length).toBeLessThanOrEqual(200);
      }),
    );
    expect(readRevert(null, ID).tag).toBe('other');
  });
});
