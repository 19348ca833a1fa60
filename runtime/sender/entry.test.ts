import * as fc from 'fast-check';
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

function attemptOf({ version }: Entry, at: Step, wallet: Address, nonce: number): Attempt {
  return {
    hash: hashOf(at.wallet, nonce, version),
    wallet,
    nonce,
    role: at.cancel ? 'cancel' : 'execute',
    raw: '0x',
    gas: 1n,
    maxFee: 1n,
    tip: 1n,
    createdAt: 0,
  };
}

function eventOf(entry: Entry, at: Step): EntryEvent {
  const wallet = WALLETS[at.wallet] as Address;
  switch (at.type) {
    case 'claimed': {
      const claim = { type: 'claimed', wallet, nonce: at.nonce } as const;
      if (at.pick === 0) return claim;
      // Signed for another nonce or wallet now and then, which must change nothing.
      const nonce = at.pick === 1 ? at.block : at.nonce;
      const signer = at.pick === 2 ? WALLETS[0] : wallet;
      return { ...claim, attempt: attemptOf(entry, at, signer as Address, nonce) };
    }
    case 'persisted': {
      const nonce = entry.nonce ?? at.nonce;
      return { type: 'persisted', attempt: attemptOf(entry, at, entry.wallet ?? wallet, nonce) };
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
  return at.type satisfies never;
}

/** Names of the invariants that a step broke. */
function violations(entry: Entry, next: Entry, event: EntryEvent): string[] {
  const moved = next.nonce !== entry.nonce || next.wallet !== entry.wallet;
  const out = next.phase === 'signed' || next.phase === 'broadcast';
  const never = next.phase === 'refused' || next.phase === 'superseded';
  const kept = next.attempts.slice(0, entry.attempts.length);
  const rules: Record<string, boolean> = {
    'every change counts up the version': next.version === entry.version + 1,
    'what is confirmed stays as it is': !entry.confirmed,
    'bytes never disappear': kept.every((attempt, index) => attempt === entry.attempts[index]),
    'in flight holds a nonce': !isInFlight(next.phase) || next.nonce !== null,
    'out has bytes at its nonce': !out || liveAttempts(next).length > 0,
    'included has a receipt': !isIncluded(next.phase) || next.receipt !== null,
    'bytes that come are of the nonce that is held': next.attempts
      .slice(entry.attempts.length)
      .every(({ nonce, wallet }) => nonce === next.nonce && wallet === next.wallet),
    'a claim moves no bound intent': !moved || event.type !== 'claimed' || entry.nonce === null,
    'a nonce with bytes is left only when consumed':
      !moved ||
      next.nonce !== null ||
      event.type === 'displaced' ||
      liveAttempts(entry).length === 0,
    'refused and superseded show no receipt': !never || next.receipt === null,
    'final but not confirmed has no bytes in flight': !isFinal(next) || !isInFlight(next.phase),
  };
  return Object.keys(rules).filter((rule) => rules[rule] === false);
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
          expect(violations(entry, next, event)).toEqual([]);
          expect(publicState(next).tag).toBeTypeOf('string');
          entry = next;
        }
      }),
      { numRuns: 20_000 },
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
    // A reorg gave the nonce back: what was signed under it may still land, so it is not left again.
    const again = freed && applyEvent(freed, { type: 'claimed', wallet, nonce: 4 }, 0);
    expect(again).toMatchObject({ phase: 'signed', nonce: 4 });
    expect(again && applyEvent(again, { type: 'released' }, 0)).toMatchObject({ nonce: 4, wallet });
    expect(freed && applyEvent(freed, { type: 'claimed', wallet: other, nonce: 9 }, 0)?.phase).toBe(
      'claimed',
    );
  });
});
