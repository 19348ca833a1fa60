/**
 * The way of a fill that missed its floor: arm the order when the widening tolerance will let the fill pass and the
 * fee still pays for both transactions; wait while an auction runs; otherwise wait for the market.
 */
import { executorFee } from '../contracts-abi/fill-pricing.ts';
import { ECHO_MS, standingOf } from './attempts.ts';
import { readWorkRevert } from './chain/revert.ts';
import type { World } from './chain/world.ts';
import type { DecisionTag, KeeperContext } from './context.ts';
import { usdgText } from './outcome.ts';
import { judgeArming, type Miss } from './policy/arming.ts';
import { withHeadroom } from './policy/fill.ts';
import type { PatienceEvent } from './policy/patience.ts';
import { judgeProfit } from './policy/profit.ts';
import { type Considered, send } from './send.ts';
import type { Fill } from './work.ts';

/** Gas of a fill where nothing better is known: the fixed part and each swap, rather high. */
const FILL_GAS = 500_000n;
const SWAP_GAS = 250_000n;

/** Longest wait for a running auction without another look: prices move too. */
const LOOK_AGAIN_MS = 15_000;

export type FloorMissed = {
  work: Fill;
  fingerprint: string;
  miss: Miss & { text: string };
  /** Gas that the reverted fill spent in the simulation, where known. */
  gasSpent: bigint | null;
  world: World;
  ends: (tag: DecisionTag, detail: string, event: PatienceEvent) => Promise<Considered>;
};

export async function considerArming(
  context: KeeperContext,
  missed: FloorMissed,
): Promise<Considered> {
  const { work, miss, world, ends } = missed;
  if (!context.arming || work.armData === null) {
    return ends('arming_off', miss.text, { tag: 'not_due' });
  }
  const standing = await standingOf('arm', work.key, context.journal, context.sender);
  if (standing.tag === 'in_flight') {
    return ends('auction_running', 'the arming is under way', { tag: 'wait', ms: 2_000 });
  }
  const terms = await context.orders.auctionTerms(work.type, work.contract, work.id);
  if (terms === null)
    return ends('unavailable', 'the order cannot be read', { tag: 'unavailable' });

  const verdict = judgeArming(work.type, miss, terms, world.timestamp);
  if (verdict.tag === 'pointless') {
    return ends('arming_pointless', `${verdict.why}: ${miss.text}`, { tag: 'not_due' });
  }
  const when = `needs ${verdict.neededBps} bps, in ${verdict.fillableAt - world.timestamp} s`;
  if (verdict.tag === 'wait') {
    const ms = Number(verdict.fillableAt - world.timestamp) * 1_000;
    return ends('auction_running', when, {
      tag: 'wait',
      ms: Math.min(Math.max(ms, 1_000), LOOK_AGAIN_MS),
    });
  }
  if (standing.tag === 'mined' && context.now() - standing.atMs < ECHO_MS) {
    return ends('auction_running', 'armed by us a moment ago', { tag: 'wait', ms: 5_000 });
  }

  const estimate = await context.simulator.estimateGas(
    { from: context.executor, to: work.contract, data: work.armData },
    (data) => readWorkRevert(data, { kind: 'arm', id: work.id }),
  );
  if (estimate.tag === 'unavailable')
    return ends('unavailable', estimate.why, { tag: 'unavailable' });
  if (estimate.tag === 'reverted') {
    const { revert } = estimate;
    if (revert.tag === 'already_armed') {
      return ends('auction_running', revert.text, { tag: 'wait', ms: 5_000 });
    }
    return revert.tag === 'other'
      ? ends('failed', `arm: ${revert.text}`, { tag: 'failed', reason: `arm: ${revert.text}` })
      : ends(revert.tag === 'below_floor' ? 'failed' : revert.tag, `arm: ${revert.text}`, {
          tag: 'not_due',
        });
  }

  // The later fill must pay for both; an exit's fee follows from what it would yield, whatever the source promises.
  const yielded = work.type === 'sell' ? executorFee(miss.got) : work.promisedUsdg;
  const fee = yielded < work.promisedUsdg ? yielded : work.promisedUsdg;
  const fillGas = missed.gasSpent ?? FILL_GAS + SWAP_GAS * BigInt(work.swapCount);
  const profit = judgeProfit(fee, estimate.gas + fillGas, world.market, context.rules);
  switch (profit.tag) {
    case 'unknown_price':
      return ends('unknown_price', 'the ETH price is not known now', { tag: 'does_not_pay' });
    case 'does_not_pay': {
      const detail = `fee ${usdgText(fee)}, arming and fill need ${usdgText(profit.neededUsdg)}`;
      return ends('arming_does_not_pay', detail, { tag: 'does_not_pay' });
    }
    case 'pays':
      break;
  }
  return send(context, {
    work,
    kind: 'arm',
    data: work.armData,
    // Armed once and run out without a fill: the next arming is a new attempt.
    attempt: standing.tag === 'free' ? standing.attempt : standing.attempt + 1,
    terms: {
      duty: false,
      gasLimit: withHeadroom(estimate.gas, context.rules),
      maxFeePerGas: profit.maxFeePerGas,
      costUsdg: profit.costUsdg,
      profitUsdg: profit.profitUsdg,
    },
    world,
    fingerprint: missed.fingerprint,
  });
}
