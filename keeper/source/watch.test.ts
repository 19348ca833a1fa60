import { describe, expect, test } from 'vitest';
import type { JsonRead } from './get-json.ts';
import { watchJobs } from './watch.ts';

type Said = { read: JsonRead; afterMs?: number };

const tag = (name: string, afterMs = 5): Said => ({
  read: { tag: 'json', json: { tag: name } },
  afterMs,
});
const failed = (why: string): Said => ({ read: { tag: 'failed', why } });

/** What comes of these answers, one after the other: every question, every pause, and when a change was told. */
async function watched(
  said: readonly Said[],
  isDropped: () => boolean = () => false,
  onLive: (isLive: boolean) => void = () => undefined,
) {
  const ending = new AbortController();
  const log: string[] = [];
  let ms = 0;
  let at = 0;
  await watchJobs(
    {
      url: 'http://api',
      timeoutMs: 5_000,
      isDropped,
      onChange: () => void log.push('change'),
      onLive,
    },
    ending.signal,
    {
      get: async (url) => {
        const next = said[at];
        at += 1;
        if (next === undefined) {
          ending.abort();
          return { tag: 'failed', why: 'AbortError' };
        }
        log.push(url.replace('http://api/v1/jobs/changes', ''));
        ms += next.afterMs ?? 0;
        return next.read;
      },
      pause: async (pauseMs) => {
        if (ending.signal.aborted) return;
        log.push(`${pauseMs} ms`);
        ms += pauseMs;
        if (log.length > 100) ending.abort();
      },
      now: () => ms,
    },
  );
  return log;
}

const unless = (name: string): string => `?unless=${name}&waitMs=20000`;

describe('a service that tells when other jobs are due', () => {
  test('is asked to wait for others than those it told of, and each change is told once', async () => {
    expect(await watched([tag('a'), tag('b', 3_000), tag('b', 20_000), tag('c', 9_000)])).toEqual([
      '?',
      unless('a'),
      'change',
      unless('b'),
      unless('b'),
      'change',
    ]);
  });

  test('and does so all the time makes us look four times a second at the most', async () => {
    const log = await watched(Array.from({ length: 10 }, (_, index) => tag(`t${index}`, 10)));
    expect(log.filter((line) => !line.startsWith('?'))).toEqual([
      'change',
      'change',
      'change',
      // Ten milliseconds each, and the fifth comes a second after the first.
      '960 ms',
      'change',
      'change',
      'change',
      'change',
      '960 ms',
      'change',
      'change',
    ]);
  });

  test('and does not wait is asked ever more seldom', async () => {
    const log = await watched(Array.from({ length: 9 }, () => tag('a', 0)));
    expect(log.filter((line) => line.endsWith(' ms'))).toEqual([
      '1000 ms',
      '2000 ms',
      '4000 ms',
      '8000 ms',
      '16000 ms',
      '32000 ms',
      '60000 ms',
      '60000 ms',
    ]);
    expect(log).not.toContain('change');
  });

  test('is asked from where it was, once it answers again', async () => {
    expect(await watched([tag('a'), failed('ECONNREFUSED'), tag('b', 0)])).toEqual([
      '?',
      unless('a'),
      '1000 ms',
      unless('a'),
      'change',
    ]);
  });

  test('says whether it would tell', async () => {
    const lives: boolean[] = [];
    const said = [tag('a'), failed('ECONNREFUSED'), tag('b', 0), failed('HTTP 404')];
    await watched(said, undefined, (isLive) => void lives.push(isLive));
    expect(lives).toEqual([true, false, true, false, false]);
    await watched(
      [tag('a')],
      () => true,
      (isLive) => void lives.push(isLive),
    );
    expect(new Set(lives.slice(5))).toEqual(new Set([false]));
  });

  test('and is dropped is asked no more', async () => {
    const log = await watched([tag('a')], () => true);
    expect(new Set(log)).toEqual(new Set(['60000 ms']));
  });
});

describe('a service that knows no such question', () => {
  test.each(['HTTP 404', 'HTTP 405', 'HTTP 400'])('is asked again much later: %s', async (why) => {
    expect(await watched([failed(why), failed(why)])).toEqual(['?', '600000 ms', '?', '600000 ms']);
  });

  test.each<[string, unknown]>([
    ['a list of jobs', { jobs: [] }],
    ['a tag that is too long', { tag: 'x'.repeat(65) }],
    ['no object', 7],
  ])('and answers %s is asked ever more seldom', async (_, json) => {
    const read: JsonRead = { tag: 'json', json };
    expect(await watched([{ read }, { read }])).toEqual(['?', '1000 ms', '?', '2000 ms']);
  });
});
