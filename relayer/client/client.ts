/**
 * The relayer's client for the host of a session key: plan, policy, journal, signature, post, and the truth afterwards.
 *
 * What must hold: an intent (an id of the caller's) executes at most once, whatever fails. All versions that are signed
 * for it carry one nonce until that nonce is known never to execute; every step is in the journal before it is taken;
 * nothing is signed that the policy does not allow.
 */
import { type Address, isAddressEqual } from 'viem';
import type { ChainReader } from './chain.ts';
import { checkCoverOnChain } from './cover-listings.ts';
import { createFeeMemory } from './fee-memory.ts';
import { createHttp } from './http.ts';
import type { Journal } from './journal.ts';
import { type Entry, openLedger, openUntil, type Version } from './ledger.ts';
import { type Outcome, type Refused, type Settled, violation } from './outcome.ts';
import { readPlan } from './plan.ts';
import { checkFee, checkPlan } from './policy.ts';
import { type Pursued, pursue, type PursuitDeps } from './pursuit.ts';
import { feeRefused, MAX_VERSIONS, policyRefusal, tooMany } from './refusals.ts';
import { digestOf, kindName, replaced, type Signable, type Signer } from './signable.ts';
import { signed } from './signature.ts';
import type { Policy, Terms } from './terms.ts';
import { steadyMs, within } from './waits.ts';

export type Timing = {
  /** Milliseconds that one call of `run` or `settle` goes on for; then the outcome is `unknown`. */
  totalMs: number;
  /** For one post. The relayer itself waits up to 15 s for the transaction. */
  postTimeoutMs: number;
  getTimeoutMs: number;
  chainTimeoutMs: number;
  planTimeoutMs: number;
  signTimeoutMs: number;
  /** Between two looks at an action under way; doubles up to 5 s. */
  pollMs: number;
};

const TIMING: Timing = {
  totalMs: 120_000,
  postTimeoutMs: 30_000,
  getTimeoutMs: 10_000,
  chainTimeoutMs: 10_000,
  planTimeoutMs: 30_000,
  signTimeoutMs: 60_000,
  pollMs: 500,
};

export type RelayerClientOptions = {
  /** Base URL of the relayer, with its base path where there is one. */
  relayerUrl: string;
  policy: Policy;
  signer: Signer;
  journal: Journal;
  /**
   * With it the chain has the last word; without it the relayer is believed, and a take of cover is refused unless
   * `trustCoverPlans` of the policy allows it.
   */
  chain?: ChainReader;
  /** The relayer's first wallet: receipts of anybody else are not kept. */
  relayerSigner?: Address;
  timing?: Partial<Timing>;
  /** Instead of the global fetch. */
  fetch?: typeof fetch;
};

export type Intent = {
  /** Names one thing that is wanted, once: the same id never executes twice, in this process or a later one. */
  id: string;
  terms: Terms;
  /**
   * Asks the api for a plan (the JSON of `POST /v1/agent/trade` or `/cover`) with this network fee, in USDG base units.
   * Only called when something is to be signed; what it throws is thrown by `run`.
   */
  plan: (feeUsdg: bigint) => Promise<unknown>;
};

export type RelayerClient = {
  /**
   * Carries out an intent, or goes on with it where an earlier call or process left it. An intent that executed before
   * is answered with that execution; a refusal that says `rebuild` is followed by a new plan under the same nonce when
   * `run` is called again.
   * @throws JournalError or the journal's own error when a step cannot be written down: nothing is signed or posted then
   * @throws SignerError when the signer does not sign with its own key in time
   */
  run: (intent: Intent) => Promise<Outcome>;
  /** Finds out how an intent stands, without a new plan or signature; null for one that was never planned. */
  settle: (id: string) => Promise<Outcome | null>;
  /** `settle` for every intent without an end: what a host does after a restart. */
  recover: () => Promise<Outcome[]>;
};

/** Re-signs after a 402 in one call; the relayer keeps a quote, so that more point at a fault of it. */
const MAX_REQUOTES = 3;
const MAX_RUNNING = 1_000;

/**
 * Reads the journal; nothing is sent before `run`, `settle` or `recover`.
 * @throws JournalError when the journal contradicts itself
 */
export async function createRelayerClient(options: RelayerClientOptions): Promise<RelayerClient> {
  const timing = { ...TIMING, ...options.timing };
  const { policy, signer } = options;
  const chain = options.chain ?? null;
  const relayerUrl = options.relayerUrl.replace(/\/+$/, '');
  const http = createHttp({ ...timing, fetch: options.fetch ?? fetch });
  const ledger = await openLedger(options.journal, Date.now);
  const pursuit: PursuitDeps = {
    ...timing,
    http,
    chain,
    relayerUrl,
    relayerSigner: options.relayerSigner ?? null,
    onReceipt: async (id, receipt) => void (await ledger.accepted(id, receipt)),
  };
  const fees = createFeeMemory();
  for (const { type, kind, outcome } of ledger.all()) {
    const name = kindName(type, kind);
    if (outcome?.tag === 'executed' && name !== null) {
      fees.note(name, outcome.nextFee ?? outcome.fee);
    }
  }
  /** One call at a time for each intent: others share its outcome. */
  const running = new Map<string, { kind: 'run' | 'look'; outcome: Promise<Outcome | null> }>();

  const recorded = async (outcome: Outcome): Promise<Outcome> => {
    if (outcome.tag !== 'executed' && outcome.tag !== 'neverExecuted') return outcome;
    const { type, kind } = await ledger.settled(outcome.id, outcome satisfies Settled);
    const name = kindName(type, kind);
    if (outcome.tag === 'executed' && name !== null) {
      fees.note(name, outcome.nextFee ?? outcome.fee);
    }
    return outcome;
  };

  const versionOf = async (entry: Entry, signable: Signable): Promise<[Entry, Version]> => {
    const digest = digestOf(signable);
    const known = entry.versions.find((version) => version.digest === digest);
    if (known !== undefined) return [entry, known];
    const signature = await signed(signer, signable, digest, timing.signTimeoutMs);
    await ledger.signed(entry.id, { digest, signable, signature });
    const after = await ledger.submitted(entry.id, digest);
    return [after, { digest, signable, signature, submitted: true }];
  };

  /** Signs, posts, and re-signs with the fee that is asked for, within the host's cap. */
  const submit = async (planned: Entry, first: Signable, until: number): Promise<Outcome> => {
    let entry = planned;
    let signable = first;
    for (let quotes = 0; ; quotes += 1) {
      if (entry.versions.length >= MAX_VERSIONS) return tooMany(entry);
      const [current, version] = await versionOf(entry, signable);
      entry = current;
      const pursued = await pursue(pursuit, entry, version, 'post', until);
      if (pursued.tag === 'outcome') return await recorded(pursued.outcome);
      const next = payable(entry, pursued);
      if (next.tag === 'refused') return next;
      if (quotes >= MAX_REQUOTES) return feeRefused(entry, pursued.requiredFee, 'wait');
      signable = next.signable;
    }
  };

  /** The same action with the fee asked for, where the host pays it. */
  const payable = (
    entry: Entry,
    { requiredFee, version }: Extract<Pursued, { tag: 'fee' }>,
  ): { tag: 'pay'; signable: Signable } | Refused => {
    const name = kindName(entry.type, entry.kind);
    if (checkFee(requiredFee, policy) !== null || name === null || name === 'cover-cancel') {
      return feeRefused(entry, requiredFee, 'ask_host');
    }
    if (!isAddressEqual(entry.key, signer.address)) {
      return feeRefused(entry, requiredFee, 'wait');
    }
    fees.note(name, requiredFee);
    return { tag: 'pay', signable: replaced(version.signable, { fee: requiredFee }) };
  };

  const onChain = <T>(asked: Promise<T>) => within('the chain', timing.chainTimeoutMs, asked);

  const planNew = async ({ id, terms, plan }: Intent, open: Entry | null, until: number) => {
    const openTime = open === null ? null : openUntil(open);
    if (open !== null && open.versions.length >= MAX_VERSIONS) return tooMany(open);
    const recalled = fees.recall(terms.kind, policy.maxFee);
    const answer = await within('the plan', timing.planTimeoutMs, plan(recalled ?? 0n));
    const read = readPlan(terms.type, answer, policy.pins);
    if (!read.ok) return policyRefusal(id, violation('plan', read.problem), openTime);
    const now = chain === null ? Math.floor(Date.now() / 1_000) : await onChain(chain.time());
    const context = { policy, key: signer.address, relayerUrl, now };
    const against =
      checkPlan(read.plan, terms, context) ??
      checkNonce(read.plan.signable, open) ??
      (await onChain(checkCoverOnChain(read.plan.signable, terms, policy, chain)));
    if (against !== null) return policyRefusal(id, against, openTime);
    const signable = replaced(read.plan.signable, {
      ...(recalled === null ? {} : { fee: recalled }),
      ...(open === null ? {} : { nonce: open.nonce }),
    });
    const before = ledger.find(id);
    const attempt = open?.attempt ?? (before === null ? 0 : before.attempt + 1);
    return await submit(await ledger.planned(id, attempt, signable), signable, until);
  };

  /** A nonce of its own for a new attempt; for a further version the one of the attempt, which must still be valid. */
  const checkNonce = (signable: Signable, open: Entry | null) => {
    if (open === null) {
      return ledger.holderOf(signable) === null
        ? null
        : violation('nonce', 'was given to another intent before');
    }
    const { type, module, action } = signable;
    const same =
      type === open.type &&
      isAddressEqual(module, open.module) &&
      isAddressEqual(action.account, open.account) &&
      isAddressEqual(action.key, open.key) &&
      // Key and epoch of the grant are in the upper 96 bits (protocol rule 18).
      action.nonce >> 160n === open.nonce >> 160n;
    return same ? null : violation('nonce', 'is of another grant than the version that is out');
  };

  const resume = (entry: Entry, latest: Version, until: number): Promise<Pursued> =>
    pursue(pursuit, entry, latest, 'status', until);

  const work = async (intent: Intent): Promise<Outcome> => {
    const until = steadyMs() + timing.totalMs;
    const entry = ledger.find(intent.id);
    if (entry?.outcome?.tag === 'executed') return entry.outcome;
    const latest = entry?.outcome === null ? entry.versions.at(-1) : undefined;
    if (entry === null || latest === undefined) return await planNew(intent, null, until);
    const pursued = await resume(entry, latest, until);
    if (pursued.tag === 'fee') {
      const next = payable(entry, pursued);
      return next.tag === 'refused' ? next : await submit(entry, next.signable, until);
    }
    const outcome = await recorded(pursued.outcome);
    if (outcome.tag === 'neverExecuted') return await planNew(intent, null, until);
    const rebuilds = outcome.tag === 'refused' && outcome.next === 'rebuild';
    return rebuilds ? await planNew(intent, entry, until) : outcome;
  };

  const look = async (id: string): Promise<Outcome | null> => {
    const entry = ledger.find(id);
    if (entry === null || entry.outcome !== null) return entry?.outcome ?? null;
    const latest = entry.versions.at(-1);
    if (latest === undefined) {
      return await recorded({ tag: 'neverExecuted', id, reason: 'never_signed', hash: null });
    }
    const pursued = await resume(entry, latest, steadyMs() + timing.totalMs);
    return pursued.tag === 'fee'
      ? feeRefused(entry, pursued.requiredFee, 'resign_fee')
      : await recorded(pursued.outcome);
  };

  const alone = (
    id: string,
    kind: 'run' | 'look',
    start: () => Promise<Outcome | null>,
  ): Promise<Outcome | null> => {
    if (running.size >= MAX_RUNNING) throw new RangeError(`${MAX_RUNNING} intents are under way`);
    const outcome = start().finally(() => running.delete(id));
    running.set(id, { kind, outcome });
    return outcome;
  };

  const run = async (intent: Intent): Promise<Outcome> => {
    for (;;) {
      const known = running.get(intent.id);
      if (known === undefined) {
        const outcome = await alone(intent.id, 'run', () => work(intent));
        if (outcome !== null) return outcome;
      } else {
        const outcome = await known.outcome;
        // A look signs nothing: after it the intent is still to be carried out.
        if (known.kind === 'run' && outcome !== null) return outcome;
      }
    }
  };

  const settle = async (id: string): Promise<Outcome | null> =>
    await (running.get(id)?.outcome ?? alone(id, 'look', () => look(id)));

  return {
    run,
    settle,
    recover: async () => {
      const outcomes = await Promise.all(ledger.open().map(({ id }) => settle(id)));
      return outcomes.filter((outcome) => outcome !== null);
    },
  };
}
