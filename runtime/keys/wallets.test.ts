import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decryptKeystore, encryptKeystore } from './keystore.ts';
import { type KeySettings, loadWallets } from './wallets.ts';

/** The specification's own test vectors; the scrypt one has N beyond what RFC 7914 allows with r = 1. */
const ODD_SCRYPT_VECTOR = `{"crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":"83dbcc02d8ccb40e466191a123791e0e"},"ciphertext":"d172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c","kdf":"scrypt","kdfparams":{"dklen":32,"n":262144,"p":8,"r":1,"salt":"ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19"},"mac":"2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097"},"id":"3198bc9c-6672-5ab3-d995-4942343ae5b6","version":3}`;
const PBKDF2_VECTOR = `{"crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":"6087dab2f9fdbbfaddc31a909735c1e6"},"ciphertext":"5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46","kdf":"pbkdf2","kdfparams":{"c":262144,"dklen":32,"prf":"hmac-sha256","salt":"ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd"},"mac":"517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2"},"id":"3198bc9c-6672-5ab3-d995-4942343ae5b6","version":3}`;
const VECTOR_KEY = '0x7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'keys-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function problemOf(settings: KeySettings): string {
  const result = loadWallets(settings);
  return result.tag === 'invalid' ? result.problem : 'loaded';
}

describe('keystore files', () => {
  it('opens the published test vector', () => {
    expect(decryptKeystore(PBKDF2_VECTOR, 'testpassword')).toEqual({
      tag: 'key',
      privateKey: VECTOR_KEY,
    });
  });

  it('says so when the derivation parameters are outside the standard', () => {
    expect(decryptKeystore(ODD_SCRYPT_VECTOR, 'testpassword')).toMatchObject({
      tag: 'invalid',
      problem: expect.stringMatching(/not supported/) as unknown,
    });
  });

  it('opens what it wrote, and nothing with another passphrase or a changed byte', () => {
    const key = generatePrivateKey();
    const text = encryptKeystore(key, 'correct horse', 1024);
    expect(decryptKeystore(text, 'correct horse')).toEqual({ tag: 'key', privateKey: key });
    expect(decryptKeystore(text, 'correct hors').tag).toBe('invalid');
    const file = JSON.parse(text) as { crypto: { ciphertext: string } };
    file.crypto.ciphertext = `00${file.crypto.ciphertext.slice(2)}`;
    const damaged = decryptKeystore(JSON.stringify(file), 'correct horse');
    expect(damaged).toEqual({ tag: 'invalid', problem: 'wrong passphrase, or a damaged file' });
  });

  it('refuses a file whose stated address is not the key’s', () => {
    const file = JSON.parse(encryptKeystore(generatePrivateKey(), 'x', 1024)) as {
      address: string;
    };
    file.address = '00'.repeat(20);
    expect(decryptKeystore(JSON.stringify(file), 'x')).toMatchObject({ tag: 'invalid' });
  });

  it('loads a folder in the order of names, and one file alone', () => {
    const keys = [generatePrivateKey(), generatePrivateKey()] as const;
    writeFileSync(join(folder, 'b.json'), encryptKeystore(keys[1], 'x', 1024));
    writeFileSync(join(folder, 'a.json'), encryptKeystore(keys[0], 'x', 1024));
    const result = loadWallets({ WALLET_KEYSTORE: folder, WALLET_PASSPHRASE: 'x' });
    expect(result.tag === 'loaded' && result.wallets.map((w) => w.account.address)).toEqual(
      keys.map((key) => privateKeyToAccount(key).address),
    );
    const one = loadWallets({ WALLET_KEYSTORE: join(folder, 'a.json'), WALLET_PASSPHRASE: 'x' });
    expect(one.tag === 'loaded' && one.wallets.length).toBe(1);
  });

  it('names the file that does not open and quotes nothing from it', () => {
    writeFileSync(join(folder, 'bad.json'), `{"secret":"${VECTOR_KEY}"`);
    const problem = problemOf({ WALLET_KEYSTORE: folder, WALLET_PASSPHRASE: 'x' });
    expect(problem).toContain('bad.json');
    expect(problem).not.toContain(VECTOR_KEY.slice(2, 12));
  });

  it('asks for the passphrase and for a readable path', () => {
    expect(problemOf({ WALLET_KEYSTORE: folder })).toMatch(/without WALLET_PASSPHRASE/);
    expect(problemOf({ WALLET_KEYSTORE: `${folder}/none`, WALLET_PASSPHRASE: 'x' })).toMatch(
      /nothing readable/,
    );
    expect(problemOf({ WALLET_KEYSTORE: folder, WALLET_PASSPHRASE: 'x' })).toMatch(/no wallet/);
  });
});

describe('keys from the environment', () => {
  it('takes several, with and without 0x', () => {
    const result = loadWallets({
      WALLET_PRIVATE_KEYS: `${VECTOR_KEY.slice(2)}, ${generatePrivateKey()}`,
    });
    expect(result.tag === 'loaded' && result.wallets[0]?.account.address).toBe(
      privateKeyToAccount(VECTOR_KEY).address,
    );
  });

  it.each([
    `${VECTOR_KEY}00`,
    `0x${'f'.repeat(64)}`,
    `0x${'0'.repeat(64)}`,
    VECTOR_KEY.slice(0, 40),
    `${VECTOR_KEY.slice(0, 60)}zzzzzz`,
  ])('never echoes a value that is not a key', (bad) => {
    const problem = problemOf({ WALLET_PRIVATE_KEYS: `${generatePrivateKey()},${bad}` });
    expect(problem).toMatch(/key 2 of 2/);
    expect(problem).not.toContain(bad.slice(2, 20));
  });

  it('refuses duplicates, both sources at once, and none', () => {
    expect(problemOf({ WALLET_PRIVATE_KEYS: `${VECTOR_KEY},${VECTOR_KEY}` })).toMatch(/twice/);
    expect(problemOf({ WALLET_PRIVATE_KEYS: VECTOR_KEY, WALLET_KEYSTORE: folder })).toMatch(/both/);
    expect(problemOf({})).toMatch(/no wallet/);
  });

  it('holds no key in what a log or an inspection could print', () => {
    const result = loadWallets({ WALLET_PRIVATE_KEYS: VECTOR_KEY });
    const printed = `${inspect(result, { depth: 10, showHidden: true })}${JSON.stringify(result)}`;
    expect(printed).not.toContain(VECTOR_KEY.slice(2));
    expect(printed).toContain(privateKeyToAccount(VECTOR_KEY).address);
  });
});
