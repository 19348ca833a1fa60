/** Refusals that the client itself makes. */
import { type Entry, openUntil } from './ledger.ts';
import type { Refused, Violation } from './outcome.ts';

/** Signatures under one nonce. */
export const MAX_VERSIONS = 32;

export function policyRefusal(
  id: string,
  { field, reason, next = 'ask_host' }: Violation,
  openUntil: number | null,
): Refused {
  return {
    tag: 'refused',
    id,
    by: 'policy',
    code: 'POLICY',
    message: `${field}: ${reason}`,
    next,
    retryAfterSeconds: null,
    openUntil,
  };
}

/** A 402 that is not followed: `ask_host` where the fee is above the host's cap. */
export function feeRefused(entry: Entry, fee: bigint, next: Refused['next']): Refused {
  return {
    tag: 'refused',
    id: entry.id,
    by: next === 'ask_host' ? 'policy' : 'relayer',
    code: 'FEE_REQUIRED',
    message: `the relayer asks for ${fee} USDG base units`,
    next,
    retryAfterSeconds: null,
    openUntil: openUntil(entry),
  };
}

export function tooMany(entry: Entry): Refused {
  return {
    tag: 'refused',
    id: entry.id,
    by: 'policy',
    code: 'TOO_MANY_VERSIONS',
    message: `${MAX_VERSIONS} versions were signed under one nonce: wait until their deadlines are past`,
    next: 'wait',
    retryAfterSeconds: null,
    openUntil: openUntil(entry),
  };
}
