import { encodeCoverData } from '../contracts-abi/cover-data.ts';
import { describe, expect, it } from 'vitest';
import { PASTED_KEY_WARNING } from '../runtime/schema.ts';
import { parseRelayBody } from './action-schema.ts';

const action = {
  account: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  key: '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65',
  kind: 0,
  vault: '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc',
  amount: '1000000000000000000',
  limit: '101000000',
  slippageBps: 50,
  data: '0xABcd',
  nonce: '7',
  deadline: 1_800_000_000,
  fee: '0',
};
const signature = `0x${'11'.repeat(65)}`;
const body = { action, signature };
const withField = (field: string, value: unknown) => ({
  action: { ...action, [field]: value },
  signature,
});

describe('parseRelayBody', () => {
  it('reads an action: uint256 as bigints, addresses in any case', () => {
    expect(parseRelayBody(body)).toEqual({
      tag: 'action',
      signature,
      action: {
        ...action,
        key: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
        data: '0xabcd',
        amount: 10n ** 18n,
        limit: 101_000_000n,
        nonce: 7n,
        fee: 0n,
      },
    });
  });

  it('tells a cover action by its shape', () => {
    const { account, key, data, nonce, deadline, fee } = action;
    const terms = encodeCoverData({ tag: 'cancel', listingId: 7n });
    const cover = { account, key, kind: 4, data: terms, nonce, deadline, fee: '0' };
    const parse = (changes: object) =>
      parseRelayBody({ action: { ...cover, ...changes }, signature });
    expect(parse({})).toMatchObject({ tag: 'action', action: { kind: 4, data: terms } });
    expect(parse({ fee: '1' })).toEqual({
      tag: 'invalid',
      message: 'action.fee: a cancel carries no fee',
    });
    expect(parse({ data })).toMatchObject({ message: expect.stringMatching(/^action.data: /) });
    expect(parse({ kind: 0, fee })).toMatchObject({ tag: 'invalid' });
    for (const kind of [2, 3, 5]) {
      expect(parse({ kind })).toMatchObject({
        message: expect.stringMatching(/belong to the owner/),
      });
    }
    expect(parse({ kind: 6 })).toMatchObject({ tag: 'invalid' });
    expect(parse({ week: 1 })).toMatchObject({ tag: 'invalid' });
  });

  const MAX = (2n ** 256n - 1n).toString();
  it('takes the greatest uint256 and nothing above', () => {
    expect(parseRelayBody(withField('amount', MAX)).tag).toBe('action');
    expect(parseRelayBody(withField('amount', (2n ** 256n).toString())).tag).toBe('invalid');
  });

  it.each([
    ['amount', 1],
    ['amount', 1e30],
    ['amount', '-1'],
    ['amount', '+1'],
    ['amount', '01'],
    ['amount', '1.0'],
    ['amount', '1e18'],
    ['amount', '0x10'],
    ['amount', ' 1'],
    ['amount', '1n'],
    ['amount', ''],
    ['amount', '9'.repeat(79)],
    ['amount', '9'.repeat(100_000)],
    ['limit', null],
    ['nonce', ['7']],
    ['fee', { toString: '1' }],
    ['fee', true],
    ['kind', '0'],
    ['kind', 2],
    ['kind', 256],
    ['kind', -1],
    ['kind', 0.5],
    ['slippageBps', '50'],
    ['slippageBps', 65_536],
    ['deadline', '1800000000'],
    ['deadline', 2 ** 48],
    ['deadline', 1.5],
    ['deadline', Number.POSITIVE_INFINITY],
    ['data', 'abcd'],
    ['data', '0xabc'],
    ['data', '0xzz'],
    ['data', `0x${'00'.repeat(32_769)}`],
    ['account', '0x1234'],
    ['account', 7],
    ['vault', undefined],
  ])('refuses %s = %s and names the field', (field, value) => {
    expect(parseRelayBody(withField(field, value))).toEqual({
      tag: 'invalid',
      message: expect.stringContaining(`action.${field}`),
    });
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['an array', [body]],
    ['an extra key', { ...body, extra: 1 }],
    ['an extra key in the action', withField('extra', 1)],
    ['a prototype key', JSON.parse(`{"__proto__":{},"action":${JSON.stringify(action)}}`)],
    ['no signature', { action }],
    ['a signature that is no hex', { action, signature: 'abc' }],
    ['a signature of a megabyte', { action, signature: `0x${'00'.repeat(1_000_000)}` }],
    ['a signature object', { action, signature: { r: '0x', s: '0x', v: 27 } }],
  ])('refuses %s', (_name, value) => {
    expect(parseRelayBody(value).tag).toBe('invalid');
  });

  it('warns of a pasted private key without echoing it', () => {
    const key = `0x${'ab'.repeat(32)}`;
    const parsed = parseRelayBody(withField('key', key));
    expect(parsed).toEqual({ tag: 'invalid', message: `action.key: ${PASTED_KEY_WARNING}` });
  });
});
