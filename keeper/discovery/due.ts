/** What of a book is due at these NAVs and at this time. Pure; costs a comparison for each open order and no read. */
import type { Address } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import type { DueFill } from '../../runtime/quotes/fill-quote.ts';
import { keyOf, type OpenItem, type OpenOrder, type OpenSchedule } from './book.ts';

export type Candidate = DueFill & { key: string; vault: Address; block: number; log: number };

type Escrows = Pick<Deployment, 'exitEscrow' | 'limitEscrow' | 'scheduleEscrow'>;

/**
 * Orders and slots that are due, oldest first.
 * @param references the reference NAV of each basket that has one now, dollars x 1e18
 * @param chainTime unix seconds of the block
 */
export function dueFills(
  items: Iterable<OpenItem>,
  references: ReadonlyMap<Address, bigint>,
  chainTime: number,
  escrows: Escrows,
): Candidate[] {
  const due: Candidate[] = [];
  for (const item of items) {
    if (item.kind === 'position') continue;
    const nav = references.get(item.vault);
    if (nav === undefined) continue;
    const fill =
      item.kind === 'order'
        ? dueOrder(item, nav, chainTime, escrows)
        : dueSlot(item, chainTime, escrows);
    if (fill === null) continue;
    const { vault, block, log } = item;
    due.push({ ...fill, key: keyOf(item), vault, block, log });
  }
  return due.sort((a, b) => a.block - b.block || a.log - b.log);
}

/** A stop at or below its level, a take-profit at or above it, a limit at or below its trigger or without one. */
function dueOrder(order: OpenOrder, nav: bigint, now: number, escrows: Escrows): DueFill | null {
  const { type, id, amount, stopNav, tpNav, triggerNav, deadline } = order;
  if (now >= deadline) return null;
  const holds =
    type === 'sell'
      ? (stopNav > 0n && nav <= stopNav) || (tpNav > 0n && nav >= tpNav)
      : triggerNav === 0n || nav <= triggerNav;
  const escrow = type === 'sell' ? escrows.exitEscrow : escrows.limitEscrow;
  return holds ? { type, id, escrow, amount, slot: null } : null;
}

/** Slot k from start + k x interval to the start of the next one; equal slices, the last with what is left over. */
function dueSlot(schedule: OpenSchedule, now: number, escrows: Escrows): DueFill | null {
  const { id, total, slots, interval, startAt, nextSlot } = schedule;
  if (now < startAt) return null;
  const slot = Math.floor((now - startAt) / interval);
  if (slot >= slots || slot < nextSlot) return null;
  const rest = slot === slots - 1 ? total % BigInt(slots) : 0n;
  const amount = total / BigInt(slots) + rest;
  return { type: 'schedule', id, escrow: escrows.scheduleEscrow, amount, slot };
}

/**
 * At most `most` of what is due, going on behind `after` (the key of the last one that was looked at) and from the
 * oldest again at the end: what cannot be filled keeps nobody out for ever.
 */
export function takeTurn(
  due: readonly Candidate[],
  after: { block: number; log: number } | null,
  most: number,
): Candidate[] {
  if (due.length <= most || after === null) return due.slice(0, most);
  const isLater = ({ block, log }: Candidate) =>
    block > after.block || (block === after.block && log > after.log);
  const start = due.findIndex(isLater);
  return start < 0
    ? due.slice(0, most)
    : [...due.slice(start), ...due.slice(0, start)].slice(0, most);
}
