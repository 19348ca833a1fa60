/** The commands on real folders, and the real process where what counts is its output, its death or its rivals. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keystoreFiles, lockFolder } from '../folder.ts';
import { decryptKeystore, encryptKeystore } from '../keystore.ts';
import { loadWallets } from '../wallets.ts';
import { listKeys } from './list.ts';
import { rotateKeys } from './rotate.ts';
import { runKeyCommand } from './run.ts';
import { importKey, storeNewKey } from './store-key.ts';

const COST = 1024;
const OLD = 'the old passphrase';
const NEW = 'the new passphrase';
/** As ethers 6 and geth write them (geth: accounts/keystore/testdata/very-light-scrypt.json, without a passphrase). */
const ETHERS_FILE = `{"address":"008aeeda4d805471df9b2a5b0f38a0c3bcba786b","id":"7a518a8f-e841-447d-a672-6d54edb15346","version":3,"Crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":"cabee62fbd3bbee27ba884d2bca60c28"},"ciphertext":"91acf808d04646806f19e0ce457c2790cb53076cd473ad7cd52c83db91d7dc01","kdf":"scrypt","kdfparams":{"salt":"32dc49ea75e6760533c3ff09e38b902e4768b4a0d797985339ef696ae8e24b15","n":1024,"dklen":32,"p":1,"r":8},"mac":"9f816ce656e098a4145e10e14ed49ed5654742704317c8665dcad06a2da38626"}}`;
const GETH_FILE = `{"address":"45dea0fb0bba44f4fcf290bba71fd57d7117cbb8","crypto":{"cipher":"aes-128-ctr","ciphertext":"b87781948a1befd247bff51ef4063f716cf6c2d3481163e9a8f42e1f9bb74145","cipherparams":{"iv":"dc4926b48a105133d2f16b96833abf1e"},"kdf":"scrypt","kdfparams":{"dklen":32,"n":2,"p":1,"r":8,"salt":"004244bbdc51cadda545b1cfa43cff9ed2ae88e08c61f1479dbb45410722f8f0"},"mac":"39990c1684557447940d4c69e06b1b82b2aceacb43f284df65c956daf3046b85"},"id":"ce541d8d-c79b-40f8-9f8c-20f59616faba","version":3}`;

let root = '';
let folder = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'key-command-'));
  folder = join(root, 'keys');
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function fill(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const key = generatePrivateKey();
    writeFileSync(join(folder, `${index}.json`), encryptKeystore(key, OLD, COST), { mode: 0o600 });
    return key;
  });
}

const place = () => ({ folder, passphrase: OLD, cost: COST });
const makeFolder = () => {
  folder = mkdtempSync(join(root, 'made-'));
};

async function run(
  command: Parameters<typeof runKeyCommand>[0],
  env: Record<string, string>,
  piped = '',
) {
  const said: string[] = [];
  const warned: string[] = [];
  const code = await runKeyCommand(command, {
    env: { WALLET_KEYSTORE: folder, ...env },
    cost: COST,
    terminal: { ask: null, readPiped: async () => piped },
    say: (line) => said.push(line),
    warn: (line) => warned.push(line),
  });
  return { code, said, warned };
}

/** The command as an operator starts it. */
function start(command: string, env: Record<string, string>): ChildProcess {
  const main = join(import.meta.dirname, '..', 'main.ts');
  return spawn(process.execPath, ['--import', 'tsx', main, command], {
    env: { PATH: process.env.PATH, WALLET_KEYSTORE: folder, ...env },
  });
}

async function outputOf(child: ChildProcess): Promise<{ out: string; err: string; code: number }> {
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number];
  return { out, err, code };
}

describe('new and import', () => {
  it('makes a key that only its owner may read, whose file loads, and tells no more than address and file', async () => {
    const { said, warned, code } = await run('new', { WALLET_PASSPHRASE: OLD });
    expect({ warned, code, lines: said.length }).toEqual({ warned: [], code: 0, lines: 1 });
    const [address, file = ''] = said[0]?.split('  ') ?? [];
    expect(file).toMatch(/keys\/UTC--.*--[0-9a-f]{40}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const loaded = loadWallets({ WALLET_KEYSTORE: folder, WALLET_PASSPHRASE: OLD });
    expect(loaded).toMatchObject({ wallets: [{ account: { address } }] });
    const opened = decryptKeystore(readFileSync(file, 'utf8'), OLD);
    if (opened.tag !== 'key') throw new Error('it does not open');
    expect(said.join()).not.toContain(opened.privateKey.slice(2));
  });

  it('reads a key from stdin, in the command line and the output of no process', async () => {
    const key = generatePrivateKey();
    const child = start('import', { WALLET_PASSPHRASE: OLD });
    const commandLine = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8');
    child.stdin?.end(`${key}\n`);
    const { out, err, code } = await outputOf(child);
    expect(code).toBe(0);
    expect(out).toContain(privateKeyToAddress(key));
    expect(`${out}${err}${commandLine}`).not.toContain(key.slice(2));
  });

  it('takes no key from the command line, and does not repeat it', async () => {
    const key = generatePrivateKey();
    const main = join(import.meta.dirname, '..', 'main.ts');
    const child = spawn(process.execPath, ['--import', 'tsx', main, 'import', key]);
    const { out, err, code } = await outputOf(child);
    expect(code).toBe(2);
    expect(`${out}${err}`).not.toContain(key.slice(2));
    expect(err).toContain('usage');
  });

  it('imports files that geth and ethers wrote, and refuses a key that is there already', () => {
    makeFolder();
    const fromGeth = importKey(GETH_FILE, '', place());
    expect(fromGeth.address).toBe('0x45DeA0FB0bBA44f4fcF290bbA71Fd57d7117Cbb8');
    const fromEthers = importKey(ETHERS_FILE, 'testpassword', place());
    expect(fromEthers.address).toBe('0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b');
    expect(() => importKey(GETH_FILE, '', place())).toThrow(/there already/);
    expect(() => importKey(GETH_FILE, 'x', place())).toThrow(/wrong passphrase/);
    expect(keystoreFiles(folder)).toEqual([fromGeth.file, fromEthers.file].sort());
  });

  it.each([
    '',
    'zz',
    `0x${'0'.repeat(64)}`,
    `0x${'f'.repeat(64)}`,
    `${generatePrivateKey()}00`,
    '{"a":1}',
  ])('refuses what is no key without quoting it (%#)', (text) => {
    makeFolder();
    let message = '';
    try {
      importKey(text, OLD, place());
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).not.toBe('');
    if (text.length > 20) expect(message).not.toContain(text.slice(2, 20));
    expect(keystoreFiles(folder)).toEqual([]);
  });

  it('adds no key under another passphrase than the folder’s, which would keep every process from starting', () => {
    makeFolder();
    storeNewKey(place());
    expect(() => storeNewKey({ ...place(), passphrase: NEW })).toThrow(/share one passphrase/);
    expect(keystoreFiles(folder)).toHaveLength(1);
  });

  it('never writes over a file, and leaves nothing unfinished', () => {
    makeFolder();
    const now = new Date(0);
    const key = generatePrivateKey();
    const { file } = importKey(key, OLD, { ...place(), now });
    writeFileSync(file, encryptKeystore(generatePrivateKey(), OLD, COST));
    const before = readFileSync(file, 'utf8');
    expect(() => importKey(key, OLD, { ...place(), now })).toThrow(/EEXIST/);
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  it('warns of a weak passphrase and an open folder, and says what is missing', async () => {
    makeFolder();
    chmodSync(folder, 0o755);
    const { warned } = await run('new', { WALLET_PASSPHRASE: 'short' });
    expect(warned.join()).toMatch(/shorter than 12/);
    expect(warned.join()).toMatch(/chmod 700/);
    expect(warned.join()).not.toContain('short ');
    await expect(run('new', {})).rejects.toThrow(/WALLET_PASSPHRASE is not set/);
    await expect(run('new', { WALLET_KEYSTORE: '' })).rejects.toThrow(/WALLET_KEYSTORE is not set/);
  });
});

describe('unusable folders', () => {
  it('are named, with the system’s reason', async () => {
    writeFileSync(join(root, 'file'), 'x');
    const env = { WALLET_PASSPHRASE: OLD, WALLET_NEW_PASSPHRASE: NEW };
    const under = { ...env, WALLET_KEYSTORE: join(root, 'file', 'keys') };
    await expect(run('new', under)).rejects.toThrow(/cannot be made.*file\/keys \(ENOTDIR\)/);
    await expect(run('rotate', under)).rejects.toThrow(/ENOTDIR/);
    await expect(run('list', under)).rejects.toThrow(/nothing readable at/);
    const loop = join(root, 'loop');
    symlinkSync(loop, loop);
    await expect(run('rotate', { ...env, WALLET_KEYSTORE: loop })).rejects.toThrow(/ELOOP/);
  });
});

describe('list', () => {
  it('tells of each file whether it opens, without a passphrase what it states', async () => {
    makeFolder();
    const [key = '0x'] = fill(1) as `0x${string}`[];
    writeFileSync(join(folder, 'other.json'), GETH_FILE);
    writeFileSync(join(folder, 'readme'), `my key is ${key}`);
    chmodSync(join(folder, 'readme'), 0o644);
    const { code, said, warned } = await run('list', { WALLET_PASSPHRASE: OLD });
    expect(code).toBe(1);
    expect(said).toEqual([
      `${privateKeyToAddress(key)}  ${folder}/0.json  opens`,
      expect.stringMatching(/^0x45DeA0.*other.json {2}does not open: wrong passphrase/),
      `(states no address)  ${folder}/readme  does not open: not JSON`,
    ]);
    expect(warned.join()).toContain('readme');
    expect(said.join()).not.toContain(key.slice(2));
    const blind = await run('list', {});
    expect(blind.code).toBe(0);
    expect(blind.said[0]).toBe(`${privateKeyToAddress(key)}  ${folder}/0.json  not tried`);
  });
});

describe('rotate', () => {
  const rotation = () => ({
    path: folder,
    folder,
    oldPassphrase: OLD,
    newPassphrase: NEW,
    cost: COST,
  });

  it('moves every key to the new passphrase, mode and names kept', async () => {
    makeFolder();
    const keys = fill(2);
    const env = { WALLET_PASSPHRASE: OLD, WALLET_NEW_PASSPHRASE: NEW };
    const { said, warned, code } = await run('rotate', env);
    expect(code).toBe(0);
    expect(warned).toEqual([expect.stringContaining('set WALLET_PASSPHRASE')]);
    expect(said).toEqual([`rotated: ${folder}/0.json`, `rotated: ${folder}/1.json`]);
    expect(listKeys(folder, OLD).map(({ opens }) => opens)).toEqual([false, false]);
    const files = keystoreFiles(folder) ?? [];
    expect(files.map((file) => decryptKeystore(readFileSync(file, 'utf8'), NEW))).toEqual(
      keys.map((privateKey) => ({ tag: 'key', privateKey })),
    );
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
  });

  it('changes nothing when one file opens with neither passphrase, and names it', () => {
    makeFolder();
    fill(2);
    writeFileSync(join(folder, 'other.json'), GETH_FILE);
    const before = (keystoreFiles(folder) ?? []).map((file) => readFileSync(file, 'utf8'));
    expect(() => rotateKeys(rotation())).toThrow(
      /nothing was changed[^]*other\.json: wrong passphrase/,
    );
    expect(() => rotateKeys({ ...rotation(), newPassphrase: OLD })).toThrow(/is the old one/);
    expect((keystoreFiles(folder) ?? []).map((file) => readFileSync(file, 'utf8'))).toEqual(before);
  });

  it('rotates a single file, and through a link the file behind it', async () => {
    makeFolder();
    fill(1);
    const link = join(root, 'link');
    symlinkSync(join(folder, '0.json'), link);
    const env = { WALLET_PASSPHRASE: OLD, WALLET_NEW_PASSPHRASE: NEW, WALLET_KEYSTORE: link };
    await run('rotate', env);
    expect(listKeys(folder, NEW)).toMatchObject([{ opens: true }]);
    expect(listKeys(link, NEW)).toMatchObject([{ opens: true }]);
  });

  it('killed at every point between two changes of the disk, leaves each key readable, and run again finishes', async () => {
    makeFolder();
    const keys = fill(2);
    const points = ['written 1', 'replaced 1', 'written 2'];
    const seen = new Set<string>();
    for (const point of points) {
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
      for (const [index, key] of keys.entries()) {
        const text = encryptKeystore(key as `0x${string}`, OLD, COST);
        writeFileSync(join(folder, `${index}.json`), text);
      }
      const [, signal] = await rotateAndDie(point);
      expect(signal).toBe('SIGKILL');
      const lock = lockFolder(folder);
      expect(lock, 'the dead hold no lock').not.toBeNull();
      lock?.release();
      const opens = [OLD, NEW].map((passphrase) =>
        listKeys(folder, passphrase).map((key) => key.opens === true),
      );
      expect(keys.map((_, at) => opens[0]?.[at] !== opens[1]?.[at])).toEqual([true, true]);
      seen.add(JSON.stringify(opens[1]));
      rotateKeys(rotation());
      expect(listKeys(folder, NEW).map(({ opens }) => opens)).toEqual([true, true]);
      expect(readdirSync(folder).filter((name) => name.startsWith('.unfinished'))).toEqual([]);
    }
    expect([...seen].sort()).toEqual(['[false,false]', '[true,false]']);
  }, 120_000);

  async function rotateAndDie(point: string): Promise<unknown[]> {
    const module = (name: string) =>
      JSON.stringify(pathToFileURL(join(import.meta.dirname, name)).href);
    const code = `
      import { rotateKeys } from ${module('rotate.ts')};
      import { lockFolder } from ${module('../folder.ts')};
      globalThis.held = lockFolder(${JSON.stringify(folder)});
      const seen = {};
      rotateKeys({
        ...${JSON.stringify(rotation())},
        onDurablePoint: (point) => {
          seen[point] = (seen[point] ?? 0) + 1;
          if (point + ' ' + seen[point] === ${JSON.stringify(point)}) process.kill(process.pid, 'SIGKILL');
        },
      });`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
      stdio: 'inherit',
    });
    return (await once(child, 'exit')) as unknown[];
  }

  it('is done by one command at a time', async () => {
    makeFolder();
    fill(1);
    const held = lockFolder(folder);
    const env = { WALLET_PASSPHRASE: OLD, WALLET_NEW_PASSPHRASE: NEW };
    const { err, code } = await outputOf(start('rotate', env));
    expect(code).toBe(1);
    expect(err).toContain('another key command works on');
    await expect(run('new', env)).rejects.toThrow(/another key command/);
    held?.release();

    expect((await run('rotate', env)).said).toHaveLength(1);
  });
});
