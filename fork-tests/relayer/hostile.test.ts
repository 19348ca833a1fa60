/**
 * Hostile twins of an action that would pass, posted over HTTP: each is refused with its code and its reason before
 * anything is sent. A relayer that took one of them would run what its owner never signed, or let one signature stand
 * for two.
 */
import { concat, type Hex, hashTypedData, hexToBigInt, numberToHex, slice } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import {
  ACTION_TYPES,
  type Action,
  type ActionJson,
  actionToJson,
  sessionDomain,
} from '../../contracts-abi/typed-data.ts';
import { useFork } from '../harness/fork.ts';
import { type Agent, buyAction, openAgent } from './agent.ts';
import { type DataFolder, dataFolder, startTestRelayer, type TestRelayer } from './relayer.ts';

const fork = useFork();
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const FEE = 400_000n;
const stranger = privateKeyToAccount(generatePrivateKey());
let data: DataFolder;
let relayer: TestRelayer;
let agent: Agent;
let action: Action;
let json: ActionJson;
let good: Hex;

type Domain = ReturnType<typeof sessionDomain>;

/** Signed by the agent's key under a changed domain, or over a changed message. */
async function signed(
  domain: Partial<Record<keyof Domain | 'salt', unknown>>,
  message: Partial<Action> = {},
): Promise<Hex> {
  const hash = hashTypedData({
    domain: { ...sessionDomain(fork.deployment.sessionModule), ...domain } as Domain,
    types: ACTION_TYPES,
    primaryType: 'Action',
    message: { ...action, ...message },
  });
  return await agent.key.sign({ hash });
}

beforeAll(async () => {
  data = dataFolder();
  agent = await openAgent(fork, 'alice');
  action = await buyAction(fork, agent, 50n * USD, { fee: FEE });
  json = actionToJson(action);
  good = await signed({});
  relayer = await startTestRelayer(fork, data, { RELAY_FEE_STEP_USDG: '0.4' });
});
afterAll(async () => {
  await relayer?.stop();
  data.remove();
});

const r = (): Hex => slice(good, 0, 32);
const s = (): Hex => slice(good, 32, 64);
const v = (): Hex => slice(good, 64, 65);
const otherV = (): Hex => (v() === '0x1b' ? '0x1c' : '0x1b');
const word = (value: bigint): Hex => numberToHex(value, { size: 32 });
const body = (signature: unknown, changes: object = {}): string =>
  JSON.stringify({ action: { ...json, ...changes }, signature });
/** The good body with a piece of its text replaced: what no encoder of ours would write. */
const text = (from: string, to: string): string => {
  const whole = body(good);
  if (!whole.includes(from)) throw new Error(`the body has no ${from}`);
  return whole.replace(from, to);
};

type Text = string | Promise<string>;
const BAD_SIGNATURE = 401;
const BAD_REQUEST = 400;
const NOT_KEY = /is not of action\.key/;

const VARIANTS: [string, number, RegExp, () => Text][] = [
  // The domain and the signer.
  ['another chain', BAD_SIGNATURE, NOT_KEY, async () => body(await signed({ chainId: 1 }))],
  ['chain 0', BAD_SIGNATURE, NOT_KEY, async () => body(await signed({ chainId: 0 }))],
  [
    'another module',
    BAD_SIGNATURE,
    NOT_KEY,
    async () => body(await signed({ verifyingContract: action.account })),
  ],
  [
    'another name',
    BAD_SIGNATURE,
    NOT_KEY,
    async () => body(await signed({ name: 'basket cover' })),
  ],
  [
    'a name in capitals',
    BAD_SIGNATURE,
    NOT_KEY,
    async () => body(await signed({ name: 'Basket Account' })),
  ],
  ['another version', BAD_SIGNATURE, NOT_KEY, async () => body(await signed({ version: '2' }))],
  [
    'a domain without a version',
    BAD_SIGNATURE,
    NOT_KEY,
    async () => body(await signed({ version: undefined })),
  ],
  ['a salted domain', BAD_SIGNATURE, NOT_KEY, async () => body(await signed({ salt: word(1n) }))],
  [
    'another key',
    BAD_SIGNATURE,
    NOT_KEY,
    async () => body(await stranger.sign({ hash: word(7n) })),
  ],
  [
    'a personal message',
    BAD_SIGNATURE,
    NOT_KEY,
    async () => body(await agent.key.signMessage({ message: JSON.stringify(json) })),
  ],
  [
    'action.key of somebody else',
    BAD_SIGNATURE,
    NOT_KEY,
    () => body(good, { key: stranger.address }),
  ],
  // What was signed is not what is posted.
  ['another account', BAD_SIGNATURE, NOT_KEY, () => body(good, { account: stranger.address })],
  ['a sale for a buy', BAD_SIGNATURE, NOT_KEY, () => body(good, { kind: 1 })],
  ['another vault', BAD_SIGNATURE, NOT_KEY, () => body(good, { vault: fork.vault('MAG7') })],
  [
    'another amount',
    BAD_SIGNATURE,
    NOT_KEY,
    () => body(good, { amount: String(action.amount + 1n) }),
  ],
  ['a wider limit', BAD_SIGNATURE, NOT_KEY, () => body(good, { limit: String(action.limit + 1n) })],
  ['more slippage', BAD_SIGNATURE, NOT_KEY, () => body(good, { slippageBps: 301 })],
  ['other swaps', BAD_SIGNATURE, NOT_KEY, () => body(good, { data: `${json.data}00` })],
  ['another nonce', BAD_SIGNATURE, NOT_KEY, () => body(good, { nonce: String(action.nonce + 1n) })],
  ['a later deadline', BAD_SIGNATURE, NOT_KEY, () => body(good, { deadline: action.deadline + 1 })],
  ['a higher fee', BAD_SIGNATURE, NOT_KEY, () => body(good, { fee: String(FEE + 1n) })],
  ['no fee', BAD_SIGNATURE, NOT_KEY, () => body(good, { fee: '0' })],
  // Malleability and encoding.
  [
    'the high-s twin',
    BAD_SIGNATURE,
    /upper half/,
    () => body(concat([r(), word(ORDER - hexToBigInt(s())), otherV()])),
  ],
  [
    'the high s with the same v',
    BAD_SIGNATURE,
    /upper half/,
    () => body(concat([r(), word(ORDER - hexToBigInt(s())), v()])),
  ],
  ['the other v', BAD_SIGNATURE, NOT_KEY, () => body(concat([r(), s(), otherV()]))],
  ['v 0', BAD_SIGNATURE, /v is 0/, () => body(concat([r(), s(), '0x00']))],
  ['v 1', BAD_SIGNATURE, /v is 1/, () => body(concat([r(), s(), '0x01']))],
  ['v 29', BAD_SIGNATURE, /v is 29/, () => body(concat([r(), s(), '0x1d']))],
  ['v of EIP-155', BAD_SIGNATURE, /v is 37/, () => body(concat([r(), s(), '0x25']))],
  ['r zero', BAD_SIGNATURE, /r is out of range/, () => body(concat([word(0n), s(), v()]))],
  [
    'r plus the order',
    BAD_SIGNATURE,
    /r is out of range/,
    () => body(concat([word(2n ** 256n - 1n), s(), v()])),
  ],
  ['s zero', BAD_SIGNATURE, /s is out of range/, () => body(concat([r(), word(0n), v()]))],
  [
    's of the order',
    BAD_SIGNATURE,
    /s is out of range/,
    () => body(concat([r(), word(ORDER), v()])),
  ],
  [
    'r and s exchanged',
    BAD_SIGNATURE,
    /upper half|not of action\.key/,
    () => body(concat([s(), r(), v()])),
  ],
  [
    'v first',
    BAD_SIGNATURE,
    /v is|out of range|upper half|not of action\.key/,
    () => body(concat([v(), r(), s()])),
  ],
  ['64 bytes of EIP-2098', BAD_SIGNATURE, /64 bytes/, () => body(concat([r(), s()]))],
  ['66 bytes', BAD_SIGNATURE, /66 bytes/, () => body(concat([good, '0x00']))],
  ['two signatures', BAD_SIGNATURE, /130 bytes/, () => body(concat([good, good]))],
  [
    'an ERC-6492 tail',
    BAD_SIGNATURE,
    /97 bytes/,
    () => body(concat([good, `0x${'6492'.repeat(16)}`])),
  ],
  ['no bytes', BAD_SIGNATURE, /0 bytes/, () => body('0x')],
  // Types that JSON coerces.
  ['a signature without 0x', BAD_REQUEST, /signature/, () => body(good.slice(2))],
  ['an odd number of digits', BAD_REQUEST, /signature/, () => body(good.slice(0, -1))],
  ['a signature as an object', BAD_REQUEST, /signature/, () => body({ r: r(), s: s(), v: 27 })],
  ['a signature in a list', BAD_REQUEST, /signature/, () => body([good])],
  ['no signature', BAD_REQUEST, /signature/, () => body(undefined)],
  [
    'a signature of a megabyte',
    413,
    /too large|large|limit/i,
    () => body(`0x${'11'.repeat(1_000_000)}`),
  ],
  [
    'an amount as a number',
    BAD_REQUEST,
    /amount/,
    () => text(`"amount":"${action.amount}"`, '"amount":1000000000000000000'),
  ],
  [
    'an amount in hex',
    BAD_REQUEST,
    /amount/,
    () => body(good, { amount: numberToHex(action.amount) }),
  ],
  [
    'an amount with a leading zero',
    BAD_REQUEST,
    /amount/,
    () => body(good, { amount: `0${action.amount}` }),
  ],
  [
    'an amount with a sign',
    BAD_REQUEST,
    /amount/,
    () => body(good, { amount: `+${action.amount}` }),
  ],
  [
    'an amount with a space',
    BAD_REQUEST,
    /amount/,
    () => body(good, { amount: ` ${action.amount}` }),
  ],
  ['an amount in other digits', BAD_REQUEST, /amount/, () => body(good, { amount: '١٢٣' })],
  ['an exponent', BAD_REQUEST, /amount/, () => body(good, { amount: '1e18' })],
  ['a negative fee', BAD_REQUEST, /fee/, () => body(good, { fee: '-1' })],
  ['a fee beyond 256 bits', BAD_REQUEST, /fee/, () => body(good, { fee: String(2n ** 256n) })],
  [
    'a fee that wraps to this one',
    BAD_REQUEST,
    /fee/,
    () => body(good, { fee: String(2n ** 256n + FEE) }),
  ],
  [
    'a nonce of ten thousand digits',
    BAD_REQUEST,
    /nonce/,
    () => body(good, { nonce: '9'.repeat(10_000) }),
  ],
  ['a nonce as null', BAD_REQUEST, /nonce/, () => body(good, { nonce: null })],
  ['a kind that wraps', BAD_REQUEST, /kind/, () => body(good, { kind: 256 })],
  ['a kind as text', BAD_REQUEST, /kind/, () => body(good, { kind: '0' })],
  ['a kind as false', BAD_REQUEST, /kind/, () => body(good, { kind: false })],
  [
    'a fractional deadline',
    BAD_REQUEST,
    /deadline/,
    () => body(good, { deadline: action.deadline + 0.5 }),
  ],
  [
    'a deadline as text',
    BAD_REQUEST,
    /deadline/,
    () => body(good, { deadline: String(action.deadline) }),
  ],
  ['a deadline beyond 48 bits', BAD_REQUEST, /deadline/, () => body(good, { deadline: 2 ** 48 })],
  [
    'an address without 0x',
    BAD_REQUEST,
    /account/,
    () => body(good, { account: action.account.slice(2) }),
  ],
  ['a short address', BAD_REQUEST, /vault/, () => body(good, { vault: '0x1234' })],
  ['an address in a list', BAD_REQUEST, /key/, () => body(good, { key: [action.key] })],
  ['a field more', BAD_REQUEST, /epoch/, () => body(good, { epoch: 1 })],
  [
    'a polluted prototype',
    BAD_REQUEST,
    /__proto__|unrecognized|unknown|expected/i,
    () => text('{"action":{', '{"action":{"__proto__":{"fee":"0"},'),
  ],
  [
    'an action in a list',
    BAD_REQUEST,
    /action/,
    () => JSON.stringify({ action: [json], signature: good }),
  ],
  [
    'an action as text',
    BAD_REQUEST,
    /action/,
    () => JSON.stringify({ action: JSON.stringify(json), signature: good }),
  ],
  ['a list of bodies', BAD_REQUEST, /./, () => `[${body(good)}]`],
  // Text that two parsers read differently.
  ['a key twice', BAD_REQUEST, /twice/, () => text('"fee":', '"fee":"0","fee":')],
  ['a key twice, escaped', BAD_REQUEST, /twice/, () => text('"fee":', '"f\\u0065e":"0","fee":')],
  ['two actions', BAD_REQUEST, /twice/, () => text('{"action":', '{"action":{},"action":')],
  [
    'two signatures',
    BAD_REQUEST,
    /twice/,
    () => text('"signature":', '"signature":"0x","signature":'),
  ],
  [
    'nesting',
    BAD_REQUEST,
    /deep/,
    () => body(good, { data: JSON.parse('['.repeat(50) + ']'.repeat(50)) as unknown }),
  ],
  ['a body cut short', BAD_REQUEST, /JSON/i, () => body(good).slice(0, -1)],
  ['text after the body', BAD_REQUEST, /JSON/i, () => `${body(good)}{}`],
];

it.each(VARIANTS)('%s: %i', async (_name, status, reason, variant) => {
  const sent = () =>
    fork.client.getTransactionCount({ address: fork.accounts.relayer.account.address });
  const before = await sent();
  const reply = await relayer.postText(await variant());
  expect([reply.status, reply.body.error]).toEqual([status, expect.stringMatching(reason)]);
  expect(reply.body).toMatchObject({
    ok: false,
    code: status === BAD_SIGNATURE ? 'BAD_SIGNATURE' : 'BAD_REQUEST',
    retryable: false,
  });
  expect(await sent()).toBe(before);
});

it('and the action itself, of which they are the twins, passes', async () => {
  expect(VARIANTS.length).toBeGreaterThanOrEqual(40);
  expect((await relayer.postText(body(good))).body).toMatchObject({ ok: true });
});
