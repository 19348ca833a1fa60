/**
 * From a signed version to its end: post, and on any doubt ask the status route, the chain and the same body again,
 * until somebody can say or the time is up. What must hold: nothing is signed here; the bytes that are posted again are
 * the bytes that were posted; "never executed" is only said of a nonce whose every version is past its deadline unused,
 * or that another action used.
 */
import { type Address, type Hex, isAddressEqual } from 'viem';
import { type Receipt, verifyReceipt } from '../receipt.ts';
import {
  type Answer,
  classify,
  type NonceReport,
  readNonce,
  readStatus,
  receiptIn,
  type Reply,
} from './answer.ts';
import type { ChainReader } from './chain.ts';
import type { Http } from './http.ts';
import { type Entry, openUntil, type Version } from './ledger.ts';
import type { NeverExecuted, Outcome, Refused } from './outcome.ts';
import { routeOf, toJson } from './signable.ts';
import { sleep, steadyMs, within } from './waits.ts';

export type PursuitDeps = {
  http: Http;
  chain: ChainReader | null;
  relayerUrl: string;
  /** Milliseconds: between two looks, and for one question to the chain. */
  pollMs: number;
  chainTimeoutMs: number;
  /** Who signs the relayer's receipts, where the host knows. */
  relayerSigner: Address | null;
  /** Writes down a receipt that holds. */
  onReceipt: (id: string, receipt: Receipt) => Promise<void>;
};

/** An outcome, or the fee that the relayer asks for: then nothing was sent. */
export type Pursued =
  | { tag: 'outcome'; outcome: Outcome }
  | { tag: 'fee'; requiredFee: bigint; version: Version };

/** What a look found; `go_on`: nobody can say yet. */
type Found = Pursued | { tag: 'go_on'; why: string };

/** Which version ran, in which transaction. */
type Execution = { digest: Hex; hash: Hex };

const MAX_POLL_MS = 5_000;

/**
 * @param from `post` for a version that was just signed; `status` where it may have been posted before.
 * @param until by `steadyMs`.
 */
export async function pursue(
  deps: PursuitDeps,
  entry: Entry,
  first: Version,
  from: 'post' | 'status',
  until: number,
): Promise<Pursued> {
  const pursuit = new Pursuit(deps, entry, first);
  let pause = deps.pollMs;
  let asked = from === 'status';
  for (;;) {
    const found = asked ? await pursuit.look() : await pursuit.post();
    if (found.tag !== 'go_on') {
      const waitMs = retryIn(found, until);
      if (waitMs === null) return found;
      await sleep(waitMs);
      asked = true;
      continue;
    }
    const left = until - steadyMs();
    if (left <= 0) return { tag: 'outcome', outcome: pursuit.unknown(found.why) };
    await sleep(Math.min(pause, left));
    pause = Math.min(pause * 2, MAX_POLL_MS);
    asked = true;
  }
}

/** "Wait and retry" is followed while its wait fits; null for everything else. */
function retryIn(found: Pursued, until: number): number | null {
  if (found.tag !== 'outcome' || found.outcome.tag !== 'refused') return null;
  const { by, next, retryAfterSeconds } = found.outcome;
  if (by !== 'relayer' || next !== 'wait' || retryAfterSeconds === null) return null;
  const waitMs = Math.max(50, retryAfterSeconds * 1_000);
  return steadyMs() + waitMs < until ? waitMs : null;
}

class Pursuit {
  readonly #deps: PursuitDeps;
  readonly #entry: Entry;
  /** The version that is followed: the newest, unless the relayer holds an earlier one. */
  #version: Version;
  #hash: Hex | null = null;
  #receipt: Receipt | null;

  constructor(deps: PursuitDeps, entry: Entry, version: Version) {
    this.#deps = deps;
    this.#entry = entry;
    this.#version = version;
    this.#receipt = entry.receipt;
  }

  /** The status route, then the chain, then the same body. */
  async look(): Promise<Found> {
    const { http, relayerUrl } = this.#deps;
    const reply = await http.get(`${relayerUrl}/relay/v1/actions/${this.#version.digest}`);
    await this.#keepReceipt(reply);
    const seen = readStatus(reply);
    this.#hash = seen?.hash ?? this.#hash;
    if (seen?.status === 'mined' && seen.hash !== null) {
      return await this.#said({ digest: this.#version.digest, hash: seen.hash }, null);
    }
    const end = await this.#chainSays();
    if (end !== null) return end;
    // Without a chain to ask, "accepted" has an end only in the answer to a post: one that expired unsent stays so.
    const waits = seen?.status === 'accepted' && this.#deps.chain !== null;
    if (seen?.status === 'pending' || waits) {
      return { tag: 'go_on', why: `the relayer says ${seen.status}` };
    }
    return await this.post();
  }

  /** Posts the bytes of the version as they were signed. */
  async post(): Promise<Found> {
    const { signable, signature } = this.#version;
    const url = `${this.#deps.relayerUrl}${routeOf(signable.type)}`;
    const body = JSON.stringify({ action: toJson(signable).action, signature });
    const reply = await this.#deps.http.post(url, body);
    await this.#keepReceipt(reply);
    return await this.#heard(classify(reply));
  }

  unknown(why: string): Outcome {
    const { id, nonce } = this.#entry;
    return {
      tag: 'unknown',
      id,
      digest: this.#version.digest,
      hash: this.#hash,
      nonce,
      openUntil: openUntil(this.#entry),
      receipt: this.#receipt,
      message: `${why}; settle or run this intent again later, and build nothing else for it before`,
    };
  }

  async #heard(answer: Answer): Promise<Found> {
    switch (answer.tag) {
      case 'mined':
        return await this.#said(
          { digest: this.#version.digest, hash: answer.hash },
          answer.nextFee,
        );
      case 'pending':
        this.#hash = answer.hash;
        return { tag: 'go_on', why: 'broadcast, not mined yet' };
      case 'fee':
        return { tag: 'fee', requiredFee: answer.requiredFee, version: this.#version };
      case 'nonce_used':
        return await this.#used(
          answer.executedDigest === null || answer.hash === null
            ? null
            : { digest: answer.executedDigest, hash: answer.hash },
        );
      case 'taken':
        return this.#taken(answer);
      case 'doubt':
        this.#hash = answer.hash ?? this.#hash;
        return (await this.#chainSays()) ?? { tag: 'go_on', why: answer.why };
      case 'refused':
        if (answer.next === 'reconcile') return { tag: 'go_on', why: answer.message };
        return (await this.#expired(answer)) ?? this.#refused(answer);
    }
    return answer satisfies never;
  }

  /** A version of ours is the slot's: that one is followed. Another's: nothing to do before the deadline. */
  #taken({ digest, message }: Extract<Answer, { tag: 'taken' }>): Found {
    const ours = this.#entry.versions.find((version) => version.digest === digest);
    if (ours !== undefined && ours.digest !== this.#version.digest) {
      this.#version = ours;
      return { tag: 'go_on', why: 'the relayer holds an earlier version' };
    }
    return this.#refused({ code: 'SLOT_TAKEN', message, next: 'wait', retryAfterSeconds: null });
  }

  #refused(
    answer: Pick<Refused, 'code' | 'message' | 'next' | 'retryAfterSeconds'>,
  ): Extract<Found, { tag: 'outcome' }> {
    const { code, message, next, retryAfterSeconds } = answer;
    const { id } = this.#entry;
    return {
      tag: 'outcome',
      outcome: {
        tag: 'refused',
        id,
        by: 'relayer',
        code,
        message,
        next,
        retryAfterSeconds,
        openUntil: openUntil(this.#entry),
      },
    };
  }

  /** What the relayer calls executed, once the chain shows it where there is a chain to ask: its event comes before his word. */
  async #said(said: Execution, nextFee: bigint | null): Promise<Found> {
    const { chain } = this.#deps;
    if (chain === null) return this.#ended(said, nextFee);
    const state = await this.#ask(chain.nonce(this.#entry));
    this.#hash = said.hash;
    if (state === null) return { tag: 'go_on', why: 'said to be mined; the chain is out of reach' };
    if (!state.used) return { tag: 'go_on', why: 'said to be mined; the chain does not show it' };
    return this.#ended((await this.#ask(chain.execution(this.#entry))) ?? said, nextFee);
  }

  #ended({ digest, hash }: Execution, nextFee: bigint | null): Found {
    const version = this.#entry.versions.find((candidate) => candidate.digest === digest);
    if (version === undefined) return this.#never('nonce_used_elsewhere', hash);
    const { fee } = version.signable.action;
    const { id } = this.#entry;
    return { tag: 'outcome', outcome: { tag: 'executed', id, hash, digest, fee, nextFee } };
  }

  #never(reason: NeverExecuted['reason'], hash: Hex | null): Extract<Found, { tag: 'outcome' }> {
    return { tag: 'outcome', outcome: { tag: 'neverExecuted', id: this.#entry.id, reason, hash } };
  }

  /** The end as the chain has it; null while there is none, or nobody to ask. */
  async #chainSays(): Promise<Found | null> {
    const { chain } = this.#deps;
    if (chain === null) return null;
    const state = await this.#ask(chain.nonce(this.#entry));
    if (state === null) return null;
    if (!state.used) {
      return state.time > openUntil(this.#entry) ? this.#never('expired', null) : null;
    }
    return await this.#used(null);
  }

  /** The nonce is used: the chain's events come before the relayer's word, with its answer or of its nonce route. */
  async #used(said: Execution | null): Promise<Found> {
    const { chain } = this.#deps;
    const shown = chain === null ? null : await this.#ask(chain.execution(this.#entry));
    if (shown !== null) return this.#ended(shown, null);
    const found = said ?? (await this.#nonceRoute())?.executed ?? null;
    if (found !== null) return await this.#said(found, null);
    return { tag: 'go_on', why: 'the nonce is used; by which action is not known' };
  }

  /** Null where the answer is not of our module: nonces are per module, and a route without it tells of trades. */
  async #nonceRoute(): Promise<NonceReport | null> {
    const { type, module, account, nonce } = this.#entry;
    const path = `/relay/v1/account/${account}/nonce/${nonce}?module=${module}`;
    const report = readNonce(await this.#deps.http.get(`${this.#deps.relayerUrl}${path}`));
    if (report === null) return null;
    const ours = report.module === null ? type === 'trade' : isAddressEqual(report.module, module);
    return ours ? report : null;
  }

  /** The relayer's word that it has the version, kept once it is known to be signed by it. */
  async #keepReceipt(reply: Reply): Promise<void> {
    const given = receiptIn(reply);
    const { digest } = this.#version;
    if (given === null || this.#receipt?.digest === digest) return;
    const verdict = await verifyReceipt(given, {
      digest,
      ...(this.#deps.relayerSigner === null ? {} : { signer: this.#deps.relayerSigner }),
    });
    // One that does not hold proves nothing, and says nothing about the action either.
    if (!verdict.ok) return;
    this.#receipt = verdict.receipt;
    await this.#deps.onReceipt(this.#entry.id, verdict.receipt);
  }

  /** Refused as expired: the end, if the chain's time is past every version's deadline and the nonce is unused. */
  async #expired(answer: Extract<Answer, { tag: 'refused' }>): Promise<Found | null> {
    if (answer.code !== 'EXPIRED') return null;
    if (this.#deps.chain !== null) return await this.#chainSays();
    if (answer.chainTime === null || answer.chainTime <= openUntil(this.#entry)) return null;
    return (await this.#nonceRoute())?.used === false ? this.#never('expired', null) : null;
  }

  /** Null when the chain did not answer in time: expected, and the next look asks again. */
  async #ask<T>(question: Promise<T>): Promise<T | null> {
    try {
      return await within('the chain', this.#deps.chainTimeoutMs, question);
    } catch {
      return null;
    }
  }
}
