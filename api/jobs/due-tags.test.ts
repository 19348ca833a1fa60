import { expect, test } from 'vitest';
import { DueTags } from './due-tags.ts';

const set = (...names: string[]): ReadonlySet<string> => new Set(names);

test('what came is news, what went is none, and what comes again is', () => {
  const tags = new DueTags();
  const none = tags.tagOf(set());
  const one = tags.tagOf(set('a'));
  expect(tags.isNews(none, one)).toBe(true);
  expect(tags.isNews(one, tags.tagOf(set('a')))).toBe(false);
  const two = tags.tagOf(set('b', 'a'));
  expect(tags.isNews(one, two)).toBe(true);
  expect(tags.isNews(two, tags.tagOf(set('b')))).toBe(false);
  const again = tags.tagOf(set('a', 'b'));
  expect(tags.isNews(two, again)).toBe(true);
  expect(again).not.toBe(two);
  expect(tags.isNews(two, tags.tagOf(set('a')))).toBe(true);
});

test('between processes the same is no news, in whatever order it is told', () => {
  const [here, there] = [new DueTags(), new DueTags()];
  const known = there.tagOf(set('a', 'b'));
  expect(here.isNews(known, here.tagOf(set('b', 'a')))).toBe(false);
  expect(here.isNews(known, here.tagOf(set('b')))).toBe(true);
  expect(here.isNews('nobody’s', here.tagOf(set('b')))).toBe(true);
});
