import { expect, test } from 'vitest';
import { DueTags } from './due-tags.ts';

test('the same names have the same tag, in whatever order, and others have another', () => {
  const tags = new DueTags();
  const tag = tags.tagOf(new Set(['a', 'b']));
  expect(tags.tagOf(new Set(['b', 'a']))).toBe(tag);
  expect(tags.tagOf(new Set(['b']))).not.toBe(tag);
  expect(tags.tagOf(new Set())).not.toBe(tag);
  expect([...(tags.namesOf(tag) ?? [])].toSorted()).toEqual(['a', 'b']);
});

test('the last tags are remembered: no one is for ever, and none that is told again is forgotten', () => {
  const tags = new DueTags();
  const often = tags.tagOf(new Set(['often']));
  const once = tags.tagOf(new Set(['once']));
  for (let count = 0; count < 100; count += 1) {
    tags.tagOf(new Set([`${count}`]));
    tags.tagOf(new Set(['often']));
  }
  expect(tags.namesOf(often)).not.toBeNull();
  expect(tags.namesOf(once)).toBeNull();
  expect(tags.namesOf(undefined)).toBeNull();
});
