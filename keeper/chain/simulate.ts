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
import { within } from '../../runtime/deadline.ts';
import type { GasExtras } from './gas-extra.ts';
import { capRevertData, type Revert } from './revert.ts';
import { type RpcFault, rpcFaultOf } from './rpc-fault.ts';

export type Simulation =
  /**
   * `gainUsdg`: measured; `returned`: by the call; `gas`: the node's estimate, or what the simulation used and what
   * estimates of calls alike lay above that; without headroom.
   */
  | { tag: 'passed'; gainUsdg: bigint; returned: Hex; gas: bigint }
  /** `gasSpent`: up to the revert, where the node tells. */
  | { tag: 'reverted'; revert: Revert; gasSpent: bigint | null }
  | { tag: 'unavailable'; why: string; answered: boolean };

type GasEstimate =
  | { tag: 'estimated'; gas: bigint }
  | { tag: 'reverted'; revert: Revert }
  | { tag: 'unavailable'; why: string; answered: boolean };

type Call = { from: Address; to: Address; data: Hex };

/** What revert data of the call means. */
type RevertReader = (data: Hex | null) => Revert;

type SimulateOptions = { needsSender?: boolean; gasBound?: bigint; alike?: string };

export type Simulator = {
  /**
   * `executor` is the address whose USDG balance is measured.
   * @param options.needsSender the call pays its sender: where only Multicall3 could run it, it is not run
   * @param options.gasBound gas that is known to suffice: then the node estimates nothing, and `gas` is what the
   *   simulation used, or this bound where the node does not tell
   * @param options.alike names calls of the same size and shape: one estimate speaks for all of them for a while
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
};

type Measured =
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
}: SimulatorOptions): Simulator {
  /** Known after the first answer; a node behind a balancer may still surprise, so a later refusal falls back too. */
  let hasSimulateV1 = true;
  /** Kinds whose estimate is under way, at most one for each order that is: of many alike at once one asks. */
  const asking = new Map<string, Promise<void>>();

  const balanceCall = (executor: Address): { to: Address; data: Hex } => ({
    to: usdg,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [executor] }),
  });

  async function bySimulateV1(call: Call, executor: Address): Promise<Measured> {
    const balance = { ...balanceCall(executor), from: call.from };
    try {
      const blocks = await within<readonly { calls: readonly SimulatedCall[] }[]>(
        client.request({
          method: 'eth_simulateV1',
          params: [
            { blockStateCalls: [{ calls: [balance, call, balance] }], validation: false },
            'latest',
          ],
        } as never),
        timeoutMs,
        'eth_simulateV1',
      );
      const [before, fill, afterwards] = blocks[0]?.calls ?? [];
      if (before === undefined || fill === undefined || afterwards === undefined) {
        return { tag: 'unavailable', why: 'eth_simulateV1 answered short', answered: true };
      }
      if (fill.status !== '0x1') {
        // Nodes put the revert data in either place.
        const data = capRevertData(fill.error?.data ?? fill.returnData);
        return {
          tag: 'reverted',
          data,
          gasSpent: fill.gasUsed === undefined ? null : hexToBigInt(fill.gasUsed),
        };
      }
      return {
        tag: 'passed',
        before: hexToBigInt(before.returnData),
        after: hexToBigInt(afterwards.returnData),
        returned: fill.returnData,
        gasUsed: fill.gasUsed === undefined ? null : hexToBigInt(fill.gasUsed),
      };
    } catch (error) {
      return measuredFault(error);
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
      const measured = await bySimulateV1(call, executor);
      if (measured.tag !== 'no_such_method') return measured;
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

  return {
    estimateGas,
    async simulate(call, executor, read, options = {}) {
      const { alike, gasBound } = options;
      const known = alike === undefined || !hasSimulateV1 ? null : extras.recent(alike);
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
    },
  };
}

const ignore = (): void => undefined;

function measuredFault(error: unknown): Measured {
  const fault = rpcFaultOf(error);
  return fault.tag === 'reverted' ? { ...fault, gasSpent: null } : fault;
}
