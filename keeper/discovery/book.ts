/**
 * What is open on chain, from the events of the escrows and of the cover market. Pure: the same logs in the same order
 * give the same book, and the same log twice changes nothing.
 */
import { type Address, getAddress, type Hex } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import {
  coverMarketAbi,
  exitEscrowAbi,
  limitEscrowAbi,
  scheduleEscrowAbi,
} from '../../contracts-abi/generated/index.ts';
import { type EventOf, eventSet } from '../../runtime/chain/event-set.ts';
import type { IndexedLog } from '../../runtime/chain/read-logs.ts';

/** Where it began: what is older is served first. */
type Place = { block: number; log: number };

/** NAVs are dollars x 1e18, zero for none; `amount`: shares of a sell, USDG all-in of a limit. */
export type OpenOrder = Place & {
  kind: 'order';
  type: 'sell' | 'limit';
  id: Hex;
  vault: Address;
  amount: bigint;
  stopNav: bigint;
  tpNav: bigint;
  triggerNav: bigint;
  /** Unix seconds. */
  deadline: number;
};

/** `total`: USDG base units of all slots; times in unix seconds. */
export type OpenSchedule = Place & {
  kind: 'schedule';
  id: Hex;
  vault: Address;
  total: bigint;
  slots: number;
  interval: number;
  startAt: number;
  /** The first slot that nobody has filled, and no later one either. */
  nextSlot: number;
};

/** Cover that was sold and is not paid. */
export type OpenPosition = Place & { kind: 'position'; id: bigint };

export type OpenItem = OpenOrder | OpenSchedule | OpenPosition;

export function keyOf(item: Pick<OpenItem, 'kind' | 'id'> & { type?: 'sell' | 'limit' }): string {
  return item.kind === 'order' ? `${item.type}:${item.id}` : `${item.kind}:${item.id}`;
}

/** Items by {@link keyOf}, and which of them changed since {@link Book.changesKept}. */
export class Book {
  readonly #items: Map<string, OpenItem>;
  readonly #most: number;
  readonly #changed = new Set<string>();
  #dropped = 0;

  /** @param most items that are held; what opens beyond them is left out and counted. */
  constructor(most: number, items: Iterable<OpenItem> = []) {
    this.#most = most;
    this.#items = new Map([...items].map((item) => [keyOf(item), item]));
  }

  get size(): number {
    return this.#items.size;
  }

  /** What was left out because the book was full. */
  get dropped(): number {
    return this.#dropped;
  }

  items(): Iterable<OpenItem> {
    return this.#items.values();
  }

  get(key: string): OpenItem | null {
    return this.#items.get(key) ?? null;
  }

  /** A book that starts from this one and leaves it as it is. */
  copy(): Book {
    const copy = new Book(this.#most, this.#items.values());
    copy.#dropped = this.#dropped;
    return copy;
  }

  put(item: OpenItem): void {
    const key = keyOf(item);
    if (!this.#items.has(key) && this.#items.size >= this.#most) {
      this.#dropped += 1;
      return;
    }
    this.#items.set(key, item);
    this.#changed.add(key);
  }

  remove(key: string): void {
    if (this.#items.delete(key)) this.#changed.add(key);
  }

  /** Keys whose items changed or went since {@link Book.changesKept}. */
  changes(): string[] {
    return [...this.#changed];
  }

  changesKept(): void {
    this.#changed.clear();
  }
}

const exitEvents = eventSet(exitEscrowAbi);
const limitEvents = eventSet(limitEscrowAbi);
const scheduleEvents = eventSet(scheduleEscrowAbi);
const coverEvents = eventSet(coverMarketAbi);

const ENDS: ReadonlySet<string> = new Set(['OrderFilled', 'OrderCancelled', 'OrderExpired']);

/** Applies logs in chain order. What is no event of these contracts changes nothing. */
export function applyLogs(book: Book, logs: readonly IndexedLog[], deployment: Deployment): void {
  for (const log of logs) applyLog(book, log, deployment);
}

function applyLog(book: Book, log: IndexedLog, deployment: Deployment): void {
  const place = { block: log.block, log: log.logIndex };
  switch (getAddress(log.address)) {
    case deployment.exitEscrow: {
      const { eventName, args } = exitEvents.decode(log);
      if (eventName === 'ExitCreated') {
        const { vault, shares, stopNav, tpNav, deadline } = args.terms;
        const levels = { stopNav, tpNav, triggerNav: 0n };
        const order = { kind: 'order', type: 'sell', id: args.id, amount: shares } as const;
        book.put({ ...place, ...order, ...levels, vault: getAddress(vault), deadline });
      } else if (ENDS.has(eventName) && 'id' in args) {
        book.remove(`sell:${args.id}`);
      }
      return;
    }
    case deployment.limitEscrow: {
      const { eventName, args } = limitEvents.decode(log);
      if (eventName === 'LimitCreated') {
        const { vault, amount, triggerNav, deadline } = args.terms;
        const levels = { stopNav: 0n, tpNav: 0n, triggerNav };
        const order = { kind: 'order', type: 'limit', id: args.id, amount } as const;
        book.put({ ...place, ...order, ...levels, vault: getAddress(vault), deadline });
      } else if (ENDS.has(eventName) && 'id' in args) {
        book.remove(`limit:${args.id}`);
      }
      return;
    }
    case deployment.scheduleEscrow: {
      applyScheduleLog(book, scheduleEvents.decode(log), place);
      return;
    }
    case deployment.coverMarket: {
      const { eventName, args } = coverEvents.decode(log);
      if (eventName === 'CoverSold') book.put({ ...place, kind: 'position', id: args.positionId });
      else if (eventName === 'PaidOut') book.remove(`position:${args.positionId}`);
      return;
    }
    default:
  }
}

function applyScheduleLog(
  book: Book,
  { eventName, args }: EventOf<typeof scheduleEscrowAbi>,
  place: Place,
): void {
  if (eventName === 'ScheduleCreated') {
    const { vault, total, slots, interval, startAt } = args.terms;
    const terms = { vault: getAddress(vault), total, slots, interval, startAt };
    book.put({ ...place, kind: 'schedule', id: args.id, ...terms, nextSlot: 0 });
  } else if (eventName === 'SlotFilled') {
    const key = `schedule:${args.id}`;
    const schedule = book.get(key);
    if (schedule?.kind !== 'schedule') return;
    const nextSlot = Math.max(schedule.nextSlot, args.slot + 1);
    // The last slot is the end, whichever others were filled.
    if (nextSlot >= schedule.slots) book.remove(key);
    else book.put({ ...schedule, nextSlot });
  } else if (eventName === 'OrderCancelled' || eventName === 'OrderExpired') {
    book.remove(`schedule:${args.id}`);
  }
}

const AMOUNTS: ReadonlySet<string> = new Set(['amount', 'stopNav', 'tpNav', 'triggerNav', 'total']);
/** A position's id is a number; the others are hex. */
const DECIMAL = /^\d+$/;

/** An item as text, for the store. */
export function writeItem(item: OpenItem): string {
  return JSON.stringify(item, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

/** Reads back what {@link writeItem} wrote. */
export function readItem(text: string): OpenItem {
  return JSON.parse(text, (name, value: unknown) =>
    typeof value === 'string' && (AMOUNTS.has(name) || (name === 'id' && DECIMAL.test(value)))
      ? BigInt(value)
      : value,
  ) as OpenItem;
}
