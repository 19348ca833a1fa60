import type { Hex } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { IntentState } from '../runtime/sender/types.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import { createGasBudget } from './gas-budget.ts';
import { type RelayTables, relayMigrations } from './migrations.ts';

const hash: Hex = `0x${'01'.repeat(32)}`;
const spent = (tag: 'mined' | 'reverted', gasUsed: bigint): IntentState => ({
  tag,
  wallet: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  nonce: 0,
  hash,
  blockNumber: 1n,
  blockHash: hash,
  gasUsed,
  effectiveGasPrice: 2n,
  confirmed: false,
});

describe('createGasBudget', () => {
  let store: Store<RelayTables>;
  let now = 0;

  beforeEach(async () => {
    now = 86_400_000 * 20_000 + 5_000;
    store = await openStore<RelayTables>({ url: 'file::memory:', migrations: relayMigrations });
  });
  afterEach(async () => {
    await store.close();
  });
  const budgetOf = (wei: bigint) => createGasBudget(store.db, wei, () => now);

  it('counts each intent once, reverts too, whatever is reported again', async () => {
    const budget = budgetOf(100n);
    await Promise.all([
      budget.record('a', spent('mined', 20n)),
      budget.record('a', spent('mined', 20n)),
      budget.record('b', spent('reverted', 25n)),
      budget.record('c', { tag: 'queued' }),
    ]);
    expect(budget.spentWei()).toBe(90n);
    expect(budget.exhausted()).toBe(false);
    await budget.record('a', spent('mined', 25n)); // mined elsewhere after a reorg
    expect(budget.spentWei()).toBe(100n);
    expect(budget.exhausted()).toBe(true);
  });

  it('survives a restart and begins anew with the UTC day', async () => {
    await budgetOf(10n).record('a', spent('mined', 5n));
    const budget = budgetOf(10n);
    expect(budget.exhausted()).toBe(false);
    await budget.load();
    expect(budget.exhausted()).toBe(true);
    expect(budget.secondsToReset()).toBe(86_395);
    now += 86_400_000;
    expect(budget.exhausted()).toBe(false);
    await budget.record('b', spent('mined', 1n));
    expect(budget.spentWei()).toBe(2n);
  });
});
