/**
 * Keeps the code warm that stands between a list of jobs and the first of its fills: it runs on made-up ones. Code that
 * has run a few times is five to thirty times slower than code that has run often, the engine drops what has not run for
 * long, and a hundred orders come due at once in a keeper that may have seen none for weeks.
 */
import { setImmediate as otherWork, setTimeout as delay } from 'node:timers/promises';
import { type Address, pad, toHex, zeroAddress } from 'viem';
import { generatePrivateKey } from 'viem/accounts';
import { CHAIN_ID } from '../contracts-abi/constants.ts';
import { signingAccount } from '../runtime/keys/signing-account.ts';
import { encodeFill } from '../runtime/quotes/order-call.ts';
import type { Route } from '../runtime/quotes/routes.ts';
import { exactInput, exactOutput, type SwapCall } from '../runtime/quotes/swap-call.ts';
import { encodeBatch } from './batch.ts';
import { admit } from './firewall/admit.ts';
import type { KnownProtocol } from './firewall/known-protocol.ts';
import { parseJobs } from './source/job.ts';
import type { FillType, Work } from './work.ts';

/** So often until the engine has made the best of it. */
const FIRST_ROUNDS = 60;
const FURTHER_ROUNDS = 10;
/** The engine forgets after several collections of the whole heap, which an idle process sees every few minutes. */
const EVERY_MS = 120_000;
/** As many jobs as go into a batch; between two rounds the process does what else there is to do. */
const JOBS_A_ROUND = 10;

/** Until the signal ends it. Nothing of it is sent, asked or written anywhere. */
export async function keepWarm(known: () => KnownProtocol, signal: AbortSignal): Promise<void> {
  // Never used for anything else.
  const account = signingAccount(generatePrivateKey());
  let rounds = FIRST_ROUNDS;
  let number = 0;
  while (!signal.aborted) {
    for (let round = 0; round < rounds && !signal.aborted; round += 1) {
      number += JOBS_A_ROUND;
      const data = encodeBatch(
        admitMadeUp(known(), account.address, number).map((work) => ({ work })),
        true,
      );
      await account.signTransaction({ ...TERMS, to: zeroAddress, data });
      await otherWork();
    }
    rounds = FURTHER_ROUNDS;
    await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

const TERMS = { type: 'eip1559', chainId: CHAIN_ID, nonce: 0, gas: 1n, maxFeePerGas: 1n } as const;

/** What the firewall makes of a list of made-up jobs. Exported for its test. */
export function admitMadeUp(known: KnownProtocol, executor: Address, number: number): Work[] {
  const jobs = Array.from({ length: JOBS_A_ROUND }, (_, at) => madeUpJob(known, number + at));
  const parsed = parseJobs(JSON.parse(JSON.stringify({ jobs })), JOBS_A_ROUND);
  if (parsed.tag !== 'parsed') return [];
  return parsed.entries.flatMap((job) => {
    const admission = admit(job, known, executor);
    return admission.tag === 'admitted' ? [admission.work] : [];
  });
}

const TYPES: readonly FillType[] = ['sell', 'limit', 'schedule'];

/** Of an order that nobody placed. Each number is another one. */
function madeUpJob(known: KnownProtocol, number: number): object {
  const type = TYPES[number % TYPES.length] ?? 'sell';
  const escrow = known.escrows.get(type);
  const vaults = [...known.vaults];
  const [vault, tokens] = vaults[number % Math.max(vaults.length, 1)] ?? [null, known.tokens];
  const id = pad(toHex(number + 1), { size: 32 });
  const vaultsOwn = Math.floor(number / Math.max(vaults.length, 1));
  const swaps = [...tokens].map((token, at) => madeUpSwap(known, type, token, vaultsOwn + at));
  return {
    type,
    contract: escrow,
    id,
    ticker: 'X',
    vault,
    feeUsdg: String(number),
    slippageBps: 100,
    tx: { to: escrow, data: encodeFill(id, swaps, zeroAddress), value: '0' },
    armData: '0x',
  };
}

function madeUpSwap(
  { usdg, weth, swapRouter02, zapper }: KnownProtocol,
  type: FillType,
  token: Address,
  number: number,
): SwapCall {
  const venue = { router: swapRouter02, zapper };
  const [tokenIn, tokenOut] = type === 'sell' ? [token, usdg] : [usdg, token];
  const route: Route =
    number % 2 === 0
      ? [{ tokenIn, tokenOut, fee: 500 }]
      : [
          { tokenIn, tokenOut: weth, fee: 500 },
          { tokenIn: weth, tokenOut, fee: 500 },
        ];
  const amount = BigInt(number + 1);
  return type === 'limit'
    ? exactOutput(venue, route, amount, amount)
    : exactInput(venue, route, amount);
}
