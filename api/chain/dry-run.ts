/** A real dry run of a transaction as its sender (interface.md section 2, TxPlan.simulation). */
import { type Address, type Hex, type PublicClient } from 'viem';
import { describeRevert, revertDataOf } from '../../contracts-abi/revert.ts';

/** Exactly one of the three (wire.md, Plans). `gas`: a gas limit, headroom included, as a decimal string. */
export type Simulation =
  | { ok: true; gas?: string }
  | { ok: false; reason: string }
  | { ok: null; skipped: string };

export const NEEDS_APPROVAL: Simulation = {
  ok: null,
  skipped: 'the approval must be mined first: send it, then build again to simulate',
};
export const NOT_ASKED: Simulation = { ok: null, skipped: 'simulate is false' };

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

function saysReverted(error: unknown): boolean {
  let current: unknown = error;
  for (let depth = 0; depth < 10 && typeof current === 'object' && current !== null; depth += 1) {
    const { code, cause, message } = current as {
      code?: unknown;
      cause?: unknown;
      message?: unknown;
    };
    if (code === 3) return true;
    if (code === -32_000 && typeof message === 'string' && message.includes('revert')) return true;
    current = cause;
  }
  return false;
}

/**
 * A gas limit that still holds a block later: a pool writes an observation in the first swap of a second, which an
 * estimate within the same second does not see, and the L1 part of gas moves.
 */
const GAS_HEADROOM_PERCENT = 125n;

function withHeadroom(estimate: bigint): string {
  return ((estimate * GAS_HEADROOM_PERCENT) / 100n).toString();
}

/** Calls and estimates in one round trip. Never throws: a chain out of reach is a dry run that was not made. */
export async function dryRun(
  client: PublicClient,
  tx: { from: Address; to: Address; data: Hex },
): Promise<Simulation> {
  const [call, gas] = await Promise.all([
    attempt(client.request({ method: 'eth_call', params: [tx, 'latest'] })),
    attempt(client.request({ method: 'eth_estimateGas', params: [tx] })),
  ]);
  if (call.tag === 'reverted') return { ok: false, reason: describeRevert(call.data) };
  if (call.tag === 'lost')
    return { ok: null, skipped: 'the chain could not be asked for a dry run' };
  return gas.tag === 'done' ? { ok: true, gas: withHeadroom(BigInt(gas.value)) } : { ok: true };
}
