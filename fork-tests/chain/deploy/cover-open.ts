/**
 * What a broken-off run signed last and no block has yet, the open step: its bytes may never have left, or may still
 * wait at some node. Whether the command of now asks for that very step decides if they are sent (cover-settle.ts). Pure.
 */
import {
  type Address,
  decodeFunctionData,
  erc20Abi,
  formatUnits,
  type Hex,
  isAddressEqual,
  parseTransaction,
} from 'viem';
import { z } from 'zod';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { coverMarketAbi, uniswapV3PoolAbi } from '../../../contracts-abi/generated/index.ts';
import type { Gift } from './cover-gift.ts';
import type { CoverPlan } from './cover-plan.ts';
import type { CoverState, CoverWeekTimes } from './cover-state.ts';
import { DeployError } from './errors.ts';
import type { JournalContent, JournalStep } from './journal-lines.ts';

/** What the journal of such a run begins with. `listings`: among how many baskets each cap was shared. */
export const runSchema = z.object({
  coverMarket: z.string(),
  listings: z.array(z.object({ vault: z.string(), sharers: z.int() })).default([]),
});

export type CoverRun = z.infer<typeof runSchema>;

/** Amounts in USDG base units, the cap in whole dollars. */
export type OpenCall =
  | { tag: 'growth'; pool: Address; slots: number }
  | { tag: 'weeks'; weeks: readonly CoverWeekTimes[] }
  | { tag: 'listing'; vault: Address; cap: bigint; sharers: number | null }
  | { tag: 'approval'; amount: bigint }
  | { tag: 'gift'; amount: bigint }
  /** Takes the nonce of a step that was given up. */
  | { tag: 'drop' }
  | { tag: 'unknown' };

export type OpenStep = {
  /** Where its journal is. */
  path: string;
  sender: Address;
  step: JournalStep;
  call: OpenCall;
  to: Address;
  data: Hex;
  gas: bigint;
};

/** The journal's last step; null when it has none. Throws a DeployError when its bytes are none of ours. */
export function lastStep(
  { path, header, steps }: JournalContent<CoverRun>,
  deployment: Pick<Deployment, 'usdg' | 'coverMarket'>,
): OpenStep | null {
  const step = steps.at(-1);
  if (step === undefined) return null;
  try {
    const { data = '0x', gas = 0n } = parseTransaction(step.raw);
    const to = step.to ?? header.deployer;
    const call = callOf(to, data, header.deployer, header.plan, deployment);
    return { path, sender: header.deployer, step, call, to, data, gas };
  } catch (error) {
    throw new DeployError(
      `the journal ${path} is damaged, or of another version: the bytes of its last step, ${step.what}, say something else`,
      error,
    );
  }
}

function callOf(
  to: Address,
  data: Hex,
  sender: Address,
  run: CoverRun,
  { usdg, coverMarket }: Pick<Deployment, 'usdg' | 'coverMarket'>,
): OpenCall {
  if (data === '0x') return { tag: isAddressEqual(to, sender) ? 'drop' : 'unknown' };
  if (isAddressEqual(to, usdg)) {
    const { functionName, args } = decodeFunctionData({ abi: erc20Abi, data });
    return functionName === 'approve' ? { tag: 'approval', amount: args[1] } : { tag: 'unknown' };
  }
  if (!isAddressEqual(to, coverMarket)) {
    const { functionName, args } = decodeFunctionData({ abi: uniswapV3PoolAbi, data });
    return functionName === 'increaseObservationCardinalityNext'
      ? { tag: 'growth', pool: to, slots: args[0] }
      : { tag: 'unknown' };
  }
  const { functionName, args } = decodeFunctionData({ abi: coverMarketAbi, data });
  if (functionName === 'publishWeeks') {
    const [times] = args;
    return { tag: 'weeks', weeks: times };
  }
  if (functionName === 'listVault') {
    const [vault, cap] = args;
    const known = run.listings.find((one) => isAddressEqual(one.vault as Address, vault));
    return { tag: 'listing', vault, cap, sharers: known?.sharers ?? null };
  }
  if (functionName === 'fundFees') return { tag: 'gift', amount: args[0] };
  return { tag: 'unknown' };
}

/** The step for the operator, as in "it signed ...". */
export function openWords({ call, step }: OpenStep, { baskets }: CoverState): string {
  switch (call.tag) {
    case 'growth':
      return `the raise of pool ${call.pool} to ${call.slots} observation slots`;
    case 'weeks': {
      const [first, last] = [call.weeks[0], call.weeks.at(-1)].map((week) =>
        new Date((week?.close ?? 0) * 1_000).toISOString(),
      );
      return `the publication of ${call.weeks.length} weeks that close from ${first} to ${last}`;
    }
    case 'listing': {
      const ticker = baskets.find(({ vault }) => isAddressEqual(vault, call.vault))?.ticker;
      return `the listing of ${ticker ?? call.vault} with a cap of $${call.cap}`;
    }
    case 'approval':
      return `the approval of $${formatUnits(call.amount, 6)} for a gift to the fee pool`;
    case 'gift':
      return `a gift of $${formatUnits(call.amount, 6)} to the fee pool`;
    case 'drop':
      return 'the transaction to itself that takes the place of a step which was given up';
    case 'unknown':
      break;
  }
  return step.what;
}

/**
 * Whether a run of this plan and gift, read before the step is mined, asks for the step. A cap counts as the same one
 * when it was shared among as many baskets: it follows prices. A gift must not lift the pool above the level.
 */
export function isAsked({ call }: OpenStep, plan: CoverPlan, gift: Gift): boolean {
  switch (call.tag) {
    case 'growth':
      return plan.growth.some(
        ({ pool, to }) => isAddressEqual(pool, call.pool) && to >= call.slots,
      );
    case 'weeks':
      return call.weeks.every(({ close, settle }) =>
        plan.weeks.some((week) => week.close === close && week.settle === settle),
      );
    case 'listing':
      return plan.listings.some(
        ({ basket, sharers }) =>
          isAddressEqual(basket.vault, call.vault) && sharers === call.sharers,
      );
    case 'approval':
    case 'gift':
      return gift.feePool + call.amount <= gift.level;
    case 'drop':
      return true;
    case 'unknown':
      break;
  }
  return false;
}

/** What stands once the step is mined, but for what a listing takes of its pools. */
export function stateAfter({ call }: OpenStep, state: CoverState): CoverState {
  switch (call.tag) {
    case 'growth': {
      const rings = (all: CoverState['baskets'][number]['rings']) =>
        all.map((ring) =>
          isAddressEqual(ring.pool, call.pool)
            ? { ...ring, slotsNext: Math.max(ring.slotsNext, call.slots) }
            : ring,
        );
      const baskets = state.baskets.map((one) => ({ ...one, rings: rings(one.rings) }));
      return { ...state, baskets };
    }
    case 'weeks': {
      const last = call.weeks.at(-1);
      if (last === undefined) return state;
      const lastWeek = { id: Math.floor(last.close / WEEK), ...last };
      return { ...state, lastWeek, weeksAhead: state.weeksAhead + call.weeks.length };
    }
    case 'listing': {
      const baskets = state.baskets.map((one) =>
        isAddressEqual(one.vault, call.vault) ? { ...one, cap: call.cap } : one,
      );
      return { ...state, baskets };
    }
    case 'gift':
      return { ...state, feePool: state.feePool + call.amount };
    case 'approval':
    case 'drop':
    case 'unknown':
      break;
  }
  return state;
}

export function giftAfter({ call }: OpenStep, gift: Gift): Gift {
  if (call.tag === 'approval') return { ...gift, allowance: call.amount };
  if (call.tag !== 'gift') return gift;
  const feePool = gift.feePool + call.amount;
  return {
    ...gift,
    feePool,
    amount: gift.level > feePool ? gift.level - feePool : 0n,
    allowance: gift.allowance > call.amount ? gift.allowance - call.amount : 0n,
    held: gift.held - call.amount,
  };
}

/** As the market counts them. */
const WEEK = 7 * 86_400;
