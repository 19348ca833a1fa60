import fc from 'fast-check';
import {
  type Address,
  getAddress,
  type Hex,
  hashTypedData,
  recoverTypedDataAddress,
  type TypedDataDefinition,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { COVER_KIND, type CoverOrder, decodeCoverData, encodeCoverData } from './cover-data.ts';
import {
  type Action,
  actionDigest,
  actionFromJson,
  actionToJson,
  actionTypedData,
  type CoverAction,
  coverActionDigest,
  coverActionFromJson,
  coverActionToJson,
  coverActionTypedData,
} from './typed-data.ts';

const MODULE: Address = '0x1111111111111111111111111111111111111111';
const KEY = privateKeyToAccount(`0x${'4663'.repeat(16)}`);

const word = (bits: bigint) => fc.bigInt({ min: 0n, max: (1n << bits) - 1n });
const bytes = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((array): Hex => `0x${Buffer.from(array).toString('hex')}`);
const addresses = bytes(20).map((hex) => getAddress(hex));
const data = fc.integer({ min: 0, max: 100 }).chain(bytes);

const coverActions: fc.Arbitrary<CoverAction> = fc.record({
  account: addresses,
  key: addresses,
  kind: fc.integer({ min: 0, max: 255 }),
  data,
  nonce: word(256n),
  deadline: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  fee: word(256n),
});
const actions: fc.Arbitrary<Action> = fc
  .record({
    vault: addresses,
    amount: word(256n),
    limit: word(256n),
    slippageBps: fc.integer({ min: 0, max: 65_535 }),
  })
  .chain((own) => coverActions.map((cover) => ({ ...cover, ...own })));

const orders: fc.Arbitrary<CoverOrder> = fc.oneof(
  fc.array(fc.tuple(word(256n), word(64n)), { maxLength: 6 }).chain((offers) =>
    fc.record({
      tag: fc.constant('take' as const),
      ids: fc.constant(offers.map(([id]) => id)),
      coverUsd: fc.constant(offers.map(([, usd]) => usd)),
      minCoverUsd: word(256n),
      limit: word(256n),
    }),
  ),
  fc.record({
    tag: fc.constant('request' as const),
    week: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    vault: addresses,
    fromBps: fc.integer({ min: 0, max: 65_535 }),
    toBps: fc.integer({ min: 0, max: 65_535 }),
    coverUsd: word(64n),
    pricePer1k: word(128n),
  }),
  fc.record({ tag: fc.constant('cancel' as const), listingId: word(256n) }),
);

describe('actions as JSON', () => {
  it('come back as they went', () => {
    fc.assert(
      fc.property(actions, (action) => {
        const json = JSON.parse(JSON.stringify(actionToJson(action))) as typeof action;
        expect(actionFromJson(json as never)).toEqual(action);
      }),
    );
    fc.assert(
      fc.property(coverActions, (action) => {
        const json = JSON.parse(JSON.stringify(coverActionToJson(action))) as typeof action;
        expect(coverActionFromJson(json as never)).toEqual(action);
      }),
    );
  });

  it('sign as they stand: the key is recovered from the typed data’s own words', async () => {
    await fc.assert(
      fc.asyncProperty(coverActions, async (action) => {
        const typedData = coverActionTypedData(action, MODULE);
        const signable: unknown = typedData;
        const signature = await KEY.signTypedData(signable as TypedDataDefinition);
        const { EIP712Domain: _, ...types } = typedData.types;
        const signed = { ...typedData, types, signature } as never;
        expect(await recoverTypedDataAddress(signed)).toBe(KEY.address);
        expect(hashTypedData(typedData as never)).toBe(coverActionDigest(action, MODULE));
      }),
      { numRuns: 10 },
    );
  });

  it('of the two modules never share a digest', () => {
    fc.assert(
      fc.property(actions, (action) => {
        const { vault: _v, amount: _a, limit: _l, slippageBps: _s, ...cover } = action;
        const digests = [
          actionDigest(action, MODULE),
          coverActionDigest(cover, MODULE),
          coverActionDigest(cover, action.account),
        ];
        expect(new Set(digests).size).toBe(3);
        expect(hashTypedData(actionTypedData(action, MODULE) as never)).toBe(digests[0]);
      }),
      { numRuns: 20 },
    );
  });
});

describe('data of a cover action', () => {
  it('comes back as it went, for its own kind', () => {
    fc.assert(
      fc.property(orders, (order) => {
        expect(decodeCoverData(COVER_KIND[order.tag], encodeCoverData(order))).toEqual(order);
      }),
    );
  });

  it('is refused when a byte is added, cut off, or it is no encoding at all', () => {
    fc.assert(
      fc.property(orders, (order) => {
        const encoded = encodeCoverData(order);
        const kind = COVER_KIND[order.tag];
        expect(decodeCoverData(kind, `${encoded}00`)).toBeNull();
        expect(decodeCoverData(kind, `${encoded}${'00'.repeat(32)}`)).toBeNull();
        expect(decodeCoverData(kind, encoded.slice(0, -2) as Hex)).toBeNull();
        expect(decodeCoverData(kind, '0x')).toBeNull();
      }),
    );
  });

  it('of the owner’s kinds and of unknown ones is not read', () => {
    fc.assert(
      fc.property(orders, fc.constantFrom(2, 3, 5, 6, 255), (order, kind) => {
        expect(decodeCoverData(kind, encodeCoverData(order))).toBeNull();
      }),
    );
  });

  it('with dirty padding is refused: it would be another digest for the same order', () => {
    const order = { tag: 'request', week: 1, vault: MODULE, fromBps: 300, toBps: 1_000 } as const;
    const encoded = encodeCoverData({ ...order, coverUsd: 50n, pricePer1k: 1n });
    expect(decodeCoverData(COVER_KIND.request, `0x01${encoded.slice(4)}`)).toBeNull();
  });
});
