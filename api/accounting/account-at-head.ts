/**
 * An owner's shares and the rows that explain them, as of one block. Shares are read from the chain, and the index may
 * not have read the newest blocks yet (or, behind a node that lags, have read more): so rows above the block are left
 * out, and what the index lacks up to it is read from the chain. What must hold before a cost is told: the rows account
 * for every share that the chain shows, to the base unit.
 */
import { type Address, BlockNotFoundError, type PublicClient } from 'viem';
import { ApiError } from '../../runtime/errors.ts';
import type { Checkpoint } from '../indexer/checkpoints.ts';
import { MINUTE, startOf } from '../nav/minutes.ts';
import type { Service } from '../service.ts';
import type { Question } from './account-books.ts';
import { type Basis, NOTHING } from './cost-basis.ts';
import { type Holding, readHoldings } from './holdings.ts';
import { type AccountRow, accountRows } from './owner-rows.ts';

/** Blocks that are read from the chain on behalf of one request at most; the index goes through more in less time. */
const MOST_TAIL_BLOCKS = 1_000;
/**
 * How long a request waits for the index where the chain cannot tell everything by itself, and for how long before it
 * looks again: twice as long each time, since each look asks the node, which may be what is slow.
 */
const SETTLE_MS = 2_000;
const FIRST_PAUSE_MS = 50;

export type Account = { holding: Holding; basis: Basis }[];
type Attempt = { tag: 'settled'; account: Account } | { tag: 'unsettled'; reason: string };

const unsettled = (reason: string): Attempt => ({ tag: 'unsettled', reason });

/**
 * Every basket with what the owner holds of it and its basis.
 * @throws ApiError UPSTREAM when the chain does not answer, or the index cannot account for the shares in time.
 */
export async function accountAtHead(
  service: Service,
  owner: Address,
  navNow: (vault: Address) => bigint,
): Promise<Account> {
  const deadline = Date.now() + SETTLE_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause *= 2) {
    const found = await attempt(service, { owner, navNow, deadline });
    if (found.tag === 'settled') return found.account;
    const left = deadline - Date.now();
    if (left <= 0) {
      service.logger.warn({ reason: found.reason }, 'a position could not be accounted for');
      throw new ApiError('UPSTREAM', `${found.reason}: retry`);
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(pause, left)));
  }
}

async function attempt(
  service: Service,
  asked: Pick<Question, 'owner' | 'navNow' | 'deadline'>,
): Promise<Attempt> {
  const { client, accountBooks, tail, marks } = service;
  const { owner } = asked;
  const reading = await accountBooks.reading();
  if (reading === null) return unsettled('the index is still reading the chain');
  const { baskets } = marks.catalog();
  const { upTo } = reading;
  const [held, cursor] = await Promise.all([
    readHoldings(service, baskets, owner),
    blockAt(client, upTo),
  ]);
  if (cursor === 'another') return unsettled('the chain was reorganised under the index');
  const to = Math.min(upTo.block, held.block);
  let books = await accountBooks.basisAt({ ...asked, reading, to });
  if (books === null) return unsettled('the transfers of this address are still being read');
  if (held.block > upTo.block) {
    const missing = held.block - upTo.block;
    if (missing > MOST_TAIL_BLOCKS) return unsettled(`the index is ${missing} blocks behind`);
    const span = {
      after: upTo.block,
      to: held.block,
      vaults: baskets.map(({ vault }) => vault),
    };
    const fresh = accountRows(await tail.rows(span), owner.toLowerCase());
    if (!(await pricesKnown(service, fresh, cursor))) {
      return unsettled('the index has not read the price that shares arrived at yet');
    }
    books = await accountBooks.extended(books, fresh, asked);
  }
  const found = judge(held.holdings, books);
  if (found.tag === 'unsettled') accountBooks.forget(owner);
  return found;
}

function judge(holdings: readonly Holding[], books: ReadonlyMap<Address, Basis>): Attempt {
  const account = holdings.map((holding) => ({
    holding,
    basis: books.get(holding.basket.vault) ?? NOTHING,
  }));
  const odd = account.find(({ holding, basis }) => holding.shares !== basis.shares);
  return odd === undefined
    ? { tag: 'settled', account }
    : unsettled(`the index does not account for all shares of ${odd.holding.basket.ticker} yet`);
}

/** The time of the index's last block; null where this node does not have that block (yet). */
async function blockAt(
  client: PublicClient,
  checkpoint: Checkpoint,
): Promise<number | null | 'another'> {
  try {
    const block = await client.getBlock({ blockNumber: BigInt(checkpoint.block) });
    return block.hash === checkpoint.hash ? Number(block.timestamp) : 'another';
  } catch (cause) {
    if (cause instanceof BlockNotFoundError) return null;
    throw new ApiError('UPSTREAM', 'the chain cannot be read now: retry', { cause });
  }
}

/**
 * Whether the NAVs that these arrivals enter at are final: those of the minute before, so the index must have read the
 * whole of it.
 */
async function pricesKnown(
  { accountBooks }: Service,
  rows: readonly AccountRow[],
  indexedTo: number | null,
): Promise<boolean> {
  for (const row of rows) {
    if (row.of === 'trade') continue;
    if (indexedTo === null || indexedTo < startOf(row.time, MINUTE)) return false;
    if (!(await accountBooks.knowsNavAt(row.vault as Address, row.time))) return false;
  }
  return true;
}
