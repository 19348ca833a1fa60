import { encodeAbiParameters, encodeErrorResult, type Hex, parseAbi, toHex } from 'viem';
import { describe, expect, it } from 'vitest';
import { exitEscrowAbi, sessionModuleAbi } from './generated/index.ts';
import { decodeRevert, describeRevert, revertDataOf } from './revert.ts';

const id: Hex = `0x${'ab'.repeat(32)}`;
const belowFloor = encodeErrorResult({
  abi: exitEscrowAbi,
  errorName: 'BelowFloor',
  args: [id, 990_000n, 1_000_000n],
});

describe('revert data in words', () => {
  it('names a custom error with its arguments', () => {
    expect(decodeRevert(belowFloor)).toEqual({
      name: 'BelowFloor',
      args: [id, 990_000n, 1_000_000n],
    });
    expect(describeRevert(belowFloor)).toBe(`BelowFloor(${id}, 990000, 1000000)`);
  });

  it('shows the revert inside a module call instead of its wrapper', () => {
    const wrapped = encodeErrorResult({
      abi: sessionModuleAbi,
      errorName: 'ModuleCallFailed',
      args: [belowFloor],
    });
    expect(describeRevert(wrapped)).toContain('BelowFloor');
  });

  it('reads plain strings and panics', () => {
    const abi = parseAbi(['error Error(string)', 'error Panic(uint256)']);
    const text = encodeErrorResult({ abi, errorName: 'Error', args: ['ERC20: paused'] });
    expect(describeRevert(text)).toBe('ERC20: paused');
    const panic = encodeErrorResult({ abi, errorName: 'Panic', args: [0x11n] });
    expect(describeRevert(panic)).toBe('Panic(0x11)');
  });

  it('caps what a hostile contract can make us write', () => {
    expect(describeRevert(toHex(new Uint8Array(100_000)))).toBe('reverted with 100000 bytes');
    const long = `0x08c379a0${encodeAbiParameters([{ type: 'string' }], ['\n\u0000x'.repeat(900)]).slice(2)}`;
    expect(describeRevert(long as Hex)).toMatch(/^[\x20-\x7e]{1,300}$/);
    expect(describeRevert('0x08c379a0ff')).toBe('reverted with an unknown error 0x08c379a0');
    expect(describeRevert('0x')).toBe('reverted without a reason');
  });

  it('finds the data at any depth of a client error', () => {
    expect(revertDataOf(new Error('a', { cause: { data: belowFloor } }))).toBe(belowFloor);
    expect(revertDataOf({ cause: { data: { data: '0x1234' } } })).toBe('0x1234');
    expect(revertDataOf(new Error('no data'))).toBeNull();
  });
});
