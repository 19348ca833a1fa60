/** A fill of the made-up escrow for tests of what is sent. */
import { pad } from 'viem';
import { type Fill, workKeyOf } from './work.ts';

export const ESCROW = '0x00000000000000000000000000000000000000c1';

/** The fill of order `number`; its calldata is that number in four bytes unless `changes` say otherwise. */
export function fillOf(number: number, changes: Partial<Fill> = {}): Fill {
  const id = pad(`0x${number.toString(16)}`);
  return {
    type: 'sell',
    key: workKeyOf(ESCROW, id),
    id,
    source: 0,
    contract: ESCROW,
    ticker: 'CORE',
    vault: null,
    promisedUsdg: 1n,
    data: pad(`0x${number.toString(16)}`, { size: 4 }),
    slippageBps: 0,
    swapCount: 1,
    armData: null,
    ...changes,
  };
}
