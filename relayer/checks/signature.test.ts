import { concat, type Hex, hashTypedData, hexToBigInt, numberToHex, size, slice } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import {
  ACTION_TYPES,
  type Action,
  actionDigest,
  sessionDomain,
} from '../../contracts-abi/typed-data.ts';
import { checkSignature } from './signature.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const sessionModule = '0x5fc8d32690cc91d4c39d9d3abcbd16989f875707';
const agent = privateKeyToAccount(generatePrivateKey());
const action: Action = {
  account: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  key: agent.address,
  kind: 0,
  vault: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
  amount: 10n ** 18n,
  limit: 101_000_000n,
  slippageBps: 50,
  data: '0x1234',
  nonce: 7n,
  deadline: 1_800_000_000,
  fee: 0n,
};
const digest = actionDigest(action, sessionModule);
const good = await agent.sign({ hash: digest });
const [r, s, v] = [slice(good, 0, 32), slice(good, 32, 64), slice(good, 64, 65)];
const otherV: Hex = v === '0x1b' ? '0x1c' : '0x1b';

async function signedOver(domain: object, message: Action = action): Promise<Hex> {
  const hash = hashTypedData({ domain, types: ACTION_TYPES, primaryType: 'Action', message });
  return await agent.sign({ hash });
}

const check = (signature: Hex) =>
  checkSignature({ digest, signature, key: agent.address, domain: sessionDomain(sessionModule) });

describe('checkSignature', () => {
  it('takes 65 bytes, low s, v 27 or 28, of the key over this very action', async () => {
    expect(await check(good)).toEqual({ ok: true });
  });

  const domain = sessionDomain(sessionModule);
  const highS = numberToHex(ORDER - hexToBigInt(s), { size: 32 });
  it.each<[string, Promise<Hex> | Hex, RegExp]>([
    ['the high-s twin', concat([r, highS, otherV]), /upper half/],
    ['64 bytes (EIP-2098)', concat([r, s]), /64 bytes/],
    ['66 bytes', concat([good, '0x00']), /66 bytes/],
    ['two signatures', concat([good, good]), /130 bytes/],
    ['nothing', '0x', /0 bytes/],
    ['v 0', concat([r, s, '0x00']), /v is 0/],
    ['v 1', concat([r, s, '0x01']), /v is 1/],
    ['v 26', concat([r, s, '0x1a']), /v is 26/],
    ['v 29', concat([r, s, '0x1d']), /v is 29/],
    ['the other v', concat([r, s, otherV]), /not of action.key/],
    ['r zero', concat([numberToHex(0, { size: 32 }), s, v]), /r is out of range/],
    ['r of the order', concat([numberToHex(ORDER, { size: 32 }), s, v]), /r is out of range/],
    ['s zero', concat([r, numberToHex(0, { size: 32 }), v]), /s is out of range/],
    ['s of the order', concat([r, numberToHex(ORDER, { size: 32 }), v]), /s is out of range/],
    ['r that is no point', concat([numberToHex(5, { size: 32 }), s, v]), /not of action.key/],
    ['another chain', signedOver({ ...domain, chainId: 1 }), /not of action.key/],
    [
      'another module',
      signedOver({ ...domain, verifyingContract: action.account }),
      /not of action.key/,
    ],
    ['another domain name', signedOver({ ...domain, name: 'basket cover' }), /not of action.key/],
    ['another domain version', signedOver({ ...domain, version: '2' }), /not of action.key/],
    ['a domain with a salt', signedOver({ ...domain, salt: r }), /not of action.key/],
    ['another fee', signedOver(domain, { ...action, fee: 1n }), /not of action.key/],
    ['another nonce', signedOver(domain, { ...action, nonce: 8n }), /not of action.key/],
    [
      'another key',
      privateKeyToAccount(generatePrivateKey()).sign({ hash: digest }),
      /not of action.key/,
    ],
    [
      'a personal message of the digest',
      agent.signMessage({ message: { raw: digest } }),
      /not of action.key/,
    ],
  ])('refuses %s', async (_name, given, reason) => {
    const signature = await given;
    expect(await check(signature)).toEqual({
      ok: false,
      refusal: { code: 'BAD_SIGNATURE', message: expect.stringMatching(reason) },
    });
    expect(size(good)).toBe(65);
  });
});
