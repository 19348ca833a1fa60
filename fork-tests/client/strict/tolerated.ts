/**
 * What the strict parser lets go, all of it: fields that may be missing from an answer, by route. Each is optional in
 * wire.md (`?`), an extra field of ours, or an entry of a map whose keys no document fixes.
 */
const PLAN = ['asOfBlock', 'expiresAt', 'fees', 'simulation', 'simulation.gas', 'warnings'];
/** Where an approval may be needed. */
const APPROVED = [...PLAN, 'simulation.afterApproval', 'simulation.afterApproval.gas'];
/** Optional each, though all but the last are there with any candle. */
const SUMMARY = [
  'change',
  'from',
  'high',
  'last',
  'low',
  'maxDrawdown',
  'open',
  'to',
  'volatility',
].map((key) => `summary.${key}`);
/** Extra fields of a session. */
const SESSION = ['accountPaused', 'coverDailyLimitUsdg'];
/** The same in a plan for an agent, beside what some signers ask for. */
const UNSIGNED = [...SESSION.map((name) => `status.${name}`), 'typedData.types.EIP712Domain'];
const STAMP = ['asOfMs', 'live'];

export const MAY_BE_MISSING: Readonly<Record<string, readonly string[]>> = sorted({
  'GET /': ['docs', 'endpoints.*', 'mcp', 'url'],
  'GET /v1/baskets/{ticker}': STAMP,
  'GET /v1/indexes/{ticker}': STAMP,
  'GET /v1/markets': ['prices.*'],
  'GET /v1/wallet/{address}': ['note'],
  'GET /v1/orders/{address}': ['asOfBlock', 'orders.*.deadline'],
  'GET /v1/strategies/{address}': ['asOfBlock', 'strategies.*.type'],
  'GET /v1/jobs': ['jobs.*.slot', 'jobs.*.vault'],
  'GET /v1/nav/{ticker}/history': SUMMARY,
  'GET /v1/leverage/sell-routes': ['asOfBlock', 'grossUsdg', 'legs.*.expectedUsdg'],
  'GET /v1/cover/book/{ticker}': ['asOfBlock', 'capLeftUsd', 'note'],
  'GET /v1/cover/positions/{account}': [
    'asOfBlock',
    'credit',
    'positions.*.closeNav',
    'positions.*.id',
    'positions.*.settleNav',
  ],
  'GET /v1/cover/payouts': ['payouts.*.positions'],
  'POST /v1/tx/buy': APPROVED,
  'POST /v1/tx/sell': APPROVED,
  'POST /v1/tx/exit': [...APPROVED, 'deadline'],
  'POST /v1/tx/limit': [...APPROVED, 'deadline', 'simulation.afterApproval.reason'],
  'POST /v1/tx/redeem': [...PLAN, 'receives'],
  'POST /v1/tx/cancel': PLAN,
  'POST /v1/tx/schedule': [...APPROVED, 'deadline', 'everySeconds', 'kind', 'note', 'totalUsdg'],
  'GET /v1/agent/session': SESSION,
  'POST /v1/agent/trade': UNSIGNED,
  'POST /v1/agent/cover': [...UNSIGNED, 'offers', 'summary.returned'],
});

function sorted(table: Record<string, string[]>): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(table).map(([route, names]) => [route, names.toSorted()]),
  );
}

/** Fields of the documents that no answer here has, and why. */
export const NOT_SEEN: readonly string[] = [
  // Of an account with hundreds of positions or listings.
  'GET /v1/cover/positions/{account} note',
  // A node without eth_simulateV1.
  'plans simulation.afterApproval.skipped',
];
