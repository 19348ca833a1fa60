/**
 * Dry runs with the gas that a transaction uses and the limit that it needs. An estimate searches for the limit in a
 * dozen runs; here it is searched once for each sort of action, and after that proven: the one run is made under a limit
 * that has room for what that sort needed above the gas it used (refunds, a floor that a contract insists on, the
 * sixty-fourths that calls keep back). What must hold: no limit is sent that no run has passed under; both figures
 * include what an Orbit chain charges for posting; and an action is refused by an estimate alone, so that a node whose
 * simulated blocks differ from its real ones costs time, not actions.
 */
import type { PublicClient } from 'viem';
import { steadyNow } from '../../runtime/clock.ts';
import { createPostingGas } from './posting-gas.ts';
import {
  type Call,
  type SimulatedCall,
  type SimulationInBlock,
  simulate,
  simulateAfter,
  withRefund,
} from './simulate.ts';

/** `gas`: what it pays for; `limit`: the least under which it is known to pass, without headroom. */
export type Passed = { tag: 'passed'; gas: bigint; limit: bigint };
type Reverted = { tag: 'reverted'; data: `0x${string}` | null };

export type Simulator = {
  /**
   * @param call `execute` calldata to its module, `from` the submitting wallet.
   * @param sort of actions that need about the same.
   * @throws viem's error when no node can say
   */
  alone(call: Call, sort: string): Promise<Passed | Reverted>;
  /** The last call behind the others in one block. */
  after(
    before: readonly SimulatedCall[],
    call: SimulatedCall,
  ): Promise<Passed | Reverted | { tag: 'unavailable' }>;
};

/** A node that cannot simulate blocks is not tried with every action; behind one address there may be several. */
const ASK_AGAIN_MS = 60_000;
/** What a sort of action needs above its use is searched anew after this. */
const KNOWN_MS = 600_000;
const MOST_SORTS = 500;
/** Actions of one sort differ: a first one of an account writes more. */
const ROOM_PERCENT = 115n;

type Known = { used: bigint; more: bigint; until: number };

/** @param maxGas limit of a transaction of which nothing is known. */
export function createSimulator(
  client: PublicClient,
  maxGas: bigint,
  now: () => number = steadyNow,
): Simulator {
  const posting = createPostingGas(client, now);
  const known = new Map<string, Known>();
  let unavailableUntil = Number.NEGATIVE_INFINITY;

  const remember = (sort: string, about: Known): void => {
    known.delete(sort);
    known.set(sort, about);
    const [oldest] = known.keys();
    if (known.size > MOST_SORTS && oldest !== undefined) known.delete(oldest);
  };
  const inBlock = async (call: Call, gas: bigint): Promise<SimulationInBlock> => {
    if (now() < unavailableUntil) return { tag: 'unavailable' };
    const simulated = await simulateAfter(client, [], { ...call, gas });
    if (simulated.tag === 'unavailable') unavailableUntil = now() + ASK_AGAIN_MS;
    return simulated;
  };
  /** One run under the limit that the sort is known by; null where that does not settle it. */
  const proven = async (call: Call, sort: string): Promise<Passed | null> => {
    const about = known.get(sort);
    if (about === undefined || now() > about.until) return null;
    const room = ((about.used + about.more) * ROOM_PERCENT) / 100n;
    const limit = room < maxGas ? room : maxGas;
    const [run, posted] = await Promise.all([inBlock(call, limit), posting.of(call)]);
    if (run.tag !== 'passed' || posted === null) return null;
    remember(sort, { ...about, used: run.used });
    return { tag: 'passed', gas: run.used + posted, limit: limit + posted };
  };
  /** The estimate; and what it is above the use, for the next of the sort. */
  const searched = async (call: Call, sort: string): Promise<Passed | Reverted> => {
    const [estimate, run, posted] = await Promise.all([
      simulate(client, call),
      inBlock(call, maxGas),
      posting.of(call),
    ]);
    if (estimate.tag === 'reverted') return estimate;
    const limit = estimate.gas;
    if (run.tag !== 'passed' || posted === null) return { tag: 'passed', gas: limit, limit };
    const more = limit - posted - run.used;
    remember(sort, { used: run.used, more: more > 0n ? more : 0n, until: now() + KNOWN_MS });
    return { tag: 'passed', gas: run.used + posted, limit };
  };

  return {
    alone: async (call, sort) => (await proven(call, sort)) ?? (await searched(call, sort)),
    after: async (before, call) => {
      const [run, posted] = await Promise.all([
        simulateAfter(client, before, call),
        posting.of(call),
      ]);
      if (run.tag !== 'passed') return run;
      if (posted === null) return { tag: 'unavailable' };
      return { tag: 'passed', gas: run.used + posted, limit: withRefund(run.used) + posted };
    },
  };
}
