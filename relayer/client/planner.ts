/** Asks an api of this wire format for the plan of an intent. */
import type { Address } from 'viem';
import { USD } from '../../contracts-abi/constants.ts';
import { formatDecimal, toNumber } from '../../contracts-abi/rounding.ts';
import { boundedText } from './bounded-text.ts';
import type { Terms } from './terms.ts';

/** The api refused, or did not answer: nothing was planned. `code` and `next` as the api gave them (wire.md, Errors). */
export class PlanError extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryable: boolean;

  constructor(message: string, fields: { status: number; code: string; retryable: boolean }) {
    super(message);
    this.name = 'PlanError';
    this.status = fields.status;
    this.code = fields.code;
    this.retryable = fields.retryable;
  }
}

export type PlannerOptions = {
  /** Base URL of the api, with its base path where there is one. */
  apiUrl: string;
  owner: Address;
  key: Address;
  timeoutMs?: number;
  fetch?: typeof fetch;
};

/**
 * @returns the plan's JSON as it came: what is in it is for the policy to judge.
 * @throws PlanError
 * @example const plan = createPlanner({ apiUrl, owner, key: signer.address });
 *   await relayer.run({ id, terms, plan: (fee) => plan(terms, fee) });
 */
export function createPlanner({
  apiUrl,
  owner,
  key,
  timeoutMs = 15_000,
  fetch: send = fetch,
}: PlannerOptions): (terms: Terms, feeUsdg: bigint) => Promise<unknown> {
  const base = apiUrl.replace(/\/+$/, '');
  return async (terms, feeUsdg) => {
    const path = terms.type === 'trade' ? '/v1/agent/trade' : '/v1/agent/cover';
    const body = JSON.stringify({ owner, key, ...requestOf(terms), feeUsdg: feeUsdg.toString() });
    let response: Response;
    let text: string | null;
    try {
      response = await send(`${base}${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
        // Plans come from the api that the host named, and from nobody whom it names.
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      });
      text = await boundedText(response);
    } catch {
      // Expected: no connection, or no answer in time. A plan changes nothing: asking again is safe.
      throw new PlanError('the api did not answer', {
        status: 0,
        code: 'UNREACHABLE',
        retryable: true,
      });
    }
    const json = text === null ? null : parsed(text);
    if (response.ok && json !== null) return json;
    throw planError(response.status, json);
  };
}

/** The fields of the agent routes (interface.md section 4). */
function requestOf(terms: Terms): Record<string, unknown> {
  switch (terms.kind) {
    case 'buy': {
      const { ticker, budget, slippageBps } = terms;
      return { ticker, side: 'buy', amountUsdg: toNumber(budget, 6), slippageBps };
    }
    case 'sell': {
      const { ticker, shares, slippageBps } = terms;
      return { ticker, side: 'sell', shares: shares.toString(), slippageBps };
    }
    case 'cover-take': {
      const { ticker, week, fromBps, toBps, allowPartial, maxPricePer1k } = terms;
      return {
        action: 'take',
        ticker,
        week,
        fromBps,
        toBps,
        coverUsd: Number(terms.coverUsd),
        allowPartial,
        ...(maxPricePer1k === undefined ? {} : { maxPricePer1k: dollars(maxPricePer1k) }),
      };
    }
    case 'cover-request': {
      const { ticker, week, fromBps, toBps } = terms;
      return {
        action: 'request',
        ticker,
        week,
        fromBps,
        toBps,
        coverUsd: Number(terms.coverUsd),
        pricePer1k: dollars(terms.pricePer1k),
      };
    }
    case 'cover-cancel':
      return { action: 'cancel', listingId: terms.listingId.toString() };
  }
  return terms satisfies never;
}

/** USDG base units as a JSON number of dollars: exact, since prices are whole cents. */
function dollars(amount: bigint): number {
  if (amount % (USD / 100n) !== 0n) {
    throw new RangeError(`${formatDecimal(amount, 6)}: prices of cover are whole cents`);
  }
  return toNumber(amount, 6);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // expected: a proxy answers in its own words
    return null;
  }
}

function planError(status: number, body: unknown): PlanError {
  const said = typeof body === 'object' && body !== null ? body : {};
  const { error, code, retryable } = said as Record<string, unknown>;
  return new PlanError(typeof error === 'string' ? error : `the api answered ${status}`, {
    status,
    code: typeof code === 'string' ? code : 'UNEXPECTED',
    retryable: typeof retryable === 'boolean' ? retryable : status >= 500 || status === 429,
  });
}
