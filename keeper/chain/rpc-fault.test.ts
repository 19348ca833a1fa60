import { HttpRequestError, RpcRequestError, TimeoutError } from 'viem';
import { describe, expect, test } from 'vitest';
import { DeadlineError, within } from '../../runtime/deadline.ts';
import { rpcFaultOf } from './rpc-fault.ts';
import { dearerPrice } from './world.ts';

const rpcError = (code: number, message: string, data?: unknown): Error =>
  new Error('wrapped', {
    cause: new RpcRequestError({ body: {}, url: 'http://x', error: { code, message, data } }),
  });

describe('a failed call', () => {
  test.each<[string, unknown, object]>([
    ['a revert with data', rpcError(3, 'x', '0xdeadbeef'), { tag: 'reverted', data: '0xdeadbeef' }],
    ['a revert without data', rpcError(3, 'x'), { tag: 'reverted', data: '0x' }],
    [
      'revert data inside an object',
      rpcError(-32000, 'x', { data: '0x01' }),
      { tag: 'reverted', data: '0x01' },
    ],
    ['a missing method', rpcError(-32601, 'x'), { tag: 'no_such_method' }],
    [
      'a node in trouble, whatever it says',
      rpcError(-32000, 'execution reverted: NotOpen'),
      { tag: 'unavailable' },
    ],
    ['a rate limit', rpcError(-32005, 'x'), { tag: 'unavailable' }],
    ['HTTP 429', new HttpRequestError({ url: 'http://x', status: 429 }), { tag: 'unavailable' }],
    ['a time-out', new TimeoutError({ body: {}, url: 'http://x' }), { tag: 'unavailable' }],
    ['our own deadline', new DeadlineError('x', 1), { tag: 'unavailable' }],
    ['something thrown that is no error', 'text', { tag: 'unavailable' }],
  ])('%s is told by its structure', (_, error, fault) => {
    expect(rpcFaultOf(error)).toMatchObject(fault);
  });

  test('of 100 kB carries no more than a kilobyte on', () => {
    const fault = rpcFaultOf(rpcError(3, 'x', `0x${'ab'.repeat(100_000)}`));
    expect(fault.tag === 'reverted' && fault.data.length).toBe(2 + 2 * 1_024);
  });
});

test('a wait ends at its deadline', async () => {
  await expect(within(new Promise(() => undefined), 5, 'it')).rejects.toThrow(
    'it took longer than 5 ms',
  );
  await expect(within(Promise.resolve(7), 1_000, 'it')).resolves.toBe(7);
});

test('gas is priced at the dearer of spot and average, and not at all without a spot', () => {
  expect(dearerPrice(3n, 5n)).toBe(5n);
  expect(dearerPrice(5n, 3n)).toBe(5n);
  expect(dearerPrice(5n, 0n)).toBe(5n);
  expect(dearerPrice(0n, 5n)).toBeNull();
});
