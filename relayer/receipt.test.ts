import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { acceptanceHash, type Receipt, verifyReceipt } from './receipt.ts';
import { createReceipts } from './receipts.ts';

const relayer = privateKeyToAccount(`0x${'11'.repeat(32)}`);
const stranger = privateKeyToAccount(`0x${'22'.repeat(32)}`);
const digest = `0x${'ab'.repeat(32)}` as const;
const slot = {
  id: {
    module: '0x5FC8d32690cc91D4c39d9d3abcBD16989F875707',
    account: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
    nonce: (7n << 160n) | 1n,
  },
  state: 'claimed',
  digest,
  claimedAt: 1_800_000_000_999,
} as const;

async function receipt(): Promise<Receipt> {
  const given = await createReceipts(relayer).of(slot);
  if (given === null) throw new Error('no receipt');
  return given;
}

describe('a receipt', () => {
  it('is of the first wallet, says what was accepted when, and is the same from every process', async () => {
    const given = await receipt();
    expect(given).toMatchObject({
      slot: { account: slot.id.account, nonce: slot.id.nonce.toString() },
      digest,
      acceptedAt: 1_800_000_000,
      signer: relayer.address,
    });
    expect(await receipt()).toEqual(given);
    const overTheWire: unknown = JSON.parse(JSON.stringify(given));
    expect(await verifyReceipt(overTheWire, { digest, signer: relayer.address })).toEqual({
      ok: true,
      receipt: given,
    });
  });

  it('is not given for what was not accepted', async () => {
    expect(await createReceipts(relayer).of({ ...slot, state: 'open' })).toBeNull();
  });

  it.each<[string, (given: Receipt) => unknown]>([
    ['another nonce', (given) => ({ ...given, slot: { ...given.slot, nonce: '1' } })],
    [
      'another account',
      (given) => ({ ...given, slot: { ...given.slot, account: relayer.address } }),
    ],
    ['another time', (given) => ({ ...given, acceptedAt: given.acceptedAt + 1 })],
    ['another digest', (given) => ({ ...given, digest: `0x${'cd'.repeat(32)}` })],
    ['another signer', (given) => ({ ...given, signer: stranger.address })],
    ['no signature', (given) => ({ ...given, signature: undefined })],
    ['a signature of nothing', (given) => ({ ...given, signature: `0x${'00'.repeat(65)}` })],
    ['nothing at all', () => null],
  ])('with %s is refused', async (_name, change) => {
    expect((await verifyReceipt(change(await receipt()), { digest })).ok).toBe(false);
  });

  it('of somebody else is refused where the relayer is known', async () => {
    const { signature: _, ...acceptance } = await receipt();
    const forged = {
      ...acceptance,
      signer: stranger.address,
      signature: await stranger.sign({ hash: acceptanceHash(acceptance) }),
    };
    expect((await verifyReceipt(forged, { digest })).ok).toBe(true);
    expect(await verifyReceipt(forged, { digest, signer: relayer.address })).toMatchObject({
      ok: false,
      why: expect.stringContaining('another signer'),
    });
  });
});
