import fc from 'fast-check';
import type { Address, Hex } from 'viem';
import { describe, expect, it } from 'vitest';
import {
  type Attempt,
  applyEvent,
  type Entry,
  type EntryEvent,
  isFinal,
  isIncluded,
  isInFlight,
  liveAttempts,
  publicState,
} from './entry.ts';

const WALLETS: Address[] = [`0x${'a'.repeat(40)}`, `0x${'b'.repeat(40)}`];

function queued(): Entry {
  return {
    key: 'k',
    seq: 1,
    version: 1,
    intent: { key: 'k', kind: 'test', to: WALLETS[0] as Address, data: '0x', value: 0n },
    phase: 'queued',
    wallet: null,
    nonce: null,
    receipt: null,
    confirmed: false,
    refusal: null,
    createdAt: 0,
    updatedAt: 0,
    attempts: [],
  };
}

function hashOf(wallet: number, nonce: number, version: number): Hex {
  return `0x${wallet}${nonce}${version.toString(16).padStart(4, '0')}${'0'.repeat(58)}`;
}

type Step = {
  type: EntryEvent['type'];
  wallet: number;
  nonce: number;
  cancel: boolean;
  success: boolean;
  requeue: boolean;
  pick: number;
  block: number;
};

/** Events as a hostile order of calls could bring them; attempts and receipts refer to what exists or nearly so. */
const step: fc.Arbitrary<Step> = fc.record({
  type: fc.constantFrom<EntryEvent['type']>(
    'claimed',
    'persisted',
    'sent',
    'released',
    'refused',
    'receipt',
    'orphaned',
    'displaced',
    'confirmed',
  ),
  wallet: fc.nat(1),
  nonce: fc.nat(3),
  cancel: fc.boolean(),
  success: fc.boolean(),
  requeue: fc.boolean(),
  pick: fc.nat(5),
  block: fc.nat(3),
});

function eventOf(entry: Entry, at: Step): EntryEvent {
  const wallet = WALLETS[at.wallet] as Address;
  switch (at.type) {
    case 'claimed':
      return { type: 'claimed', wallet, nonce: at.nonce };
    case 'persisted': {
      const nonce = entry.nonce ?? at.nonce;
      const attempt: Attempt = {
        hash: hashOf(at.wallet, nonce, entry.version),
        wallet: entry.wallet ?? wallet,
        nonce,
        role: at.cancel ? 'cancel' : 'execute',
        raw: '0x',
        gas: 1n,
        maxFee: 1n,
        tip: 1n,
        createdAt: 0,
      };
      return { type: 'persisted', attempt };
    }
    case 'receipt': {
      const known = entry.attempts[at.pick % Math.max(1, entry.attempts.length)];
      return {
        type: 'receipt',
        receipt: {
          hash: known?.hash ?? hashOf(9, 9, 9),
          success: at.success,
          blockNumber: BigInt(at.block),
          blockHash: `0x${at.block}`,
          gasUsed: 1n,
          effectiveGasPrice: 1n,
        },
      };
    }
    case 'refused':
      return { type: 'refused', reason: 'expired', message: '' };
    case 'displaced':
      return { type: 'displaced', requeue: at.requeue };
    case 'sent':
    case 'released':
    case 'orphaned':
    case 'confirmed':
      return { type: at.type };
  }
}

describe('an entry', () => {
  it('keeps its invariants under every order of events', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let entry = queued();
        for (const at of steps) {
          const event = eventOf(entry, at);
          const next = applyEvent(entry, event, entry.version);
          if (next === null) continue;
          expect(next.version).toBe(entry.version + 1);
          // What is confirmed stays as it is, for ever.
          expect(entry.confirmed).toBe(false);
          // Bytes never disappear, and each keeps its nonce.
          expect(next.attempts.slice(0, entry.attempts.length)).toEqual(entry.attempts);
          // A nonce is held in flight, and whoever is told "broadcast" gets hashes of that nonce.
          if (isInFlight(next.phase)) expect(next.nonce).not.toBeNull();
          if (next.phase === 'signed' || next.phase === 'broadcast') {
            expect(liveAttempts(next).length).toBeGreaterThan(0);
          }
          if (isIncluded(next.phase)) expect(next.receipt).not.toBeNull();
          // A new nonce is taken only when no bytes exist at an unresolved one.
          const moved = next.nonce !== entry.nonce || next.wallet !== entry.wallet;
          if (moved && event.type === 'claimed') expect(entry.nonce).toBeNull();
          if (moved && next.nonce === null) {
            expect(event.type === 'displaced' || liveAttempts(entry).length === 0).toBe(true);
          }
          // Refused and superseded never executed, as far as any receipt shows.
          if (next.phase === 'refused' || next.phase === 'superseded')
            expect(next.receipt).toBeNull();
          expect(publicState(next).tag).toBeTypeOf('string');
          entry = next;
          if (isFinal(entry) && entry.confirmed) {
            expect(applyEvent(entry, { type: 'orphaned' }, 0)).toBeNull();
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('may take only its own nonce again once bytes for it exist', () => {
    const [wallet, other] = WALLETS as [Address, Address];
    const play = (events: EntryEvent[]): Entry =>
      events.reduce<Entry>((entry, event) => {
        const next = applyEvent(entry, event, 0);
        if (next === null) throw new Error(`${event.type} does not apply in ${entry.phase}`);
        return next;
      }, queued());
    const attempt: Attempt = {
      hash: '0x01',
      wallet,
      nonce: 4,
      role: 'execute',
      raw: '0x',
      gas: 1n,
      maxFee: 1n,
      tip: 1n,
      createdAt: 0,
    };
    const released = play([
      { type: 'claimed', wallet, nonce: 4 },
      { type: 'persisted', attempt },
      { type: 'released' },
    ]);
    expect(publicState(released)).toEqual({ tag: 'queued' });
    expect(applyEvent(released, { type: 'claimed', wallet, nonce: 5 }, 0)).toBeNull();
    expect(applyEvent(released, { type: 'claimed', wallet: other, nonce: 4 }, 0)).toBeNull();
    expect(applyEvent(released, { type: 'claimed', wallet, nonce: 4 }, 0)?.phase).toBe('signed');
    const freed = applyEvent(released, { type: 'displaced', requeue: true }, 0);
    expect(freed && applyEvent(freed, { type: 'claimed', wallet: other, nonce: 9 }, 0)?.phase).toBe(
      'claimed',
    );
  });
});
