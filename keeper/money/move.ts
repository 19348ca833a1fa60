/**
 * One transaction of the keeper's own money, through the one sender: the row first, then the intent under a number that
 * exists only once the number before came to its end. So a process that dies anywhere in between moves nothing twice.
 */
import { type Address, type Hex, parseAbi, parseEventLogs } from 'viem';
import type { Logger } from '../../runtime/logger.ts';
import type { IntentState, MinedReceipt, Sender } from '../../runtime/sender/types.ts';
import { netTransfers, type OrderReader } from '../chain/order.ts';
import type { Move, MoveKind, Moves } from '../journal/moves.ts';
import type { KeeperMetrics } from '../metrics.ts';
import { gasCostUsdg } from '../policy/profit.ts';

export type MoveContext = {
  moves: Moves;
  sender: Pick<Sender, 'submit' | 'wait' | 'get'>;
  receipts: Pick<OrderReader, 'receipt'>;
  metrics: Pick<KeeperMetrics, 'moves'>;
  logger: Logger;
  usdg: Address;
  weth: Address;
  router: Address;
  /** Dollars x 1e18, or null when not known now. */
  ethPrice: () => bigint | null;
  /** How long one transaction is waited for; what takes longer is taken up at the next round. */
  waitMs: number;
  now: () => number;
};

/** A row without an intent for this long: nothing was or will be sent under it. */
const NEVER_AFTER_MS = 60_000;

export function moveKeyOf(kind: MoveKind, wallet: Address, number: number): string {
  return `${kind}:${wallet.toLowerCase()}:${number}`;
}

/** The number of the next move of a wallet and kind, or null while the last one is under way. */
export async function nextNumber(
  { moves, sender }: { moves: Pick<Moves, 'last'>; sender: Pick<Sender, 'get'> },
  kind: MoveKind,
  wallet: Address,
): Promise<number | null> {
  const last = await moves.last(wallet, kind);
  if (last === null) return 1;
  const state = (await sender.get(last.intentKey))?.state ?? null;
  if (state === null) {
    // The row was written and the process died before the sender had it: the same number, with what is decided now.
    // Any other row without an intent is so old that the sender has forgotten it.
    const neverWas = last.outcome === 'submitting' || last.outcome === 'never_submitted';
    return neverWas ? last.number : last.number + 1;
  }
  if (state.tag === 'queued' || state.tag === 'broadcast') return null;
  return last.number + 1;
}

/**
 * Writes the row, hands the intent to the sender and waits for its end, at most `waitMs`.
 * @returns where it stands, or null when the last move of this kind is still under way and nothing was done
 */
export async function makeMove(
  context: MoveContext,
  order: {
    kind: MoveKind;
    wallet: Address;
    counterparty: Address;
    amountUsdg: bigint;
    to: Address;
    data: Hex;
    /** Chain time after which it is not sent any more. */
    notAfter: number;
  },
): Promise<IntentState | null> {
  const { kind, wallet, counterparty, amountUsdg, to, data, notAfter } = order;
  const number = await nextNumber(context, kind, wallet);
  if (number === null) return null;
  const key = moveKeyOf(kind, wallet, number);
  await context.moves.open({ intentKey: key, kind, wallet, number, counterparty, amountUsdg });
  const intent = { key, kind, to, data, value: 0n, from: wallet, notAfter };
  const first = await context.sender.submit(intent, { timeoutMs: context.waitMs });
  const state = (await context.sender.wait(key, 'settled', context.waitMs)) ?? first;
  const row = await context.moves.last(wallet, kind);
  if (row?.intentKey === key) await recordMove(context, row, state);
  return state;
}

/** Records where a move stands. Idempotent. */
async function recordMove(context: MoveContext, move: Move, state: IntentState): Promise<void> {
  const { moves, logger, metrics } = context;
  const line = { wallet: move.wallet, to: move.counterparty, usdg: move.amountUsdg.toString() };
  switch (state.tag) {
    case 'queued':
      return;
    case 'broadcast':
      // What was read from a block that a reorg took back is not so: the next receipt tells anew.
      await moves.change(move.intentKey, {
        outcome: state.tag,
        hash: state.hash,
        movedUsdg: null,
        receivedWei: null,
      });
      return;
    case 'mined':
    case 'reverted':
      return recordIncluded(context, move, state);
    case 'refused':
      logger.warn({ ...line, why: `${state.reason}: ${state.message}` }, `${move.kind} not sent`);
      break;
    case 'cancelled':
    case 'superseded':
      logger.warn(line, `${move.kind} ${state.tag}`);
      break;
  }
  metrics.moves.inc({ kind: move.kind, outcome: state.tag });
  await moves.change(move.intentKey, { outcome: state.tag, settled: true });
}

async function recordIncluded(
  context: MoveContext,
  move: Move,
  state: MinedReceipt & { tag: 'mined' | 'reverted' },
): Promise<void> {
  const { moves, logger, metrics } = context;
  const isNew = move.outcome !== state.tag || move.hash !== state.hash;
  let { movedUsdg, receivedWei } = move;
  let gasL1: bigint | null = null;
  if (movedUsdg === null || isNew) {
    const read = await context.receipts.receipt(state.hash);
    if (read.tag === 'receipt') {
      movedUsdg = -netTransfers(read.logs, context.usdg, move.wallet);
      receivedWei = move.kind === 'topup' ? unwrapped(read.logs, context) : 0n;
      ({ gasL1 } = read);
    }
  }
  const price = context.ethPrice();
  const { gasUsed, effectiveGasPrice: gasPriceWei } = state;
  const costUsdg =
    !isNew && move.costUsdg !== null
      ? move.costUsdg
      : price === null
        ? null
        : gasCostUsdg(gasUsed, gasPriceWei, price);
  const settled = state.confirmed && movedUsdg !== null;
  await moves.change(move.intentKey, {
    outcome: state.tag,
    hash: state.hash,
    movedUsdg,
    receivedWei,
    gasUsed,
    gasPriceWei,
    costUsdg,
    settled,
    ...(gasL1 === null ? {} : { gasL1 }),
  });
  if (!isNew) return;
  metrics.moves.inc({ kind: move.kind, outcome: state.tag });
  const line = {
    wallet: move.wallet,
    to: move.counterparty,
    usdg: (movedUsdg ?? move.amountUsdg).toString(),
    wei: receivedWei?.toString() ?? null,
    hash: state.hash,
  };
  if (state.tag === 'reverted') logger.error(line, `${move.kind} reverted on chain`);
  else logger.info(line, `${move.kind} done`);
}

const WITHDRAWAL = parseAbi(['event Withdrawal(address indexed src, uint256 wad)']);

/** What the router unwrapped, which is what it sends on. */
function unwrapped(
  logs: Parameters<typeof parseEventLogs>[0]['logs'],
  { weth, router }: Pick<MoveContext, 'weth' | 'router'>,
): bigint {
  return parseEventLogs({ abi: WITHDRAWAL, logs })
    .filter(({ address }) => address.toLowerCase() === weth.toLowerCase())
    .filter(({ args }) => args.src.toLowerCase() === router.toLowerCase())
    .reduce((sum, { args }) => sum + args.wad, 0n);
}

/** Looks up every move that is not settled yet. @returns what may still be executed */
export async function settleMoves(context: MoveContext): Promise<Move[]> {
  const open: Move[] = [];
  for (const move of await context.moves.unsettled()) {
    const stored = await context.sender.get(move.intentKey);
    if (stored !== null) {
      await recordMove(context, move, stored.state);
      if (stored.state.tag === 'queued' || stored.state.tag === 'broadcast') open.push(move);
    } else if (context.now() - move.createdMs > NEVER_AFTER_MS) {
      await context.moves.change(move.intentKey, { outcome: 'never_submitted', settled: true });
    }
  }
  return open;
}
