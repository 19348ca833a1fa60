import { expect, it } from 'vitest';
import { known, OURS } from './firewall/fixture.ts';
import { admitMadeUp, keepWarm } from './warm-up.ts';

it('goes the whole way of a job that is admitted, of every type and over both ways to a token', () => {
  const admitted = [0, 10, 20].flatMap((number) => admitMadeUp(known, OURS, number));
  expect(admitted).toHaveLength(30);
  expect(new Set(admitted.map(({ type }) => type))).toEqual(new Set(['sell', 'limit', 'schedule']));
  expect(new Set(admitted.map(({ key }) => key)).size).toBe(30);
  expect(new Set(admitted.map(({ data }) => data.length)).size).toBe(3);
});

it('ends when it is told to, with and without baskets', async () => {
  const ending = new AbortController();
  const none = { ...known, vaults: new Map(), tokens: new Set<never>() };
  const both = Promise.all([
    keepWarm(() => known, ending.signal),
    keepWarm(() => none, ending.signal),
  ]);
  ending.abort();
  await both;
});
