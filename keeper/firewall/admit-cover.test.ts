import * as fc from 'fast-check';
import { decodeFunctionData, encodeFunctionData, erc20Abi, type Hex, zeroAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import type { ListedPayout } from '../source/payout.ts';
import { encodePayout, encodeStep } from '../../runtime/cover/cover-work.ts';
import { admitCover } from './admit-cover.ts';
import { coverPayout, coverStep, deployment, ENERGY, known, OURS, STRANGER } from './fixture.ts';

const { coverMarket, usdg } = deployment;
const whyNot = (listed: ListedPayout): string => {
  const admission = admitCover(listed, known, OURS);
  return admission.tag === 'refused' ? admission.why : 'admitted';
};
const withData = (listed: ListedPayout, data: Hex): ListedPayout => ({
  ...listed,
  tx: { ...listed.tx, data },
});
const approval = encodeFunctionData({
  abi: erc20Abi,
  functionName: 'approve',
  args: [STRANGER, 2n ** 256n - 1n],
});
const { vault, week } = coverStep();

describe('an honest announcement', () => {
  test.each<[string, ListedPayout]>([
    ['a snapshot', coverStep()],
    ['a settlement', coverStep('settle')],
    ['a void', coverStep('void')],
    ['a payout', coverPayout()],
    ['a step that names us already', coverStep('snapshot', OURS)],
    ['a payout that names us already', coverPayout([3n], OURS)],
  ])('is admitted and encoded anew with our address: %s', (_, listed) => {
    const admission = admitCover(listed, known, OURS, 2);
    if (admission.tag === 'refused') throw new Error(admission.why);
    const { work } = admission;
    expect(work).toMatchObject({ source: 2, contract: coverMarket, type: listed.type });
    const { args } = decodeFunctionData({ abi: coverMarketAbi, data: work.data });
    expect(args?.at(-1)).toBe(OURS);
  });

  test('of the steps of one week and basket has a key of its own for each', () => {
    const keys = (['snapshot', 'settle', 'void'] as const).map((type) => {
      const admission = admitCover(coverStep(type), known, OURS);
      return admission.tag === 'admitted' ? admission.work.key : admission.why;
    });
    expect(new Set(keys).size).toBe(3);
  });
});

describe('a hostile announcement is refused before any simulation', () => {
  test.each<[string, string, ListedPayout]>([
    ['another contract', 'unknown_contract', { ...coverStep(), contract: STRANGER }],
    ['another target', 'target', { ...coverStep(), tx: { ...coverStep().tx, to: usdg } }],
    ['a value', 'value', { ...coverStep(), tx: { ...coverStep().tx, value: 1n } }],
    ['a vault that no registry knows', 'unknown_vault', { ...coverStep(), vault: STRANGER }],
    ['an approval', 'selector', withData(coverStep(), approval)],
    ['no calldata', 'selector', withData(coverStep(), '0x')],
    ['another step than it says', 'selector', { ...coverStep('settle'), type: 'snapshot' }],
    ['a payout as a step', 'selector', { ...coverPayout(), type: 'snapshot' }],
    [
      'a claim',
      'selector',
      withData(
        coverStep(),
        encodeFunctionData({ abi: coverMarketAbi, functionName: 'claim', args: [STRANGER] }),
      ),
    ],
    ['another week in the calldata', 'id', { ...coverStep(), week: week + 1 }],
    [
      'another basket in the calldata',
      'id',
      withData(coverStep(), encodeStep('snapshot', week, ENERGY, zeroAddress)),
    ],
    ['somebody else as the executor', 'executor', coverStep('snapshot', STRANGER)],
    ['somebody else as the executor of a payout', 'executor', coverPayout([7n], STRANGER)],
    ['bytes behind the arguments', 'encoding', withData(coverStep(), `${coverStep().tx.data}00`)],
    ['no position', 'positions', coverPayout([])],
    ['a position twice', 'positions', coverPayout([7n, 7n])],
    ['a position zero', 'positions', coverPayout([0n])],
    [
      'too many positions',
      'positions',
      coverPayout(Array.from({ length: 101 }, (_, index) => BigInt(index + 1))),
    ],
    ['another position than it says', 'id', { ...coverPayout([7n, 8n]), id: '8' }],
  ])('%s', (_, why, listed) => {
    expect(whyNot(listed)).toBe(why);
  });

  test('whatever the calldata, what is admitted does what it says, and pays us', () => {
    const honest = encodePayout([7n, 8n], zeroAddress);
    const mutated = fc
      .record({ at: fc.nat((honest.length - 4) / 2), byte: fc.nat(255) })
      .map(({ at, byte }): Hex => {
        const place = 2 + at * 2;
        return `${honest.slice(0, place)}${byte.toString(16).padStart(2, '0')}${honest.slice(place + 2)}` as Hex;
      });
    fc.assert(
      fc.property(mutated, (data) => {
        const admission = admitCover(withData(coverPayout(), data), known, OURS);
        if (admission.tag === 'refused') return;
        const call = decodeFunctionData({ abi: coverMarketAbi, data: admission.work.data });
        expect(call.functionName).toBe('payout');
        expect(call.args?.at(-1)).toBe(OURS);
        expect(admission.work.contract).toBe(coverMarket);
      }),
      { numRuns: 500 },
    );
  });

  test('a step is another one by its vault alone', () => {
    expect(whyNot({ ...coverStep(), vault })).toBe('admitted');
  });
});
