import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../runtime/config.ts';
import { createListCheck, readLists } from './lists.ts';

const account = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const key = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65';
const other = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const action = { account, key } as const;
const refusal = { code: 'SESSION_INACTIVE', check: 'list' };

describe('lists of accounts and keys', () => {
  it('serve everybody while they are empty', () => {
    const check = createListCheck(readLists({ allow: [], deny: [], file: undefined }));
    expect(check(action)).toBeNull();
  });

  it('refuse who is denied, as an account or as a key, though he is allowed', () => {
    for (const who of [account, key] as const) {
      const check = createListCheck(readLists({ allow: [who], deny: [who], file: undefined }));
      expect(check(action)).toMatchObject(refusal);
      expect(check({ account: other, key: other })).toMatchObject(refusal);
    }
  });

  it('serve only who is allowed, by account or key, once anybody is', () => {
    for (const who of [account, key] as const) {
      const check = createListCheck(readLists({ allow: [who], deny: [], file: undefined }));
      expect(check(action)).toBeNull();
      expect(check({ account: other, key: other })).toMatchObject(refusal);
    }
  });
});

describe('the file of lists', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'basket-lists-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const read = (text: string) => {
    const file = join(folder, 'lists.json');
    writeFileSync(file, text);
    return readLists({ allow: [], deny: [other], file });
  };

  it('names accounts and keys apart, in any case of letters, beside those of the environment', () => {
    const text = JSON.stringify({ deny: { keys: [key.toLowerCase()] } });
    const check = createListCheck(read(text));
    expect(check(action)).toMatchObject(refusal);
    expect(check({ account: key, key: account })).toBeNull();
    expect(check({ account: other, key: account })).toMatchObject(refusal);
  });

  it.each([
    ['no JSON', '{'],
    ['an address that is none', '{"deny":{"keys":["0x12"]}}'],
    ['a list that nobody knows', '{"block":{"keys":[]}}'],
  ])('with %s keeps the process from starting, in words for its operator', (_name, text) => {
    expect(() => read(text)).toThrow(ConfigError);
    expect(() => read(text)).toThrow(/RELAY_LISTS_FILE/);
  });

  it('that is missing does the same', () => {
    const file = join(folder, 'none.json');
    expect(() => readLists({ allow: [], deny: [], file })).toThrow(ConfigError);
  });
});
