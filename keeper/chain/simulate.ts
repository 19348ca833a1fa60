/**
 * Runs a call against the chain's latest state without sending it, and measures what our own USDG balance gains.
 * The promise of a job source counts for nothing; the measured gain does.
 *
 * Two RPC calls at most, side by side: the simulation and the gas estimate, which calls alike share (gas-extra.ts).
 * `eth_simulateV1` runs it as the wallet;
 * where a node lacks it, Multicall3 does the same in one `eth_call` (our protocol takes nothing from the sender and
 * pays the executor named in the calldata, so the sender makes no difference; a foreign job is not run without it).
 */
import {
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  hexToBigInt,
  multicall3Abi,
  numberToHex,
  type PublicClient,
} from 'viem';
import { steadyNow } from '../../runtime/clock.ts';
import { atMost } from '../../runtime/at-most.ts';
import { within } from '../../runtime/deadline.ts';
import type { GasExtras } from './gas-extra.ts';
import { capRevertData, type Revert } from './revert.ts';
import { type RpcFault, rpcFaultOf } from './rpc-fault.ts';
import { createTogether, type Place, type Together } from './together.ts';

export type Simulation =
  /**
   * `gainUsdg`: measured; `returned`: by the call; `gas`: the node's estimate, or what the simulation used and what
   * estimates of calls alike lay above that; without headroom. `place`: where it was simulated together with others.
   */
  | { tag: 'passed'; gainUsdg: bigint; returned: Hex; gas: bigint; place?: Place }
  /** `gasSpent`: up to the revert, where the node tells. */
  | { tag: 'reverted'; revert: Revert; gasSpent: bigint | null }
  | { tag: 'unavailable'; why: string; answered: boolean };

type GasEstimate =
  | { tag: 'estimated'; gas: bigint }
  | { tag: 'reverted'; revert: Revert }
  | { tag: 'unavailable'; why: string; answered: boolean };

export type Call = { from: Address; to: Address; data: Hex };

/** What revert data of the call means. */
export type RevertReader = (data: Hex | null) => Revert;

type SimulateOptions = {
  needsSender?: boolean;
  gasBound?: bigint;
  alike?: string;
  together?: boolean;
};

export type Simulator = {
  /**
   * `executor` is the address whose USDG balance is measured.
   * @param options.needsSender the call pays its sender: where only Multicall3 could run it, it is not run
   * @param options.gasBound gas that is known to suffice: then the node estimates nothing, and `gas` is what the
   *   simulation used, or this bound where the node does not tell
   * @param options.alike names calls of the same size and shape: one estimate speaks for all of them for a while
   * @param options.together whether it may be simulated behind others of the same sender, once an estimate speaks for it
   */
  simulate(
    call: Call,
    executor: Address,
    read: RevertReader,
    options?: SimulateOptions,
  ): Promise<Simulation>;
  estimateGas(call: Call, read: RevertReader): Promise<GasEstimate>;
};

export type SimulatorOptions = {
  client: PublicClient;
  usdg: Address;
  multicall3: Address;
  timeoutMs: number;
  extras: GasExtras;
  /** Most calls simulated in one question; default: each by itself. */
  mostTogether?: number;
  /** Of those that may go together and do not, so many at once; default 4. */
  atOnce?: number;
  now?: () => number;
};

export type Measured =
  | { tag: 'passed'; before: bigint; after: bigint; returned: Hex; gasUsed: bigint | null }
  | { tag: 'reverted'; data: Hex; gasSpent: bigint | null }
  | Exclude<RpcFault, { tag: 'reverted' }>;

type SimulatedCall = { status: Hex; returnData: Hex; gasUsed?: Hex; error?: { data?: Hex } };

export function createSimulator({
  client,
  usdg,
  multicall3,
  timeoutMs,
  extras,
  mostTogether = 1,
  atOnce = 4,
  now = steadyNow,
}: SimulatorOptions): Simulator {
  const bounded = atMost(atOnce);
  /** Known after the first answer; a node behind a balancer may still surprise, so a later refusal falls back too. */
  let hasSimulateV1 = true;
  /** Kinds whose estimate is under way, at most one for each order that is: of many alike at once one asks. */
  const asking = new Map<string, Promise<void>>();

  const balanceCall = (executor: Address): { to: Address; data: Hex } => ({
    to: usdg,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [executor] }),
  });

  /** One behind another, all as the sender of the first; each between two looks at the balance. */
  async function bySimulateV1(calls: readonly Call[], executor: Address): Promise<Measured[]> {
    const balance = { ...balanceCall(executor), from: calls[0]?.from };
    try {
      const blocks = await within<readonly { calls: readonly SimulatedCall[] }[]>(
        client.request({
          method: 'eth_simulateV1',
          params: [
            {
              blockStateCalls: [{ calls: [balance, ...calls.flatMap((call) => [call, balance])] }],
              validation: false,
            },
            'latest',
          ],
        } as never),
        timeoutMs,
        'eth_simulateV1',
      );
      const answers = blocks[0]?.calls ?? [];
      return calls.map((_, index) => {
        const [before, call, after] = answers.slice(2 * index, 2 * index + 3);
        return before === undefined || call === undefined || after === undefined
          ? { tag: 'unavailable', why: 'eth_simulateV1 answered short', answered: true }
          : measuredOf(before, call, after);
      });
    } catch (error) {
      const fault = measuredFault(error);
      return calls.map(() => fault);
    }
  }

  async function byMulticall(call: Call, executor: Address): Promise<Measured> {
    const balance = balanceCall(executor);
    const calls = [
      { target: balance.to, callData: balance.data, allowFailure: false },
      { target: call.to, callData: call.data, allowFailure: true },
      { target: balance.to, callData: balance.data, allowFailure: false },
    ];
    const data = encodeFunctionData({
      abi: multicall3Abi,
      functionName: 'aggregate3',
      args: [calls],
    });
    try {
      const answer = await within(
        client.request({
          method: 'eth_call',
          params: [{ from: call.from, to: multicall3, data }, 'latest'],
        }),
        timeoutMs,
        'eth_call',
      );
      const [before, fill, afterwards] = decodeFunctionResult({
        abi: multicall3Abi,
        functionName: 'aggregate3',
        data: answer,
      });
      if (before === undefined || fill === undefined || afterwards === undefined) {
        return { tag: 'unavailable', why: 'Multicall3 answered short', answered: true };
      }
      if (!fill.success)
        return { tag: 'reverted', data: capRevertData(fill.returnData), gasSpent: null };
      return {
        tag: 'passed',
        before: hexToBigInt(before.returnData),
        after: hexToBigInt(afterwards.returnData),
        returned: fill.returnData,
        gasUsed: null,
      };
    } catch (error) {
      return measuredFault(error);
    }
  }

  async function measure(call: Call, executor: Address, needsSender: boolean): Promise<Measured> {
    if (hasSimulateV1) {
      const [measured] = await bySimulateV1([call], executor);
      if (measured !== undefined && measured.tag !== 'no_such_method') return measured;
      hasSimulateV1 = false;
    }
    if (needsSender) return { tag: 'unavailable', why: 'no eth_simulateV1', answered: true };
    return byMulticall(call, executor);
  }

  async function estimateGas(call: Call, read: RevertReader): Promise<GasEstimate> {
    try {
      const gas = await within(
        client.request({ method: 'eth_estimateGas', params: [{ ...call, value: numberToHex(0) }] }),
        timeoutMs,
        'eth_estimateGas',
      );
      return { tag: 'estimated', gas: hexToBigInt(gas) };
    } catch (error) {
      const fault = rpcFaultOf(error);
      if (fault.tag === 'reverted') return { tag: 'reverted', revert: read(fault.data) };
      return fault.tag === 'unavailable'
        ? fault
        : { tag: 'unavailable', why: 'no eth_estimateGas', answered: true };
    }
  }

  /** @param known what lies above the gas used, for calls of this kind; null: not known yet */
  async function run(
    call: Call,
    executor: Address,
    read: RevertReader,
    { needsSender = false, gasBound, alike }: SimulateOptions,
    known: bigint | null,
  ): Promise<Simulation> {
    const before = alike === undefined ? undefined : asking.get(alike);
    const needsEstimate = gasBound === undefined && known === null && before === undefined;
    const [measured, askedNow] = await Promise.all([
      measure(call, executor, needsSender),
      needsEstimate ? estimateGas(call, read) : null,
    ]);
    if (measured.tag === 'reverted') {
      return { tag: 'reverted', revert: read(measured.data), gasSpent: measured.gasSpent };
    }
    if (measured.tag === 'no_such_method')
      return { tag: 'unavailable', why: 'no eth_call', answered: true };
    if (measured.tag === 'unavailable') return measured;
    const { gasUsed } = measured;
    const passed = (gas: bigint): Simulation => ({
      tag: 'passed',
      gainUsdg: measured.after - measured.before,
      returned: measured.returned,
      gas,
    });
    if (gasBound !== undefined) return passed(gasUsed ?? gasBound);
    // One of its kind had asked already: where its answer helps nobody, this one asks for itself.
    if (gasUsed !== null) await before;
    const extra = known ?? (alike === undefined || !hasSimulateV1 ? null : extras.recent(alike));
    if (askedNow === null && extra !== null && gasUsed !== null) return passed(gasUsed + extra);
    const estimated = askedNow ?? (await estimateGas(call, read));
    // Passed in one and not in the other: the state moved between them; the later view is as good.
    if (estimated.tag === 'reverted') return { ...estimated, gasSpent: null };
    if (estimated.tag === 'unavailable') return estimated;
    if (alike !== undefined && gasUsed !== null) extras.learn(alike, estimated.gas, gasUsed);
    return passed(estimated.gas);
  }

  /** By itself. */
  async function simulateOne(
    call: Call,
    executor: Address,
    read: RevertReader,
    options: SimulateOptions,
  ): Promise<Simulation> {
    const { alike, gasBound } = options;
    const known = knownExtra(alike);
    const running = run(call, executor, read, options, known);
    if (alike === undefined || gasBound !== undefined || known !== null || asking.has(alike)) {
      return await running;
    }
    asking.set(alike, running.then(ignore, ignore));
    try {
      return await running;
    } finally {
      asking.delete(alike);
    }
  }

  const knownExtra = (alike: string | undefined): bigint | null =>
    alike === undefined || !hasSimulateV1 ? null : extras.recent(alike);

  /** What is ours is always simulated as the same executor: one is enough. */
  let joint: { executor: Address; together: Together } | null = null;
  const togetherAs = (executor: Address): Together => {
    if (joint?.executor !== executor) {
      const together = createTogether({
        run: (calls) => bySimulateV1(calls, executor),
        most: mostTogether,
        now,
      });
      joint = { executor, together };
    }
    return joint.together;
  };

  return {
    estimateGas,
    async simulate(call, executor, read, options = {}) {
      const { alike } = options;
      const byItself = (): Promise<Simulation> => simulateOne(call, executor, read, options);
      if (options.together !== true || alike === undefined || call.from !== executor)
        return byItself();
      // Those that were to go together come many at once.
      const alone = (): Promise<Simulation> => bounded(byItself);
      if (mostTogether < 2) return alone();
      // The first of its kind asks for the estimate of all; the others go together behind it.
      const first = knownExtra(alike) === null ? asking.get(alike) : undefined;
      if (first !== undefined) await first;
      if ((first === undefined && knownExtra(alike) === null) || !hasSimulateV1) return alone();
      return togetherAs(executor).simulate({ call, read, extra: () => knownExtra(alike), alone });
    },
  };
}

const ignore = (): void => undefined;

function measuredOf(before: SimulatedCall, call: SimulatedCall, after: SimulatedCall): Measured {
  if (before.status !== '0x1' || after.status !== '0x1') {
    return { tag: 'unavailable', why: 'eth_simulateV1 tells no balance', answered: true };
  }
  const gasUsed = call.gasUsed === undefined ? null : hexToBigInt(call.gasUsed);
  if (call.status !== '0x1') {
    // Nodes put the revert data in either place.
    const data = capRevertData(call.error?.data ?? call.returnData);
    return { tag: 'reverted', data, gasSpent: gasUsed };
  }
  return {
    tag: 'passed',
    before: hexToBigInt(before.returnData),
    after: hexToBigInt(after.returnData),
    returned: call.returnData,
    gasUsed,
  };
}

function measuredFault(error: unknown): Measured {
  const fault = rpcFaultOf(error);
  return fault.tag === 'reverted' ? { ...fault, gasSpent: null } : fault;
}
