/**
 * The intents of a journal, folded from its records. What must hold: an intent has one nonce per attempt and every
 * version of the attempt carries it; a new attempt begins only after the one before never executed; an intent that
 * executed stays so.
 */
import type { Address, Hex } from 'viem';
import {
  type Journal,
  JournalError,
  type JournalRecord,
  type ReadRecord,
  readRecord,
  settledJson,
} from './journal.ts';
import type { Receipt } from '../receipt.ts';
import type { Settled } from './outcome.ts';
import { type Signable, toJson } from './signable.ts';

/** One signature of an intent: same nonce, its own digest. */
export type Version = { digest: Hex; signable: Signable; signature: Hex; submitted: boolean };

export type Entry = {
  id: string;
  attempt: number;
  type: Signable['type'];
  kind: number;
  module: Address;
  account: Address;
  key: Address;
  nonce: bigint;
  /** In the order of signing; empty once settled, and while nothing was signed. */
  versions: readonly Version[];
  /** The last acceptance that the relayer signed. */
  receipt: Receipt | null;
  outcome: Settled | null;
};

export type Ledger = {
  find(id: string): Entry | null;
  /** Entries without an end. */
  open(): Entry[];
  /** All entries, oldest first. */
  all(): Iterable<Entry>;
  /** The intent that has used or may use this nonce. */
  holderOf(signable: Signable): string | null;
  planned(id: string, attempt: number, signable: Signable): Promise<Entry>;
  signed(id: string, version: Omit<Version, 'submitted'>): Promise<Entry>;
  submitted(id: string, digest: Hex): Promise<Entry>;
  accepted(id: string, receipt: Receipt): Promise<Entry>;
  settled(id: string, outcome: Settled): Promise<Entry>;
};

/** The last unix second (of the chain) at which a version of the entry may run. */
export function openUntil({ versions }: Pick<Entry, 'versions'>): number {
  return versions.reduce((last, { signable }) => Math.max(last, signable.action.deadline), 0);
}

/** @throws JournalError when the records contradict each other */
export async function openLedger(journal: Journal, now: () => number): Promise<Ledger> {
  const entries = new Map<string, Entry>();
  /** Slot to the attempt that has it. */
  const holders = new Map<string, { id: string; attempt: number }>();

  /** Before the record is written: two intents under way at once never get the same nonce. */
  const reserve = (record: ReadRecord): void => {
    if (record.state !== 'planned') return;
    const { id, attempt, signable } = record;
    const slot = slotOf(signable);
    const holder = holders.get(slot);
    if (holder !== undefined && (holder.id !== id || holder.attempt !== attempt)) {
      throw new JournalError(`${id} plans a nonce that ${holder.id} has`);
    }
    holders.set(slot, { id, attempt });
  };
  const apply = (record: ReadRecord): Entry => {
    const entry = after(entries.get(record.id) ?? null, record);
    reserve(record);
    entries.set(record.id, entry);
    return entry;
  };
  for (const record of await journal.read()) apply(readRecord(record));

  type Part<R> = R extends unknown ? Omit<R, 'id' | 'attempt' | 'at'> : never;
  const write = async (id: string, attempt: number, part: Part<JournalRecord>): Promise<Entry> => {
    const record: JournalRecord = { id, attempt, at: now(), ...part };
    const read = readRecord(record);
    // Refused here rather than after it is on disk.
    after(entries.get(id) ?? null, read);
    reserve(read);
    await journal.append(record);
    return apply(read);
  };
  const attemptOf = (id: string): number => {
    const entry = entries.get(id);
    if (entry === undefined) throw new JournalError(`${id} was never planned`);
    return entry.attempt;
  };

  return {
    find: (id) => entries.get(id) ?? null,
    open: () => [...entries.values()].filter(({ outcome }) => outcome === null),
    all: () => entries.values(),
    holderOf: (signable) => holders.get(slotOf(signable))?.id ?? null,
    planned: async (id, attempt, signable) =>
      await write(id, attempt, { state: 'planned', signable: toJson(signable) }),
    signed: async (id, { digest, signable, signature }) =>
      await write(id, attemptOf(id), {
        state: 'signed',
        digest,
        signable: toJson(signable),
        signature,
      }),
    submitted: async (id, digest) => await write(id, attemptOf(id), { state: 'submitted', digest }),
    accepted: async (id, receipt) =>
      await write(id, attemptOf(id), { state: 'accepted', digest: receipt.digest, receipt }),
    settled: async (id, outcome) =>
      await write(id, attemptOf(id), { state: 'settled', outcome: settledJson(outcome) }),
  };
}

function slotOf({ module, action }: Signable): string {
  return `${module}:${action.account}:${action.nonce}`.toLowerCase();
}

/** The entry after a record. */
function after(entry: Entry | null, record: ReadRecord): Entry {
  const { id, attempt } = record;
  const contradiction = (what: string) => new JournalError(`${id}: ${what}`);
  if (record.state === 'planned') return afterPlan(entry, record, contradiction);
  if (entry === null || entry.attempt !== attempt) throw contradiction('no plan of this attempt');
  if (entry.outcome !== null) throw contradiction('has ended already');
  if (record.state === 'settled') {
    return { ...entry, versions: [], outcome: { ...record.outcome, id } };
  }
  if (record.state === 'submitted') {
    const known = entry.versions.some(({ digest }) => digest === record.digest);
    if (!known) throw contradiction('submits what was not signed');
    const versions = entry.versions.map((version) =>
      version.digest === record.digest ? { ...version, submitted: true } : version,
    );
    return { ...entry, versions };
  }
  if (record.state === 'accepted') return { ...entry, receipt: record.receipt };
  if (slotOf(record.signable) !== slotOf(slotFields(entry))) {
    throw contradiction('signs under another nonce');
  }
  const { digest, signable, signature } = record;
  // The same digest signed again (a restart between the records) is the same version.
  if (entry.versions.some((version) => version.digest === digest)) return entry;
  return {
    ...entry,
    versions: [...entry.versions, { digest, signable, signature, submitted: false }],
  };
}

function afterPlan(
  entry: Entry | null,
  { id, attempt, signable }: Extract<ReadRecord, { state: 'planned' }>,
  contradiction: (what: string) => JournalError,
): Entry {
  const { type, module, action } = signable;
  if (entry?.outcome?.tag === 'executed') throw contradiction('has been executed');
  if (entry !== null && entry.attempt === attempt) {
    if (entry.outcome !== null) throw contradiction('has ended already');
    if (slotOf(signable) !== slotOf(slotFields(entry))) throw contradiction('changes its nonce');
    return entry;
  }
  const ended = entry === null || entry.outcome !== null || entry.versions.length === 0;
  if (!ended) throw contradiction('a new attempt while the one before may run');
  if (attempt !== (entry === null ? 0 : entry.attempt + 1)) throw contradiction('skips an attempt');
  const { kind, account, key, nonce } = action;
  return {
    id,
    attempt,
    type,
    kind,
    module,
    account,
    key,
    nonce,
    versions: [],
    receipt: null,
    outcome: null,
  };
}

function slotFields(entry: Entry): Signable {
  const { module, account, nonce } = entry;
  return { type: entry.type, module, action: { account, nonce } } as Signable;
}
