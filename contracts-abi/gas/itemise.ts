import type { Figures } from './measure.ts';

/** One call of a trace: what it used with everything below it, who was called, and what for. */
type Call = { depth: number; gas: number; callee: string; name: string; calls: Call[] };

export type Items = Map<string, number>;

/** What each part of one measured trade cost, before refunds; the refund is a part of its own. */
export function itemise(account: string, test: string, figures: Figures, trade: string): Items {
  const roots = callsOf(account, test);
  const bare = trade.endsWith('bare swaps');
  const root = roots.find(({ name }) => (name === 'multicall') === bare && isTrade(name));
  const total = figures[trade];
  const refund = figures[`${trade}, refunded`];
  const intrinsic = figures[`${trade}, intrinsic`];
  if (
    root === undefined ||
    total === undefined ||
    refund === undefined ||
    intrinsic === undefined
  ) {
    throw new Error(`${trade}: not in forge's account`);
  }
  const items: Items = new Map([['transaction and calldata', intrinsic]]);
  const own = total + refund - intrinsic - sum(root.calls);
  if (own < 0) throw new Error(`${trade}: its trace does not add up`);
  add(items, bare ? 'swaps' : 'signature, grant, nonce, usage, event', own);
  for (const call of root.calls) place(items, call, [root]);
  add(items, 'refund', -refund);
  return items;
}

function isTrade(name: string): boolean {
  return name === 'execute' || name === 'fill' || name === 'multicall';
}

function place(items: Items, call: Call, above: Call[]): void {
  const within = (name: string) => above.some((outer) => outer.name === name);
  if (call.callee === 'SwapRouter02' || within('multicall')) {
    add(items, 'swaps', call.gas);
    return;
  }
  add(items, rowOf(call, above, within), call.gas - sum(call.calls));
  for (const inner of call.calls) place(items, inner, [...above, call]);
}

function rowOf(call: Call, above: Call[], within: (name: string) => boolean): string {
  const inZapper = within('buy') || within('buyExact') || within('sell');
  const inVault = within('mintOnPayment') || within('mint') || within('redeem');
  const inOracle = ['navs', 'navsOnce', 'referenceNav', 'spotNav'].some(
    (name) => call.name === name || within(name),
  );
  if (inOracle) {
    if (call.name === 'observations' || call.name === 'observe') return 'reference: observations';
    if (call.name === 'slot0' || call.name === 'liquidity') return 'reference: slot0, liquidity';
    return 'reference: arithmetic, composition';
  }
  if (call.name === 'approve') {
    return inZapper ? 'zapper: allowance of the router' : 'allowance of the zapper';
  }
  if (call.name === 'balanceOf' || call.name === 'allowance') {
    if (inVault) return 'vault: balances around a mint';
    return inZapper ? 'zapper: balances around a swap' : 'balances of the account';
  }
  if (call.name === 'transferFrom' || call.name === 'transfer') {
    if (inVault) return 'vault: constituents in or out';
    if (!inZapper) return 'payments to owner, relayer, executor';
    return above.at(-1)?.name === 'sell' || call.name === 'transfer'
      ? 'zapper: shares in, fee and rest out'
      : 'zapper: USDG in';
  }
  if (call.name === 'mintOnPayment' || call.name === 'mint' || call.name === 'redeem') {
    return 'vault: fee accrual, shares, event';
  }
  if (call.name === 'payForMint') return 'vault: constituents in or out';
  if (inZapper || call.name === 'buy' || call.name === 'buyExact' || call.name === 'sell') {
    return 'zapper: decoding, checks, ledger';
  }
  if (call.name.startsWith('exec') || call.name === 'isOwner') return 'calls through the Safe';
  return 'signature, grant, nonce, usage, event';
}

/** The test's own calls, as a forest. */
function callsOf(account: string, test: string): Call[] {
  const from = account.indexOf(`[PASS] ${test}()`);
  const next = account.indexOf('\n[PASS]', from + 1);
  const lines = account.slice(from, next === -1 ? undefined : next).split('\n');
  const top: Call = { depth: -1, gas: 0, callee: '', name: '', calls: [] };
  const open: Call[] = [top];
  for (const line of lines) {
    const match = /^([\s│├└─]*)\[(\d+)\] (.+?)::(\w+)/.exec(line);
    if (match === null) continue;
    const [, indent = '', gas = '0', callee = '', name = ''] = match;
    const call: Call = { depth: indent.length, gas: Number(gas), callee, name, calls: [] };
    while ((open.at(-1)?.depth ?? -1) >= call.depth) open.pop();
    open.at(-1)?.calls.push(call);
    open.push(call);
  }
  // Below the test function itself.
  return top.calls.flatMap(({ calls }) => calls);
}

function sum(calls: Call[]): number {
  return calls.reduce((total, { gas }) => total + gas, 0);
}

function add(items: Items, row: string, gas: number): void {
  items.set(row, (items.get(row) ?? 0) + gas);
}
