/**
 * The firewall: what a keeper's wallet may be made to sign. Pure; runs before any simulation.
 *
 * What must hold of everything admitted:
 * - it calls `fill(id, swaps, executor)` on the escrow of its type in our deployment file, with no value;
 * - the id in the calldata is the id of the job;
 * - the executor is ours: the source named nobody (zero) or us, and we encode the calldata anew with our address;
 * - the calldata is canonical: decoding and encoding gives the same bytes, so nothing rides behind the arguments;
 * - every swap is one the zapper would accept (see swap.ts);
 * - arming is exactly `arm(id)` on the same escrow.
 */
import {
  type Address,
  decodeFunctionData,
  encodeFunctionData,
  getAddress,
  type Hex,
  zeroAddress,
} from 'viem';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import type { Job } from '../source/job.ts';
import type { EscrowKind, KnownProtocol } from './known-protocol.ts';
import { type SwapCall, type SwapRefusal, swapRefusal } from './swap.ts';

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
  | SwapRefusal;

/** A job that may be executed, with calldata of our own making. */
export type Admitted = {
  kind: EscrowKind;
  escrow: Address;
  id: Hex;
  ticker: string | null;
  vault: Address | null;
  /** USDG base units that the source promises; what counts is what the simulation shows. */
  promisedUsdg: bigint;
  /** Tolerance that the source says holds now, in bps. */
  slippageBps: number;
  swapCount: number;
  /** `fill(id, swaps, our executor)`. */
  fillData: Hex;
  /** `arm(id)`, or null when the source offers no arming. */
  armData: Hex | null;
};

export type Admission =
  | { tag: 'admitted'; job: Admitted }
  | { tag: 'refused'; why: Refusal; hostile: boolean };

/** Both escrows share this part of their interface (IOrderEscrow). */
const orderAbi = exitEscrowAbi;

const refuse = (why: Refusal): Admission => ({
  tag: 'refused',
  why,
  hostile: why !== 'unsupported_type',
});

/** Decides whether `job` may be executed with fees to `executor`, one of our own addresses. */
export function admit(job: Job, known: KnownProtocol, executor: Address): Admission {
  const escrow = known.escrows.get(job.type);
  if (escrow === undefined) return refuse('unsupported_type');
  if (job.contract !== escrow.address) return refuse('unknown_contract');
  if (job.tx.to !== escrow.address) return refuse('target');
  if (job.tx.value !== 0n) return refuse('value');

  const fill = readFill(job.tx.data);
  if (fill.tag === 'refused') return refuse(fill.why);
  if (fill.id !== job.id) return refuse('id');
  if (fill.executor !== zeroAddress && fill.executor !== executor) return refuse('executor');

  const constituents = job.vault === null ? known.tokens : known.vaults.get(job.vault);
  if (constituents === undefined) return refuse('unknown_vault');
  if (fill.swaps.length === 0) return refuse('no_swaps');
  if (fill.swaps.length > MAX_SWAPS) return refuse('too_many_swaps');
  const direction = escrow.kind === 'exit' ? 'to_usdg' : 'from_usdg';
  for (const swap of fill.swaps) {
    const why = swapRefusal(swap, direction, constituents, known);
    if (why !== null) return refuse(why);
  }

  const armData = encodeArm(job.id);
  if (job.armData !== '0x' && job.armData !== armData) return refuse('arm');
  return {
    tag: 'admitted',
    job: {
      kind: escrow.kind,
      escrow: escrow.address,
      id: job.id,
      ticker: job.ticker,
      vault: job.vault,
      promisedUsdg: job.feeUsdg,
      slippageBps: job.slippageBps,
      swapCount: fill.swaps.length,
      fillData: encodeFill(job.id, fill.swaps, executor),
      armData: job.armData === '0x' ? null : armData,
    },
  };
}

type Fill = { tag: 'fill'; id: Hex; swaps: readonly SwapCall[]; executor: Address };

function readFill(data: Hex): Fill | { tag: 'refused'; why: Refusal } {
  try {
    const decoded = decodeFunctionData({ abi: orderAbi, data });
    if (decoded.functionName !== 'fill') return { tag: 'refused', why: 'selector' };
    const [id, swaps, executor] = decoded.args;
    if (encodeFill(id, swaps, executor) !== data) return { tag: 'refused', why: 'encoding' };
    return { tag: 'fill', id: id.toLowerCase() as Hex, swaps, executor: getAddress(executor) };
  } catch {
    // Expected: no such selector, arguments that do not decode, or values outside their type.
    return { tag: 'refused', why: 'selector' };
  }
}

/** Calldata of `fill`. */
export function encodeFill(id: Hex, swaps: readonly SwapCall[], executor: Address): Hex {
  return encodeFunctionData({ abi: orderAbi, functionName: 'fill', args: [id, swaps, executor] });
}

/** Calldata of `arm`. */
export function encodeArm(id: Hex): Hex {
  return encodeFunctionData({ abi: orderAbi, functionName: 'arm', args: [id] });
}
