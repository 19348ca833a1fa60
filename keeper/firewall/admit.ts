/**
 * The firewall: what a keeper's wallet may be made to sign. Pure; runs before any simulation.
 *
 * What must hold of every fill admitted (for the cover market see admit-cover.ts, for other services foreign.ts):
 * - it calls `fill(id, swaps, executor)` on the escrow of its type in our deployment file, with no value;
 * - the id in the calldata is the id of the job;
 * - the executor is ours: the source named nobody (zero) or us, and we write our address into its place;
 * - the calldata is canonical: decoding and encoding gives the same bytes, so nothing rides behind the arguments;
 * - every swap is one the zapper would accept (see swap.ts);
 * - arming is exactly `arm(id)` on the same escrow.
 */
import { type Address, getAddress, type Hex, zeroAddress } from 'viem';
import {
  encodeArm,
  encodeFill,
  orderCalls,
  withExecutor,
} from '../../runtime/quotes/order-call.ts';
import type { SwapCall } from '../../runtime/quotes/swap-call.ts';
import type { Job } from '../source/job.ts';
import { type Fill, type FillType, type Work, workKeyOf } from '../work.ts';
import { admitForeign, type ForeignRefusal } from './foreign.ts';
import type { KnownProtocol } from './known-protocol.ts';
import { remembering } from './remembering.ts';
import { type SwapRefusal, swapRefusal } from './swap.ts';

const MAX_SWAPS = 64;

export type Refusal =
  | 'unsupported_type'
  | 'unknown_contract'
  | 'target'
  | 'value'
  | 'selector'
  | 'encoding'
  | 'id'
  | 'executor'
  | 'unknown_vault'
  | 'no_swaps'
  | 'too_many_swaps'
  | 'arm'
  | 'positions'
  | ForeignRefusal
  | SwapRefusal;

export type Admission<T extends Work = Work> =
  | { tag: 'admitted'; work: T }
  | { tag: 'refused'; why: Refusal; hostile: boolean };

/** A type that we do not know may be new; a vault that we do not know may be: neither is held against its source. */
const INNOCENT: ReadonlySet<Refusal> = new Set<Refusal>(['unsupported_type', 'unknown_vault']);

export const refuse = (why: Refusal): Extract<Admission, { tag: 'refused' }> => ({
  tag: 'refused',
  why,
  hostile: !INNOCENT.has(why),
});

/** Decides whether `job` of source `source` may be executed with fees to `executor`, one of our own addresses. */
export function admit(job: Job, known: KnownProtocol, executor: Address, source = 0): Admission {
  if (known.foreign.has(job.contract)) return admitForeign(job, known, source);
  const type = job.type as FillType;
  const escrow = known.escrows.get(type);
  if (escrow === undefined) return refuse('unsupported_type');
  if (job.contract !== escrow) return refuse('unknown_contract');
  if (job.tx.to !== escrow) return refuse('target');
  if (job.tx.value !== 0n) return refuse('value');

  const fill = readFill(job.tx.data);
  if (fill.tag === 'refused') return refuse(fill.why);
  if (fill.id !== job.id) return refuse('id');
  if (fill.executor !== zeroAddress && fill.executor !== executor) return refuse('executor');

  const constituents = job.vault === null ? known.tokens : known.vaults.get(job.vault);
  if (constituents === undefined) return refuse('unknown_vault');
  if (fill.swaps.length === 0) return refuse('no_swaps');
  if (fill.swaps.length > MAX_SWAPS) return refuse('too_many_swaps');
  const direction = type === 'sell' ? 'to_usdg' : 'from_usdg';
  for (const swap of fill.swaps) {
    const why = swapRefusal(swap, direction, constituents, known);
    if (why !== null) return refuse(why);
  }

  const armData = encodeArm(job.id);
  if (job.armData !== '0x' && job.armData !== armData) return refuse('arm');
  const work: Fill = {
    type,
    key: workKeyOf(escrow, job.id),
    source,
    contract: escrow,
    id: job.id,
    ticker: job.ticker,
    vault: job.vault,
    promisedUsdg: job.feeUsdg,
    slippageBps: job.slippageBps,
    swapCount: fill.swaps.length,
    data: withExecutor(job.tx.data, executor),
    armData: job.armData === '0x' ? null : armData,
  };
  return { tag: 'admitted', work };
}

type FillCall = { tag: 'fill'; id: Hex; swaps: readonly SwapCall[]; executor: Address };

type FillRead = Readonly<FillCall> | { readonly tag: 'refused'; readonly why: Refusal };

/** What waits is listed in every tick. */
const readFill = remembering(readAnew, 16_000_000);

function readAnew(data: Hex): FillRead {
  try {
    const decoded = orderCalls.decode(data);
    if (decoded.functionName !== 'fill') return { tag: 'refused', why: 'selector' };
    const [id, swaps, executor] = decoded.args;
    if (encodeFill(id, swaps, executor) !== data) return { tag: 'refused', why: 'encoding' };
    return { tag: 'fill', id: id.toLowerCase() as Hex, swaps, executor: getAddress(executor) };
  } catch {
    // Expected: no such selector, arguments that do not decode, or values outside their type.
    return { tag: 'refused', why: 'selector' };
  }
}
