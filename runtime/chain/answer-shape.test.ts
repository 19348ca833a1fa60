import { describe, expect, it } from 'vitest';
import { checkAnswer, MalformedAnswer } from './answer-shape.ts';
import { faultOfLogs } from './log-shape.ts';

const HASH = `0x${'ab'.repeat(32)}`;
const OTHER = `0x${'cd'.repeat(32)}`;
const block = { number: '0x10', timestamp: '0x5', hash: HASH, parentHash: OTHER };
const aggregate = [{ to: `0x${'ca'.repeat(20)}`, data: '0x82ad56cb00' }, 'latest'];

const checks = (method: string, params: unknown, result: unknown) => () =>
  checkAnswer({ method, params }, result);

describe('is an answer:', () => {
  it.each<[string, unknown, unknown]>([
    ['eth_blockNumber', [], '0x0'],
    ['eth_getBalance', [], `0x${'f'.repeat(64)}`],
    ['eth_call', [{ data: '0x01' }, 'latest'], '0x'],
    ['eth_call', aggregate, '0x00'],
    ['eth_getBlockByNumber', ['latest', false], block],
    ['eth_getBlockByNumber', ['0x10', false], block],
    ['eth_getBlockByNumber', ['0x11', false], null],
    ['eth_getBlockByNumber', ['pending', false], { ...block, hash: null }],
    ['eth_getBlockByHash', [HASH, false], block],
    ['eth_getBlockByHash', [HASH, false], null],
    ['eth_getTransactionReceipt', [HASH], null],
    ['eth_simulateV1', [], []],
  ])('%s %j: %j', (method, params, result) => {
    expect(checks(method, params, result)).not.toThrow();
  });
});

describe('is none:', () => {
  it.each<[string, unknown, unknown]>([
    ['eth_simulateV1', [], undefined],
    ['eth_blockNumber', [], null],
    ['eth_blockNumber', [], 16],
    ['eth_blockNumber', [], '0x'],
    ['eth_chainId', [], '4663'],
    ['eth_call', [{ data: '0x01' }, 'latest'], null],
    ['eth_call', [{ data: '0x01' }, 'latest'], '0x0'],
    ['eth_call', aggregate, '0x'],
    ['eth_getBlockByNumber', ['latest', false], null],
    ['eth_getBlockByNumber', ['latest', false], {}],
    ['eth_getBlockByNumber', ['latest', false], { ...block, hash: undefined }],
    ['eth_getBlockByNumber', ['latest', false], { ...block, timestamp: 5 }],
    ['eth_getBlockByNumber', ['0x11', false], block],
    ['eth_getBlockByHash', [OTHER, false], block],
  ])('%s %j: %j', (method, params, result) => {
    expect(checks(method, params, result)).toThrow(MalformedAnswer);
  });
});

describe('of logs', () => {
  const log = (blockNumber: number, logIndex: number, change: object = {}) => ({
    address: `0x${'aa'.repeat(20)}`,
    topics: [HASH],
    data: '0x',
    blockNumber: `0x${blockNumber.toString(16)}`,
    logIndex: `0x${logIndex.toString(16)}`,
    blockHash: HASH,
    transactionHash: OTHER,
    blockTimestamp: '0x5',
    ...change,
  });
  const fault = (...logs: unknown[]) => faultOfLogs(logs, { from: 1, to: 20 });

  it('takes them in any order, and twice', () => {
    expect(fault(log(3, 1), log(2, 7), log(3, 0), log(2, 7), log(3, 1))).toBeNull();
    expect(fault(log(3, 1), log(3, 1, { address: `0x${'AA'.repeat(20)}` }))).toBeNull();
  });

  it('takes no two at one place, wherever they stand', () => {
    const taken = 'two logs of block 3 have one index';
    expect(fault(log(3, 1), log(3, 1, { data: '0x01' }))).toBe(taken);
    expect(fault(log(3, 1), log(4, 0), log(3, 1, { topics: [OTHER] }))).toBe(taken);
    expect(fault(log(5, 0), log(3, 1), log(3, 1, { transactionHash: HASH }))).toBe(taken);
  });

  it('takes one hash and one time of a block, but for those that were removed', () => {
    const differ = 'two logs of block 3 are of different blocks';
    expect(fault(log(3, 1), log(4, 0), log(3, 2, { blockHash: OTHER }))).toBe(differ);
    expect(fault(log(3, 1), log(3, 2, { blockTimestamp: '0x6' }))).toBe(differ);
    expect(fault(log(3, 1, { blockHash: OTHER, removed: true }), log(3, 1))).toBeNull();
  });
});
