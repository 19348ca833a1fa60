/**
 * One transaction of a process's own money, through the one sender: the row first, then the intent under a number that
 * exists only once the number before came to its end. So a process that dies anywhere in between moves nothing twice.
 */
import type { Counter } from 'prom-client';
import { type Address, type Hex, parseAbi, parseEventLogs } from 'viem';
import type { Logger } from '../logger.ts';
import type { IntentState, MinedReceipt, Sender } from '../sender/types.ts';
import { type Logs, netTransfers, type ReceiptReader } from '../chain/receipt.ts';
import type { Move, MoveKind, Moves } from './moves.ts';
import { gasCostUsdg } from './gas-cost.ts';

export type MoveContext = {
  moves: Moves;
  sender: Pick<Sender, 'submit' | 'wait' | 'get'>;
  receipts: { receipt: ReceiptReader };
  metrics: { moves: Counter<'kind' | 'outcome'> };
  logger: Logger;
  usdg: Address;
  /** Of swaps; a process that swaps nothing has none. */
  swap: { weth: Address; router: Address } | null;
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
    /** ETH that goes with it, wei; absent: none. */
    amountWei?: bigint;
    to: Address;
    data: Hex;
    /** Chain time after which it is not sent any more. */
    notAfter: number;
  },
): Promise<IntentState | null> {
  const { kind, wallet, counterparty, amountUsdg, amountWei = 0n, to, data, notAfter } = order;
  const number = await nextNumber(context, kind, wallet);
  if (number === null) return null;
  const key = moveKeyOf(kind, wallet, number);
  const row = { intentKey: key, kind, wallet, number, counterparty, amountUsdg, amountWei };
  await context.moves.open(row);
  const intent = { key, kind, to, data, value: amountWei, from: wallet, notAfter };
  const first = await context.sender.submit(intent, { timeoutMs: context.waitMs });
  const state = (await context.sender.wait(key, 'settled', context.waitMs)) ?? first;
  const written = await context.moves.last(wallet, kind);
  if (written?.intentKey === key) await recordMove(context, written, state);
  return state;
}

/** Records where a move stands. Idempotent. */
async function recordMove(context: MoveContext, move: Move, state: IntentState): Promise<void> {
  const { moves, logger, metrics } = context;
  const line = { wallet: move.wallet, to: move.counterparty, ...amountsOf(move) };
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
      receivedWei = receivedBy(move, state.tag, read.logs, context);
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

const amountsOf = ({ amountUsdg, amountWei }: Move) => ({
  usdg: amountUsdg.toString(),
  ...(amountWei === 0n ? {} : { wei: amountWei.toString() }),
});

function receivedBy(
  move: Move,
  outcome: 'mined' | 'reverted',
  logs: Logs,
  { swap }: Pick<MoveContext, 'swap'>,
): bigint {
  if (move.kind === 'fund') return outcome === 'mined' ? move.amountWei : 0n;
  return move.kind === 'topup' && swap !== null ? unwrapped(logs, swap) : 0n;
}

const WITHDRAWAL = parseAbi(['event Withdrawal(address indexed src, uint256 wad)']);

/** What the router unwrapped, which is what it sends on. */
function unwrapped(logs: Logs, { weth, router }: { weth: Address; router: Address }): bigint {
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
