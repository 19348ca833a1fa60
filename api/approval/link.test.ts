import { describe, expect, it } from 'vitest';
import { readLink } from './link.ts';

const OWNER = '0x64e85115d719ba9f66a5eE38dcDE3d8c6D87E255';
const KEY = '0x22E0120AAFB7D3c067E326bCbEA53291eDda1d5B';

const link = (values: Record<string, string>) => `?${new URLSearchParams(values).toString()}`;
const why = (search: string) => {
  const read = readLink(search);
  return read.tag === 'bad' ? read.why : 'accepted';
};

describe('the link of an approval', () => {
  it('is read as approvalUrl writes it, and in lower case', () => {
    const read = { tag: 'ok', owner: OWNER, key: KEY };
    expect(readLink(link({ owner: OWNER, key: KEY }))).toEqual(read);
    const lower = { owner: OWNER.toLowerCase(), key: KEY.toLowerCase() };
    expect(readLink(link({ ...lower, from: 'agent' }))).toEqual(read);
  });

  it.each([
    ['nothing', '', /lacks your wallet's address/],
    ['no key', link({ owner: OWNER }), /lacks the agent's public key/],
    ['an empty key', link({ owner: OWNER, key: '' }), /lacks the agent's public key/],
    ['two keys', `${link({ owner: OWNER, key: KEY })}&key=${OWNER}`, /more than once/],
    ['a wrong digit', link({ owner: OWNER, key: KEY.replace('5B', '5b') }), /valid form/],
    ['too short', link({ owner: OWNER, key: KEY.slice(0, -1) }), /valid form/],
    ['markup', link({ owner: '<img src=x onerror=alert(1)>', key: KEY }), /valid form/],
    ['nobody', link({ owner: OWNER, key: `0x${'0'.repeat(40)}` }), /nobody/],
    ["the owner's own key", link({ owner: OWNER, key: OWNER.toLowerCase() }), /your own wallet/],
  ])('is refused with %s', (_, search, words) => {
    expect(why(search)).toMatch(words);
  });

  it('with a private key in it warns of the leak, and repeats nothing of it', () => {
    for (const secret of [`0x${'ab'.repeat(32)}`, 'ab'.repeat(32)]) {
      const words = why(link({ owner: OWNER, key: secret }));
      expect(words).toMatch(/leaked/);
      expect(words).not.toContain('abab');
    }
  });
});
