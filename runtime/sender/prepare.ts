/** Everything before a nonce is claimed: fresh reads, time, simulation, fees, money. Nothing of it is on the chain. */
import { classifyEstimate } from './classify.ts';
import type { SenderContext } from './context.ts';
import type { Entry } from './entry.ts';
import { type Fees, firstFees, withHeadroom } from './fees.ts';
import { syncWallets } from './sync.ts';
import type { Intent, Refusal } from './types.ts';
import type { Wallet } from './wallets.ts';

export type Preparation =
  | { tag: 'ready'; wallet: Wallet; gas: bigint; fees: Fees }
  | { tag: 'retry'; reason: Refusal; message: string }
  | { tag: 'refuse'; reason: Refusal; message: string; revertData?: `0x${string}` | null }
  /** This wallet cannot pay for it: perhaps another can. */
  | { tag: 'unfunded' }
  /** This wallet could pay if what it has in flight were settled. */
  | { tag: 'tied_up' };

export const NO_ANSWER = {
  tag: 'retry',
  reason: 'rpc_unavailable',
  message: 'the RPC did not answer',
} as const satisfies Preparation;

/** An idle wallet's count older than this is read again before a claim. */
const FRESH_MS = 1_000;

/** Reads what is stale, checks time, estimates (which is the simulation) and sets fees. */
export async function prepare(
  context: SenderContext,
  entry: Entry,
  wallet: Wallet,
): Promise<Preparation> {
  const { intent } = entry;
  const stale = staleOf(context, wallet);
  if (stale !== null) {
    const synced = await syncWallets(context, stale);
    if (synced === null || synced === 'behind') return NO_ANSWER;
  }
  const priced = price(context, intent);
  if (priced.tag !== 'priced') return priced;
  const gas = intent.gas ?? (await estimate(context, intent, wallet));
  if (typeof gas !== 'bigint') return gas;
  return afford(intent, wallet, gas, priced.fees);
}

/** The same where nothing has to be asked for it and nothing is against it; null otherwise. */
export function prepareNow(
  context: SenderContext,
  intent: Intent,
  wallet: Wallet,
): Extract<Preparation, { tag: 'ready' }> | null {
  if (intent.gas === undefined || staleOf(context, wallet) !== null) return null;
  const priced = price(context, intent);
  if (priced.tag !== 'priced') return null;
  const prepared = afford(intent, wallet, intent.gas, priced.fees);
  return prepared.tag === 'ready' ? prepared : null;
}

/** The wallets to read before a claim of this one, with the head; null: all is newer than `freshMs`. */
export function staleOf(
  { head, clock }: SenderContext,
  wallet: Wallet,
  freshMs = FRESH_MS,
): Wallet[] | null {
  const idle = wallet.book.inFlight === 0 && clock() - wallet.syncedAt > freshMs;
  if (idle || wallet.balance === null) return [wallet];
  return head.age(clock()) > freshMs ? [] : null;
}

function price(
  { head, settings }: SenderContext,
  intent: Intent,
): { tag: 'priced'; fees: Fees } | Extract<Preparation, { tag: 'retry' | 'refuse' }> {
  const { block } = head;
  if (block === null) return NO_ANSWER;
  if (intent.notAfter !== undefined && block.timestamp > intent.notAfter) {
    return { tag: 'refuse', reason: 'expired', message: 'its time ran out before it was sent' };
  }
  const decision = firstFees(block.baseFee, settings.tip, {
    cap: settings.maxFee,
    intentCap: intent.maxFeePerGas ?? null,
    bumpPercent: settings.bumpPercent,
  });
  if (decision.tag === 'over_cap') {
    const message = `the chain asks ${decision.needed} wei per gas, above the limit`;
    return { tag: 'refuse', reason: 'fee_cap', message };
  }
  return { tag: 'priced', fees: decision.fees };
}

function afford(intent: Intent, wallet: Wallet, gas: bigint, fees: Fees): Preparation {
  if (wallet.balance === null) return NO_ANSWER;
  if (!wallet.affords(gas * fees.maxFee + intent.value)) {
    // Money tied up in flight comes back; money that is not there does not.
    return { tag: wallet.committed > 0n ? 'tied_up' : 'unfunded' };
  }
  return { tag: 'ready', wallet, gas, fees };
}

/** The gas limit with headroom, or why there is none. */
async function estimate(
  context: SenderContext,
  intent: Intent,
  wallet: Wallet,
): Promise<bigint | Exclude<Preparation, { tag: 'ready' }>> {
  const { to, data } = intent;
  const value = `0x${intent.value.toString(16)}`;
  const [answer] = await context.rpc.batch([
    { method: 'eth_estimateGas', params: [{ from: wallet.address, to, data, value }] },
  ]);
  if (answer === undefined) return NO_ANSWER;
  const verdict = classifyEstimate(answer);
  switch (verdict.tag) {
    case 'gas':
      return withHeadroom(verdict.gas, context.settings.gasHeadroomPercent);
    case 'reverted': {
      const { message, revertData } = verdict;
      return { tag: 'refuse', reason: 'reverted_in_simulation', message, revertData };
    }
    case 'insufficient_funds':
      wallet.syncedAt = 0;
      return { tag: 'unfunded' };
    case 'rejected':
      return { tag: 'refuse', reason: 'rejected_by_node', message: verdict.message };
    case 'retry':
      return { tag: 'retry', reason: 'rpc_unavailable', message: verdict.message };
  }
  return verdict satisfies never;
}
