/**
 * A transaction count that neither the journal nor the last count explains: somebody else's transactions, or one wrong
 * answer. Believed too early it leaves nonces out, which then hold up everything that was sent after them; so it is
 * read twice more, by every endpoint, before anything rests on it.
 */
import { quantity } from './classify.ts';
import type { SenderContext } from './context.ts';
import type { RpcAnswer, RpcCall } from './rpc.ts';
import type { Wallet } from './wallets.ts';

/** Between one read and the next. */
const AGAIN_MS = [200, 300] as const;
/** Blocks behind the best endpoint at which another one's count is of the past. */
const TOLERATED_LAG = 20n;

/**
 * The count that is to be gone by: as given where it is explained, else the lowest that was read. Null where nobody
 * answered again.
 * @param call of which `count` was the answer
 */
export async function believedCount(
  context: SenderContext,
  wallet: Wallet,
  call: RpcCall,
  count: number,
): Promise<number | null> {
  const explained = Math.max(wallet.book.next, wallet.explained);
  if (count <= explained) return count;
  let lowest = count;
  for (const ms of AGAIN_MS) {
    await new Promise((resolve) => {
      setTimeout(resolve, ms);
    });
    const again = await readEverywhere(context, call);
    if (again === null) return null;
    lowest = Math.min(lowest, again);
    if (lowest <= explained) break;
  }
  if (lowest < count && wallet.disbelieved !== count) {
    wallet.disbelieved = count;
    context.logger.error(
      { wallet: wallet.address, count, again: lowest },
      'a transaction count was not confirmed when it was read again: the lower one holds',
    );
  }
  return lowest;
}

/**
 * One read by all. A transaction that waits is known to whoever took it: of pending counts the highest is one read's
 * answer; of those included, the lowest of the endpoints that are not behind.
 */
async function readEverywhere({ rpc }: SenderContext, call: RpcCall): Promise<number | null> {
  const [heads = [], counts = []] = await rpc.everywhere([
    { method: 'eth_blockNumber', params: [] },
    call,
  ]);
  const best = heads.reduce<bigint>((high, head) => max(high, numberOf(head) ?? -1n), -1n);
  const fresh = counts.flatMap((answer, index) => {
    const head = numberOf(heads[index]);
    const read = numberOf(answer);
    return read === null || head === null || best - head > TOLERATED_LAG ? [] : [Number(read)];
  });
  if (fresh.length === 0) return null;
  return call.params[1] === 'pending' ? Math.max(...fresh) : Math.min(...fresh);
}

function numberOf(answer: RpcAnswer | undefined): bigint | null {
  return answer?.tag === 'result' ? quantity(answer.result) : null;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
