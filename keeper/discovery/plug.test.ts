import { describe, expect, test } from 'vitest';
import type { SourceAnswer } from '../source/job-source.ts';
import { withDiscovery } from './plug.ts';

const told = (source: number, payoutFault: string | null = null): SourceAnswer => ({
  tag: 'jobs',
  source,
  jobs: [],
  payouts: [],
  payoutFault,
  malformed: [],
  dropped: 0,
  asOf: null,
});
const failed: SourceAnswer = { tag: 'failed', source: 0, why: 'ECONNREFUSED' };
const OWN = 9;

async function pollOf(mode: 'off' | 'fallback' | 'always', answers: SourceAnswer[]) {
  const asked: string[] = [];
  const discovery = {
    list: async () => {
      asked.push('list');
      return told(OWN);
    },
    standBy: async () => {
      asked.push('standBy');
    },
  };
  const poll = withDiscovery(async () => answers, discovery, mode);
  const sources = (await poll(new AbortController().signal)).map(({ source }) => source);
  return { sources, asked };
}

describe('discovery', () => {
  test.each<[string, SourceAnswer[], boolean]>([
    ['an api answers', [told(0), failed], false],
    ['none answers', [failed, failed], true],
    ['all of them are dropped', [], true],
    ['none tells its payouts', [told(0, 'HTTP 500'), failed], true],
  ])('as a fallback, where %s', async (_, answers, listed) => {
    const { sources, asked } = await pollOf('fallback', answers);
    expect(asked).toEqual([listed ? 'list' : 'standBy']);
    expect(sources.includes(OWN)).toBe(listed);
    expect(sources.slice(0, answers.length)).toEqual(answers.map(({ source }) => source));
  });

  test('always lists beside the sources, and never where it is off', async () => {
    expect(await pollOf('always', [told(0)])).toEqual({ sources: [0, OWN], asked: ['list'] });
    expect(await pollOf('off', [failed])).toEqual({ sources: [0], asked: [] });
  });
});
