import * as fc from 'fast-check';
import { decodeFunctionData, encodeFunctionData, erc20Abi, type Hex, pad, zeroAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import { exitEscrowAbi, swapRouter02Abi } from '../../contracts-abi/generated/index.ts';
import type { Job } from '../source/job.ts';
import { encodeArm, encodeFill } from '../../runtime/quotes/order-call.ts';
import { admit } from './admit.ts';
import {
  APPLE,
  addressOf,
  deployment,
  ENERGY,
  ID,
  known,
  limitJob,
  OIL,
  OURS,
  type Route,
  routerCall,
  STRANGER,
  scheduleJob,
  sellJob,
  swapOf,
  TESLA,
} from './fixture.ts';

const { usdg, weth, exitEscrow, limitEscrow } = deployment;
const OTHER_ID: Hex = pad('0x99', { size: 32 });
const withData = (data: Hex): Job => ({ ...sellJob(), tx: { ...sellJob().tx, data } });
const withSwap = (...swap: Parameters<typeof swapOf>): Job => sellJob([swapOf(...swap)]);
const whyNot = (job: Job): string => {
  const admission = admit(job, known, OURS);
  return admission.tag === 'refused' ? admission.why : 'admitted';
};

describe('an honest job', () => {
  test.each([
    ['a sale', sellJob()],
    ['a limit buy', limitJob()],
    ['a slot of a schedule', scheduleJob()],
    ['one that names us already', sellJob([swapOf()], OURS)],
    ['one without a vault', { ...sellJob(), vault: null }],
    ['one that cannot be armed', { ...sellJob(), armData: '0x' as const }],
    ['a sale through WETH', withSwap({ selector: 'exactInput', via: [weth] })],
    ['a sale by a direct path', withSwap({ selector: 'exactInput' })],
    ['an exact output', withSwap({ selector: 'exactOutputSingle' })],
    ['an exact output through WETH', withSwap({ selector: 'exactOutput', via: [weth] })],
  ])('is admitted: %s', (_, job) => {
    expect(whyNot(job)).toBe('admitted');
  });

  test('gets our address as the executor', () => {
    const admission = admit(sellJob(), known, OURS);
    if (admission.tag === 'refused') throw new Error(admission.why);
    const { args } = decodeFunctionData({ abi: exitEscrowAbi, data: admission.work.data });
    expect(args?.[0]).toBe(ID);
    expect(args?.[2]).toBe(OURS);
    expect(admission.work).toMatchObject({
      contract: exitEscrow,
      swapCount: 1,
      promisedUsdg: 250_000n,
    });
  });
});

describe('a hostile job is refused before any simulation', () => {
  const fill = sellJob().tx.data;
  const approval = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'approve',
    args: [STRANGER, 2n ** 256n - 1n],
  });
  const transfer = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'transfer',
    args: [STRANGER, 1n],
  });
  const multicall = encodeFunctionData({
    abi: swapRouter02Abi,
    functionName: 'multicall',
    args: [[routerCall()]],
  });
  const cancel = encodeFunctionData({ abi: exitEscrowAbi, functionName: 'cancel', args: [ID] });

  test.each<[string, string, Job]>([
    ['an unknown type', 'unsupported_type', { ...sellJob(), type: 'payout' }],
    ['a slot on another escrow', 'unknown_contract', { ...sellJob(), type: 'schedule' }],
    ['a token approval', 'selector', withData(approval)],
    [
      'a token approval on the token itself',
      'unknown_contract',
      { ...withData(approval), contract: usdg, tx: { to: usdg, data: approval, value: 0n } },
    ],
    ['a transfer', 'selector', withData(transfer)],
    ['a multicall', 'selector', withData(multicall)],
    ['another call of the escrow', 'selector', withData(cancel)],
    ['no calldata', 'selector', withData('0x')],
    ['a selector alone', 'selector', withData(fill.slice(0, 10) as Hex)],
    ['an unknown contract', 'unknown_contract', { ...sellJob(), contract: STRANGER }],
    ['the escrow of the other type', 'unknown_contract', { ...sellJob(), contract: limitEscrow }],
    [
      'another target than its contract',
      'target',
      { ...sellJob(), tx: { ...sellJob().tx, to: usdg } },
    ],
    ['a value', 'value', { ...sellJob(), tx: { ...sellJob().tx, value: 1n } }],
    [
      'another order in the calldata',
      'id',
      withData(encodeFill(OTHER_ID, [swapOf()], zeroAddress)),
    ],
    ['somebody else as the executor', 'executor', sellJob([swapOf()], STRANGER)],
    ['bytes behind the arguments', 'encoding', withData(`${fill}00`)],
    ['a word behind the arguments', 'encoding', withData(`${fill}${'00'.repeat(32)}`)],
    ['dirty bits above the executor', 'encoding', withData(dirtyExecutor(fill))],
    ['a vault that no registry knows', 'unknown_vault', { ...sellJob(), vault: STRANGER }],
    ['no swap', 'no_swaps', sellJob([])],
    ['a hundred swaps', 'too_many_swaps', sellJob(Array.from({ length: 100 }, () => swapOf()))],
    ['arming another order', 'arm', { ...sellJob(), armData: encodeArm(OTHER_ID) }],
    ['a fill as the arming', 'arm', { ...sellJob(), armData: fill }],
    ['an approval as the arming', 'arm', { ...sellJob(), armData: approval }],
    ['an arming with more behind it', 'arm', { ...sellJob(), armData: `${encodeArm(ID)}00` }],
    ['another router', 'router', withSwap({}, { router: STRANGER })],
    ['the token as the router', 'router', withSwap({}, { router: usdg })],
    ['a router call that is not a swap', 'swap_selector', withSwap({}, { callData: multicall })],
    ['an approval as the router call', 'swap_selector', withSwap({}, { callData: approval })],
    [
      'bytes behind the router call',
      'swap_encoding',
      withSwap({}, { callData: `${routerCall()}ff` }),
    ],
    ['proceeds to a stranger', 'swap_recipient', withSwap({ recipient: STRANGER })],
    ['proceeds to us', 'swap_recipient', withSwap({ recipient: OURS })],
    ['proceeds to the router itself', 'swap_recipient', withSwap({ recipient: addressOf(2) })],
    ['a token that no basket holds', 'swap_tokens', withSwap({ tokenIn: STRANGER })],
    ['a token of another basket', 'swap_tokens', withSwap({ tokenIn: OIL })],
    ['a sale into something else than USDG', 'swap_tokens', withSwap({ tokenOut: TESLA })],
    ['a purchase inside a sale', 'swap_tokens', withSwap({ tokenIn: usdg, tokenOut: APPLE })],
    ['USDG for USDG', 'swap_tokens', withSwap({ tokenIn: usdg })],
    ['tokens that differ from the router call', 'swap_tokens', withSwap({}, { tokenIn: TESLA })],
    ['an amount that differs from the router call', 'swap_amount', withSwap({}, { amountIn: 1n })],
    ['no amount', 'swap_amount', withSwap({ amountIn: 0n })],
    ['a price limit', 'swap_amount', withSwap({ sqrtPriceLimitX96: 1n })],
    [
      'an exact output of nothing',
      'swap_amount',
      withSwap({ selector: 'exactOutput', amountOut: 0n }),
    ],
    [
      'a path through a token not WETH',
      'swap_path',
      withSwap({ selector: 'exactInput', via: [TESLA] }),
    ],
    ['a path of three hops', 'swap_path', withSwap({ selector: 'exactInput', via: [weth, TESLA] })],
    [
      'a sale in a limit buy',
      'swap_tokens',
      { ...limitJob(), tx: { ...limitJob().tx, data: encodeFill(ID, [swapOf()], zeroAddress) } },
    ],
    [
      'one bad swap among good ones',
      'swap_recipient',
      sellJob([swapOf(), swapOf({ recipient: STRANGER })]),
    ],
  ])('%s', (_, why, job) => {
    expect(whyNot(job)).toBe(why);
  });

  test('a type that is not executed here is no alarm; everything else is', () => {
    expect(admit({ ...sellJob(), type: 'rebalance' }, known, OURS)).toMatchObject({
      hostile: false,
    });
    expect(admit(sellJob([swapOf()], STRANGER), known, OURS)).toMatchObject({ hostile: true });
  });

  test('a token of another basket is refused also when the job hides its vault in another', () => {
    expect(whyNot({ ...sellJob(), vault: ENERGY })).toBe('swap_tokens');
  });
});

/** Sets a bit above the 20 bytes of the executor word: the third word of the arguments. */
function dirtyExecutor(fill: Hex): Hex {
  const at = 2 + 8 + 2 * 64;
  return `${fill.slice(0, at)}01${fill.slice(at + 2)}` as Hex;
}

const hexBytes = fc
  .uint8Array({ maxLength: 200 })
  .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`);

test('whatever the calldata, what is admitted calls fill on our escrow for this order and pays us', () => {
  const honest = sellJob().tx.data;
  const mutated = fc
    .record({ at: fc.nat((honest.length - 4) / 2), byte: fc.nat(255), times: fc.nat(3) })
    .map(({ at, byte }): Hex => {
      const place = 2 + at * 2;
      return `${honest.slice(0, place)}${byte.toString(16).padStart(2, '0')}${honest.slice(place + 2)}` as Hex;
    });
  fc.assert(
    fc.property(fc.oneof(mutated, hexBytes), (data) => {
      const admission = admit(withData(data), known, OURS);
      if (admission.tag === 'refused') return;
      const { work } = admission;
      if (work.type !== 'sell') throw new Error(work.type);
      expect(work.contract).toBe(exitEscrow);
      const call = decodeFunctionData({ abi: exitEscrowAbi, data: work.data });
      if (call.functionName !== 'fill') throw new Error(call.functionName);
      expect(work.data).toBe(encodeFill(ID, call.args[1], OURS));
      expect(work.armData).toBe(encodeArm(ID));
    }),
    { numRuns: 500 },
  );
});

test('whatever the route, an admitted swap ends at the zapper between USDG and a constituent', () => {
  const anyToken = fc.constantFrom(APPLE, TESLA, OIL, usdg, weth, STRANGER);
  const routes: fc.Arbitrary<Route> = fc.record({
    selector: fc.constantFrom('exactInputSingle', 'exactInput', 'exactOutputSingle', 'exactOutput'),
    recipient: fc.constantFrom(deployment.zapper, OURS, STRANGER, addressOf(1), zeroAddress),
    tokenIn: anyToken,
    tokenOut: anyToken,
    via: fc.array(anyToken, { maxLength: 2 }),
    amountIn: fc.bigInt(0n, 3n),
    amountOut: fc.bigInt(0n, 2n),
    sqrtPriceLimitX96: fc.bigInt(0n, 1n),
  });
  fc.assert(
    fc.property(routes, (route) => {
      if (whyNot(sellJob([swapOf(route)])) !== 'admitted') return;
      expect(route.recipient).toBe(deployment.zapper);
      expect(route.tokenOut).toBe(usdg);
      expect([APPLE, TESLA]).toContain(route.tokenIn);
      expect(route.amountIn).toBeGreaterThan(0n);
    }),
    { numRuns: 500 },
  );
});
