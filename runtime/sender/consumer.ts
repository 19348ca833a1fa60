/**
 * Which transaction consumed a nonce. Receipts may lag or a replica may not have them; the block that raised the
 * wallet's count names the transaction without doubt.
 */
import type { Address, Hex } from 'viem';
import { quantity } from './classify.ts';
import type { Rpc } from './rpc.ts';
import { countCall } from './sync.ts';

export type Consumer =
  /** `hash` is null when the count rose without a transaction of the wallet (an EIP-7702 authorisation). */
  | { tag: 'found'; hash: Hex | null; blockNumber: bigint; blockHashes: ReadonlySet<string> }
  /** Pruned state, or an endpoint that does not answer. */
  | { tag: 'unknown'; message: string };

/** Farther back than this many blocks public endpoints have no state. */
const FARTHEST = 65_536n;

/**
 * Searches back from `head`: doubling steps, then halving. About 2·log2(distance) reads.
 * @param head a block at which the wallet's count is past `nonce`.
 */
export async function findConsumer(
  rpc: Rpc,
  wallet: Address,
  nonce: number,
  head: bigint,
): Promise<Consumer> {
  const countAt = async (block: bigint): Promise<number | null> => {
    const [answer] = await rpc.batch([countCall(wallet, block)]);
    const count = answer?.tag === 'result' ? quantity(answer.result) : null;
    return count === null ? null : Number(count);
  };
  // Invariant of both loops: the count at `high` is past the nonce, at `low` it is not.
  let high = head;
  const top = await countAt(high);
  if (top === null || top <= nonce) return { tag: 'unknown', message: 'the head does not show it' };
  let low = -1n;
  for (let step = 1n; high > 0n; step *= 2n) {
    const at = high > step ? high - step : 0n;
    if (head - at > FARTHEST) return { tag: 'unknown', message: 'it lies too far back' };
    const count = await countAt(at);
    if (count === null) return { tag: 'unknown', message: 'the state there is not available' };
    if (count <= nonce) {
      low = at;
      break;
    }
    high = at;
  }
  while (high - low > 1n) {
    const middle = (high + low) / 2n;
    const count = await countAt(middle);
    if (count === null) return { tag: 'unknown', message: 'the state there is not available' };
    if (count <= nonce) low = middle;
    else high = middle;
  }
  return await readConsumer(rpc, wallet, nonce, high);
}

async function readConsumer(
  rpc: Rpc,
  wallet: Address,
  nonce: number,
  blockNumber: bigint,
): Promise<Consumer> {
  const call = {
    method: 'eth_getBlockByNumber',
    params: [`0x${blockNumber.toString(16)}`, true],
  };
  const [answer] = await rpc.batch([call]);
  const block = answer?.tag === 'result' ? answer.result : null;
  if (typeof block !== 'object' || block === null || !('transactions' in block)) {
    return { tag: 'unknown', message: 'the block is not available' };
  }
  const transactions = Array.isArray(block.transactions) ? (block.transactions as unknown[]) : [];
  const blockHashes = new Set<string>();
  let hash: Hex | null = null;
  for (const transaction of transactions) {
    if (typeof transaction !== 'object' || transaction === null) continue;
    const fields = transaction as { hash?: unknown; from?: unknown; nonce?: unknown };
    if (typeof fields.hash === 'string') blockHashes.add(fields.hash);
    const mine =
      typeof fields.from === 'string' && fields.from.toLowerCase() === wallet.toLowerCase();
    if (mine && quantity(fields.nonce) === BigInt(nonce)) hash = fields.hash as Hex;
  }
  return { tag: 'found', hash, blockNumber, blockHashes };
}
