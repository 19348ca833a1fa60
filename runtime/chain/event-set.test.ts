import * as fc from 'fast-check';
import {
  type AbiEvent,
  decodeEventLog,
  encodeAbiParameters,
  encodeEventTopics,
  type Hex,
  pad,
} from 'viem';
import { describe, expect, test } from 'vitest';
import {
  coverMarketAbi,
  exitEscrowAbi,
  limitEscrowAbi,
  scheduleEscrowAbi,
} from '../../contracts-abi/generated/index.ts';
import { eventSet } from './event-set.ts';

const word = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`);

describe.each([
  ['exit escrow', exitEscrowAbi],
  ['limit escrow', limitEscrowAbi],
  ['schedule escrow', scheduleEscrowAbi],
  ['cover market', coverMarketAbi],
] as const)('events of the %s', (_, abi) => {
  const set = eventSet(abi);
  const events = (abi as readonly { type: string }[]).filter(
    (item): item is AbiEvent => item.type === 'event',
  );

  test('are read as viem reads them, or refused where it refuses them', () => {
    fc.assert(
      fc.property(fc.constantFrom(...events), fc.array(word, { maxLength: 12 }), (event, words) => {
        const count = event.inputs.filter(({ indexed }) => indexed).length;
        const [selector] = encodeEventTopics({ abi: [event] });
        const topics = [selector, ...words.slice(0, count)] as [Hex, ...Hex[]];
        // Small words decode as any type, large ones do not.
        for (const small of [false, true]) {
          const data: Hex = `0x${words.map((one) => (small ? pad('0x1').slice(2) : one.slice(2))).join('')}`;
          const outcome = (read: () => unknown): unknown => {
            try {
              return read();
            } catch {
              return 'refused';
            }
          };
          expect(outcome(() => set.decode({ topics, data }))).toEqual(
            outcome(() => decodeEventLog({ abi: abi as readonly AbiEvent[], topics, data })),
          );
        }
      }),
    );
  });

  test('of another contract are refused, and what has no topic', () => {
    const data = encodeAbiParameters([{ type: 'uint256' }], [1n]);
    expect(() => set.decode({ topics: [pad('0x1')], data })).toThrow();
    expect(() => set.decode({ topics: [], data })).toThrow();
  });
});
