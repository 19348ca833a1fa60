import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore, type Store } from '../../runtime/store/store.ts';
import {
  changeSince,
  keepSample,
  type NavSampleTables,
  navSampleMigrations,
  navsDayBefore,
} from './nav-samples.ts';
import type { Snapshot } from './snapshot.ts';

const vault = '0x0000000000000000000000000000000000000001';
const DAY = 86_400;
const T0 = 1_795_800_000;

let store: Store<NavSampleTables>;
beforeEach(async () => {
  store = await openStore<NavSampleTables>({
    url: 'file::memory:',
    migrations: navSampleMigrations,
  });
});
afterEach(() => store.close());

const at = (chainTime: number, nav: bigint | null): Snapshot => ({
  version: 1,
  chainTime,
  takenAtMs: 0,
  marks: new Map([
    [vault, { nav, reference: { ok: false, reason: 'NoPool' }, prices: [], feeIndex: 1n }],
  ]),
  ethPrice: null,
  paused: false,
  basketCount: 1,
});

describe('NAV samples', () => {
  it('give no change before there are 24 hours of them', async () => {
    await keepSample(store.db, at(T0, 100n));
    expect(await navsDayBefore(store.db, T0 + DAY - 120)).toEqual(new Map());
    expect(changeSince(100n, undefined)).toBeNull();
    expect((await navsDayBefore(store.db, T0 + DAY)).get(vault)).toBe(100n);
  });

  it('take the nearest sample at or before 24 hours ago, and bridge a gap of half an hour', async () => {
    await keepSample(store.db, at(T0, 100n));
    await keepSample(store.db, at(T0 + 600, 110n));
    const navAt = async (time: number) => (await navsDayBefore(store.db, time)).get(vault);
    expect(await navAt(T0 + DAY + 599)).toBe(100n);
    expect(await navAt(T0 + DAY + 600)).toBe(110n);
    expect(await navAt(T0 + DAY + 600 + 1_800)).toBe(110n);
    expect(await navAt(T0 + DAY + 600 + 1_860)).toBeUndefined();
  });

  it('keep the first of a minute, and nothing where there is no NAV', async () => {
    await keepSample(store.db, at(T0, 100n));
    await keepSample(store.db, at(T0 + 30, 200n));
    await keepSample(store.db, at(T0 + 60, null));
    const rows = await store.db.selectFrom('nav_sample').selectAll().execute();
    expect(rows).toEqual([{ vault, minute: T0, nav: '100' }]);
  });

  it('give a change as a fraction', () => {
    expect(changeSince(1_012n * 10n ** 18n, 1_000n * 10n ** 18n)).toBe(0.012);
    expect(changeSince(900n, 1_000n)).toBe(-0.1);
    expect(changeSince(null, 1_000n)).toBeNull();
    expect(changeSince(1n, 0n)).toBeNull();
  });
});
