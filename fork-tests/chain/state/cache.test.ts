import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readCache, writeCache } from './cache.ts';
import { stateKey } from './key.ts';
import { seededChain } from './load.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chain-cache-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the cached chain', () => {
  test('comes back as it was written', async () => {
    const chain = await seededChain();
    await writeCache(folder, 'a1', chain);
    expect(await readCache(folder, 'a1')).toEqual({ tag: 'hit', chain });
  });

  test('is a miss under another key', async () => {
    await writeCache(folder, 'a1', await seededChain());
    expect(await readCache(folder, 'a2')).toEqual({ tag: 'miss' });
  });

  test('is seen to be damaged by one changed byte, a cut, and an empty file', async () => {
    await writeCache(folder, 'a1', await seededChain());
    const path = join(folder, 'chain-a1.json');
    const whole = await readFile(path, 'utf8');
    const middle = Math.floor(whole.length / 2);
    const changed = `${whole.slice(0, middle)}${whole[middle] === '0' ? '1' : '0'}${whole.slice(middle + 1)}`;
    for (const damaged of [changed, whole.slice(0, middle), '']) {
      await writeFile(path, damaged);
      expect((await readCache(folder, 'a1')).tag).toBe('corrupt');
    }
  });

  test('two writers at once leave one whole file and no other', async () => {
    const chain = await seededChain();
    await Promise.all([1, 2, 3, 4].map(() => writeCache(folder, 'b1', chain)));
    expect(await readdir(folder)).toEqual(['chain-b1.json']);
    expect((await readCache(folder, 'b1')).tag).toBe('hit');
  });

  test('keeps only the newest few', async () => {
    const chain = await seededChain();
    for (const key of ['c1', 'c2', 'c3', 'c4', 'c5']) await writeCache(folder, key, chain);
    expect(await readdir(folder)).toHaveLength(3);
    expect((await readCache(folder, 'c5')).tag).toBe('hit');
  });

  test('a damaged one is built again and replaced, a whole one is not', async () => {
    const key = stateKey();
    const built = await seededChain();
    await writeFile(join(folder, `chain-${key}.json`), 'not a chain');
    const steps: string[] = [];
    let builds = 0;
    const read = () =>
      seededChain(
        (step) => steps.push(step),
        folder,
        async () => {
          builds += 1;
          return built;
        },
      );
    expect(await read()).toEqual(built);
    expect(steps).toEqual(['the cached chain is damaged: building it again']);
    expect(await read()).toEqual(built);
    expect(builds).toBe(1);
  });

  test('belongs to the cover week that trades: its offers stand for that one and the next two', () => {
    const cutoff = Date.parse('2026-11-27T20:00:00Z') / 1_000;
    expect(stateKey(cutoff - 86_400)).toBe(stateKey(cutoff - 1));
    expect(stateKey(cutoff + 1)).not.toBe(stateKey(cutoff - 1));
  });

  test('one from the future, as after the clock was set back, is built again', async () => {
    const built = await seededChain();
    const future = { ...built, timestamp: Math.floor(Date.now() / 1_000) + 3_600 };
    await writeCache(folder, stateKey(), future);
    const read = await seededChain(undefined, folder, async () => built);
    expect(read.timestamp).toBe(built.timestamp);
  });
});
