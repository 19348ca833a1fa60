import fc from 'fast-check';
import {
  type Abi,
  type AbiEvent,
  encodeAbiParameters,
  encodeEventTopics,
  getAbiItem,
  type Hex,
  numberToHex,
} from 'viem';
import { describe, expect, test } from 'vitest';
import {
  coverMarketAbi,
  exitEscrowAbi,
  limitEscrowAbi,
  scheduleEscrowAbi,
} from '../../contracts-abi/generated/index.ts';
import type { IndexedLog } from '../../runtime/chain/read-logs.ts';
import { deployment, ENERGY, STRANGER } from '../firewall/fixture.ts';
import { applyLogs, Book, readItem, writeItem } from './book.ts';

const idOf = (n: number): Hex => numberToHex(n, { size: 32 });

/** A log as the contract at `address` writes it. */
function logOf(
  at: { address: Hex; abi: Abi; block?: number },
  eventName: string,
  args: Record<string, unknown>,
): IndexedLog {
  const event = getAbiItem({ abi: at.abi, name: eventName }) as AbiEvent;
  const plain = event.inputs.filter(({ indexed }) => indexed !== true);
  return {
    address: at.address.toLowerCase() as Hex,
    topics: encodeEventTopics({ abi: [event], eventName, args }) as Hex[],
    data: encodeAbiParameters(
      plain,
      plain.map(({ name }) => args[name ?? ''] as never),
    ),
    block: at.block ?? 10,
    time: 0,
    blockHash: idOf(at.block ?? 10),
    logIndex: 0,
    transactionHash: idOf(1),
  };
}

const exits = { address: deployment.exitEscrow, abi: exitEscrowAbi as Abi };
const limits = { address: deployment.limitEscrow, abi: limitEscrowAbi as Abi };
const schedules = { address: deployment.scheduleEscrow, abi: scheduleEscrowAbi as Abi };
const cover = { address: deployment.coverMarket, abi: coverMarketAbi as Abi };

const party = { owner: STRANGER, vault: ENERGY };
const tolerances = { slippageBps: 100, capBps: 500 };
const filled = {
  executor: STRANGER,
  shares: 1n,
  gross: 1n,
  protocolFee: 0n,
  executorFee: 0n,
  net: 1n,
};

const exitCreated = (n: number) =>
  logOf(exits, 'ExitCreated', {
    ...party,
    id: idOf(n),
    terms: {
      vault: ENERGY,
      shares: 5n,
      stopNav: 7n,
      tpNav: 0n,
      hardFloorNav: 0n,
      ...tolerances,
      deadline: 99,
    },
  });
const limitCreated = (n: number) =>
  logOf(limits, 'LimitCreated', {
    ...party,
    id: idOf(n),
    terms: { vault: ENERGY, amount: 9n, triggerNav: 8n, ...tolerances, deadline: 99 },
  });
const scheduleCreated = (n: number, slots: number) =>
  logOf(schedules, 'ScheduleCreated', {
    ...party,
    id: idOf(n),
    terms: {
      kind: 0,
      vault: ENERGY,
      total: 100n,
      slots,
      interval: 60,
      startAt: 1_000,
      ...tolerances,
    },
  });
const slotFilled = (n: number, slot: number) =>
  logOf(schedules, 'SlotFilled', { id: idOf(n), slot, budget: 1n, remaining: 1n, returned: 0n });
const endOf = (at: typeof exits, name: string, n: number) =>
  logOf(at, name, { ...party, ...filled, id: idOf(n) });
const sold = (n: number) =>
  logOf(cover, 'CoverSold', {
    positionId: BigInt(n),
    buyer: STRANGER,
    underwriter: STRANGER,
    listingId: 1n,
    coverUsd: 1n,
    premium: 1n,
    fee: 1n,
  });
const paidOut = (n: number) =>
  logOf(cover, 'PaidOut', {
    positionId: BigInt(n),
    buyer: STRANGER,
    underwriter: STRANGER,
    toBuyer: 1n,
    toUnderwriter: 1n,
    fee: 0n,
  });

function bookOf(...logs: IndexedLog[]): Book {
  const book = new Book(100);
  applyLogs(book, logs, deployment);
  return book;
}
const keysOf = (book: Book) => [...book.items()].map((item) => `${item.kind} ${item.id}`);

describe('a book', () => {
  test('holds what the events tell of each kind', () => {
    const book = bookOf(exitCreated(1), limitCreated(2), scheduleCreated(3, 4), sold(5));
    const place = { block: 10, log: 0 };
    const common = { ...place, vault: ENERGY };
    expect([...book.items()]).toEqual([
      {
        ...common,
        kind: 'order',
        type: 'sell',
        id: idOf(1),
        amount: 5n,
        stopNav: 7n,
        tpNav: 0n,
        triggerNav: 0n,
        deadline: 99,
      },
      {
        ...common,
        kind: 'order',
        type: 'limit',
        id: idOf(2),
        amount: 9n,
        stopNav: 0n,
        tpNav: 0n,
        triggerNav: 8n,
        deadline: 99,
      },
      {
        ...common,
        kind: 'schedule',
        id: idOf(3),
        total: 100n,
        slots: 4,
        interval: 60,
        startAt: 1_000,
        nextSlot: 0,
      },
      { ...place, kind: 'position', id: 5n },
    ]);
    for (const item of book.items()) expect(readItem(writeItem(item))).toEqual(item);
  });

  test.each(['OrderFilled', 'OrderCancelled', 'OrderExpired'])('loses an order by %s', (name) => {
    expect(bookOf(exitCreated(1), limitCreated(1), endOf(exits, name, 1)).size).toBe(1);
    expect(bookOf(exitCreated(1), limitCreated(1), endOf(limits, name, 1)).size).toBe(1);
    expect(bookOf(limitCreated(1), endOf(exits, name, 1)).size).toBe(1);
  });

  test('keeps a schedule until its last slot, its cancellation or its end', () => {
    const filledOnce = bookOf(scheduleCreated(3, 3), slotFilled(3, 1), slotFilled(3, 0));
    expect([...filledOnce.items()]).toMatchObject([{ nextSlot: 2 }]);
    // Each slot's fill tells OrderFilled too.
    expect(bookOf(scheduleCreated(3, 3), endOf(schedules, 'OrderFilled', 3)).size).toBe(1);
    expect(bookOf(scheduleCreated(3, 3), slotFilled(3, 2)).size).toBe(0);
    expect(bookOf(scheduleCreated(3, 3), endOf(schedules, 'OrderCancelled', 3)).size).toBe(0);
    expect(bookOf(scheduleCreated(3, 3), endOf(schedules, 'OrderExpired', 3)).size).toBe(0);
  });

  test('loses a position that is paid', () => {
    expect(keysOf(bookOf(sold(5), sold(6), paidOut(5)))).toEqual(['position 6']);
  });

  test('knows no contract but those of the deployment', () => {
    const foreign = { ...exitCreated(1), address: STRANGER.toLowerCase() as Hex };
    expect(bookOf(foreign).size).toBe(0);
  });

  test('is bounded: what opens beyond its size is counted, and a copy counts on', () => {
    const book = new Book(2);
    applyLogs(book, [sold(1), sold(2), sold(3)], deployment);
    const copy = book.copy();
    applyLogs(copy, [sold(4), paidOut(1), sold(5)], deployment);
    expect([book.size, book.dropped]).toEqual([2, 1]);
    expect([copy.dropped, keysOf(copy)]).toEqual([2, ['position 2', 'position 5']]);
    expect(keysOf(book)).toEqual(['position 1', 'position 2']);
  });

  test('is the same when its newest logs are read twice', () => {
    const id = fc.integer({ min: 1, max: 4 });
    const log = fc.oneof(
      id.map(exitCreated),
      id.map((n) => endOf(exits, 'OrderFilled', n)),
      fc.tuple(id, fc.integer({ min: 0, max: 3 })).map(([n, slot]) => slotFilled(n, slot)),
      id.map((n) => scheduleCreated(n, 4)),
      id.map(sold),
      id.map(paidOut),
    );
    fc.assert(
      fc.property(fc.array(log, { maxLength: 30 }), fc.nat(30), (logs, cut) => {
        const settled = new Book(100);
        applyLogs(settled, logs.slice(0, cut), deployment);
        for (let round = 0; round < 2; round += 1) {
          const current = settled.copy();
          applyLogs(current, logs.slice(cut), deployment);
          expect([...current.items()]).toEqual([...bookOf(...logs).items()]);
        }
      }),
    );
  });
});
