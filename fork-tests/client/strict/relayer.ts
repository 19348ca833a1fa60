/** What the relayer answers to a signed action (wire.md, Relayer). */
import { addr, count, flag, hash, hex, unixSeconds, wei, words } from './formats.ts';
import { type Infer, literal, object, ruled, type Shape } from './shape.ts';

const receipt = object({
  slot: object({ module: addr, account: addr, nonce: wei }),
  digest: hash,
  acceptedAt: unixSeconds,
  signer: addr,
  signature: hex(65),
});

const mined = object(
  { ok: literal(true), hash, blockNumber: count, gasUsed: count },
  {
    optional: { requiredFee: wei },
    ours: { digest: hash, receipt },
    absent: ['code', 'error', 'status'],
  },
);

const pending = object(
  { ok: literal(true), status: literal('pending'), hash, digest: hash },
  { ours: { receipt } },
);

const feeRequired = object(
  {
    ok: literal(false),
    error: words,
    code: literal('FEE_REQUIRED'),
    retryable: literal(false),
    requiredFee: wei,
    quoteExpiresAt: unixSeconds,
    next: literal('resign_fee'),
  },
  { ours: { check: literal('fee') } },
);

type Row = { status: number; retryable: boolean; next: string };

const row = (status: number, next: string, retryable = false): Row => ({ status, retryable, next });

/** Code to status, `next` and whether the same body may be sent again. */
const REFUSALS = {
  BAD_REQUEST: row(400, 'rebuild'),
  BAD_SIGNATURE: row(401, 'rebuild'),
  SESSION_INACTIVE: row(403, 'ask_owner'),
  SESSION_LIMIT: row(403, 'ask_owner'),
  NONCE_USED: row(409, 'reconcile'),
  SLOT_TAKEN: row(409, 'wait'),
  EXPIRED: row(410, 'rebuild'),
  SIMULATION_FAILED: row(422, 'rebuild'),
  INSUFFICIENT_FUNDS: row(422, 'rebuild'),
  INSUFFICIENT_SHARES: row(422, 'rebuild'),
  NO_REFERENCE: row(422, 'rebuild'),
  NOT_A_HOLDER: row(422, 'rebuild'),
  NO_COVER: row(422, 'rebuild'),
  COVER_CLOSED: row(422, 'rebuild'),
  ORDER_NOT_OPEN: row(422, 'rebuild'),
  RATE_LIMITED: row(429, 'wait', true),
  PAUSED: row(503, 'wait', true),
  SERVER: row(500, 'reconcile', true),
  UPSTREAM: row(502, 'reconcile', true),
} satisfies Record<string, Row>;

type RefusalCode = keyof typeof REFUSALS;
const CODES = Object.keys(REFUSALS) as RefusalCode[];
const STEPS = ['rebuild', 'ask_owner', 'reconcile', 'wait'] as const;

const refusal = (status: number) =>
  ruled(
    object(
      {
        ok: literal(false),
        error: words,
        code: literal(...CODES),
        retryable: flag,
        next: literal(...STEPS),
      },
      {
        optional: { hash, digest: hash },
        ours: { check: words, state: words, revert: words, receipt },
      },
    ),
    ({ code, retryable, next }) => {
      const wanted = REFUSALS[code];
      if (wanted.status !== status) return `${code} with ${status}`;
      if (wanted.next !== next) return `${code} is followed by ${wanted.next}, not ${next}`;
      return wanted.retryable === retryable ? undefined : `${code} is not retryable: ${retryable}`;
    },
  );

const uncertain = object(
  {
    ok: literal(false),
    error: words,
    code: literal('UNCERTAIN'),
    retryable: flag,
    hash,
    digest: hash,
    next: literal('reconcile'),
  },
  { ours: { receipt } },
);

export type Mined = Infer<typeof mined>;

const BY_STATUS: Record<number, Shape<unknown>> = {
  200: mined,
  202: pending,
  402: feeRequired,
  504: uncertain,
};

/** What the relayer may answer to a posted action under this status. */
export function relayed(status: number): Shape<unknown> {
  return BY_STATUS[status] ?? refusal(status);
}
export { feeRequired, mined };
