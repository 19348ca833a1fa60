import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyEstimate, classifySend, revertOf } from './classify.ts';
import type { RpcAnswer } from './rpc.ts';

function error(
  code: number,
  message: string,
  data?: unknown,
): Extract<RpcAnswer, { tag: 'error' }> {
  return { tag: 'error', code, message, data };
}

describe('errors are classified by structure', () => {
  it('a contract’s words never decide, whatever they are', () => {
    const words = fc.oneof(
      fc.constantFrom(
        'nonce too low',
        'already known',
        'insufficient funds for gas',
        'replacement transaction underpriced',
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(words, fc.constantFrom(3, -32_000, -32_003, -32_015), (message, code) => {
        const reverted = error(code, message, '0x08c379a0');
        expect(classifySend([reverted]).tag).toBe('rejected');
        expect(classifyEstimate(reverted).tag).toBe('reverted');
        const bare = error(code, `execution reverted: ${message}`);
        expect(classifySend([bare]).tag).toBe('rejected');
        expect(classifyEstimate(bare).tag).toBe('reverted');
      }),
    );
  });

  it('finds revert data where nodes put it, and keeps it short', () => {
    expect(revertOf(error(3, 'x', '0x1234'))?.revertData).toBe('0x1234');
    expect(revertOf(error(-32_000, 'x', { data: '0x12' }))?.revertData).toBe('0x12');
    expect(revertOf(error(-32_000, 'x', { originalError: { data: '0x' } }))?.revertData).toBe('0x');
    expect(revertOf(error(-32_000, 'x', { result: '0xff' }))?.revertData).toBe('0xff');
    expect(revertOf(error(-32_000, 'header not found'))).toBeNull();
    const huge = revertOf(error(3, 'x'.repeat(10_000), `0x${'ab'.repeat(100_000)}`));
    expect(huge?.revertData?.length).toBe(2 + 2 * 4_096);
    expect(huge?.message.length).toBe(300);
  });

  it.each([
    [error(-32_003, 'transaction already imported'), 'accepted'],
    [error(-32_000, 'already known'), 'accepted'],
    [error(-32_003, 'nonce too low'), 'nonce_consumed'],
    [error(-32_000, 'nonce too low: address 0x…, tx: 1 state: 2'), 'nonce_consumed'],
    [error(-32_003, 'replacement transaction underpriced'), 'underpriced'],
    [error(-32_003, 'max fee per gas less than block base fee'), 'underpriced'],
    [error(-32_003, 'Insufficient funds for gas * price + value'), 'insufficient_funds'],
    [error(-32_603, 'Internal error'), 'unknown'],
    [error(-32_000, 'the nonce too low'), 'rejected'],
    [{ tag: 'result', result: '0x' } as const, 'accepted'],
    [{ tag: 'unknown', message: 'ECONNRESET' } as const, 'unknown'],
    [{ tag: 'not_delivered', message: 'HTTP 429' } as const, 'not_delivered'],
  ])('%o of a send is %s', (answer, tag) => {
    expect(classifySend([answer]).tag).toBe(tag);
  });

  it('of several endpoints, the strongest claim that it may be out wins', () => {
    const refused = { tag: 'not_delivered', message: '' } as const;
    const lost = { tag: 'unknown', message: '' } as const;
    expect(classifySend([refused, lost]).tag).toBe('unknown');
    expect(classifySend([error(-32_000, 'no'), refused]).tag).toBe('rejected');
    expect(classifySend([lost, { tag: 'result', result: '0x' }]).tag).toBe('accepted');
    expect(classifySend([]).tag).toBe('not_delivered');
  });

  it('an estimate that failed for a passing reason is tried again', () => {
    expect(classifyEstimate(error(-32_000, 'header not found')).tag).toBe('retry');
    expect(classifyEstimate({ tag: 'unknown', message: '' }).tag).toBe('retry');
    expect(classifyEstimate({ tag: 'result', result: 'x' }).tag).toBe('retry');
    expect(classifyEstimate({ tag: 'result', result: '0x5208' })).toEqual({
      tag: 'gas',
      gas: 21_000n,
    });
  });
});
