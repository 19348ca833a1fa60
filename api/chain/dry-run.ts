/** A real dry run of a transaction as its sender (interface.md section 2, TxPlan.simulation). */
import { type Address, type Hex, numberToHex, type PublicClient } from 'viem';
import { describeRevert, revertDataOf } from '../../contracts-abi/revert.ts';
import type { BlockSeen } from '../../runtime/chain/block-time.ts';

/** What a dry run found. `gas`: a gas limit, headroom included, as a decimal string. */
export type DryRun =
  | { ok: true; gas?: string }
  | { ok: false; reason: string }
  | { ok: null; skipped: string };

/**
 * Exactly one of the three (wire.md, Plans). Beside `skipped` for a missing approval stands `afterApproval` (ours): what
 * `tx` would do once the approval was mined.
 */
export type Simulation =
  | { ok: true; gas?: string }
  | { ok: false; reason: string }
  | { ok: null; skipped: string; afterApproval?: DryRun };

export type Call = { from: Address; to: Address; data: Hex };

export const NEEDS_APPROVAL =
  'the approval must be mined first: send it, then build again to simulate';
export const NOT_ASKED: Simulation = { ok: null, skipped: 'simulate is false' };
const OUT_OF_REACH: DryRun = { ok: null, skipped: 'the chain could not be asked for a dry run' };
const NOT_OFFERED: DryRun = { ok: null, skipped: 'the node does not offer eth_simulateV1' };

type Attempt<T> =
  | { tag: 'done'; value: T }
  | { tag: 'reverted'; data: Hex | null }
  | { tag: 'lost' };

/** -32000 and 3 are what nodes answer to a call that reverts; anything else says nothing about the transaction. */
async function attempt<T>(work: Promise<T>): Promise<Attempt<T>> {
  try {
    return { tag: 'done', value: await work };
  } catch (error) {
    const data = revertDataOf(error);
    if (data !== null) return { tag: 'reverted', data };
    return saysReverted(error) ? { tag: 'reverted', data: null } : { tag: 'lost' };
  }
}

/** Whether any error of the chain of causes satisfies the condition. */
function someCause(error: unknown, holds: (code: unknown, message: unknown) => boolean): boolean {
  let current: unknown = error;
  for (let depth = 0; depth < 10 && typeof current === 'object' && current !== null; depth += 1) {
    const { code, cause, message } = current as Record<string, unknown>;
    if (holds(code, message)) return true;
    current = cause;
  }
  return false;
}

function saysReverted(error: unknown): boolean {
  return someCause(
    error,
    (code, message) =>
      code === 3 || (code === -32_000 && typeof message === 'string' && message.includes('revert')),
  );
}

/**
 * A gas limit that still holds a block later: a pool writes an observation in the first swap of a second, which an
 * estimate within the same second does not see, and the L1 part of gas moves.
 */
const GAS_HEADROOM_PERCENT = 125n;
/** eth_simulateV1 tells what was used after refunds, which are at most a fifth: as much more is needed on the way. */
const REFUND_HEADROOM_PERCENT = 125n;

function withHeadroom(estimate: bigint): string {
  return ((estimate * GAS_HEADROOM_PERCENT) / 100n).toString();
}

/** Calls and estimates in one round trip. Never throws: a chain out of reach is a dry run that was not made. */
export async function dryRun(client: PublicClient, tx: Call): Promise<DryRun> {
  const [call, gas] = await Promise.all([
    attempt(client.request({ method: 'eth_call', params: [tx, 'latest'] })),
    attempt(client.request({ method: 'eth_estimateGas', params: [tx] })),
  ]);
  if (call.tag === 'reverted') return { ok: false, reason: describeRevert(call.data) };
  if (call.tag === 'lost') return OUT_OF_REACH;
  return gas.tag === 'done' ? { ok: true, gas: withHeadroom(BigInt(gas.value)) } : { ok: true };
}

/** One call of eth_simulateV1's answer; nodes name its revert data one way or the other. */
type SimulatedCall = {
  status?: Hex;
  gasUsed?: Hex;
  returnData?: Hex;
  error?: { message?: string; data?: Hex };
};

type SimulateV1 = {
  Method: 'eth_simulateV1';
  Parameters: readonly [
    {
      blockStateCalls: readonly { blockOverrides: { time: Hex }; calls: readonly Call[] }[];
    },
    'latest',
  ];
  ReturnType: readonly { calls?: readonly SimulatedCall[] }[];
};

/** Nodes that do not know the method are asked again after a while: behind one address there may be several. */
const ASK_AGAIN_MS = 600_000;
const notOffered = new WeakMap<PublicClient, number>();

/**
 * Seconds that the simulated block stands after the one that was read: it must be later than the newest, which may be
 * a second younger by now. Left to itself a node takes any time (Anvil takes 1, when no basket existed yet).
 */
const AHEAD = 2;

/** The approval, then `tx`, in one simulated block after `block`: one round trip, never throws. */
export async function dryRunAfterApproval(
  client: PublicClient,
  approval: Call,
  tx: Call,
  block: BlockSeen,
): Promise<DryRun> {
  if (Date.now() < (notOffered.get(client) ?? 0)) return NOT_OFFERED;
  let blocks: SimulateV1['ReturnType'];
  try {
    blocks = await client.request<SimulateV1>({
      method: 'eth_simulateV1',
      params: [
        {
          blockStateCalls: [
            { blockOverrides: { time: numberToHex(block.time + AHEAD) }, calls: [approval, tx] },
          ],
        },
        'latest',
      ],
    });
  } catch (error) {
    if (!methodIsUnknown(error)) return OUT_OF_REACH;
    notOffered.set(client, Date.now() + ASK_AGAIN_MS);
    return NOT_OFFERED;
  }
  const [approved, sent] = blocks[0]?.calls ?? [];
  if (approved?.status === undefined || sent?.status === undefined) return OUT_OF_REACH;
  if (BigInt(approved.status) === 0n) {
    return { ok: false, reason: `the approval itself reverts: ${reasonOf(approved)}` };
  }
  if (BigInt(sent.status) === 0n) return { ok: false, reason: reasonOf(sent) };
  if (sent.gasUsed === undefined) return { ok: true };
  const atMost = (BigInt(sent.gasUsed) * REFUND_HEADROOM_PERCENT) / 100n;
  return { ok: true, gas: withHeadroom(atMost) };
}

function reasonOf({ returnData, error }: SimulatedCall): string {
  const data = returnData !== undefined && returnData !== '0x' ? returnData : error?.data;
  return describeRevert(data ?? null);
}

/** -32601 by the standard; gateways answer -32600, -32004 or words of their own. */
function methodIsUnknown(error: unknown): boolean {
  return someCause(
    error,
    (code, message) =>
      code === -32_601 ||
      code === -32_004 ||
      (typeof message === 'string' &&
        /method .*(?:not (?:found|supported|available|exist)|unknown)|unknown method|unsupported method/i.test(
          message,
        )),
  );
}
