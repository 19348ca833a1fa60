/** `list`: what is in the folder, and whether a process would load it. */
import { getAddress } from 'viem';
import { keystoreFiles, othersMayRead, readKeystore } from '../folder.ts';
import { decryptKeystore, statedAddress } from '../keystore.ts';
import { accountOf } from '../wallets.ts';
import { KeyCommandError } from './options.ts';

export type ListedKey = {
  /** The key's own where the file opens, otherwise what the file states; null where it states none. */
  address: `0x${string}` | null;
  file: string;
  /** Null: no passphrase was given. */
  opens: boolean | null;
  problem: string | null;
  othersMayRead: boolean;
};

/** @throws KeyCommandError when nothing is readable at `path` */
export function listKeys(path: string, passphrase: string | undefined): ListedKey[] {
  const files = keystoreFiles(path);
  if (files === null) throw new KeyCommandError(`nothing readable at ${path}`);
  return files.map((file) => {
    const read = readKeystore(file);
    if (read.tag === 'unreadable') {
      return { address: null, file, opens: false, problem: read.code, othersMayRead: false };
    }
    const stated = statedAddress(read.text);
    const listed = {
      address: stated === null ? null : getAddress(stated),
      file,
      othersMayRead: othersMayRead(file),
    };
    if (passphrase === undefined) return { ...listed, opens: null, problem: null };
    const opened = decryptKeystore(read.text, passphrase);
    if (opened.tag === 'invalid') return { ...listed, opens: false, problem: opened.problem };
    const address = accountOf(opened.privateKey)?.address ?? null;
    const problem = address === null ? 'it does not hold a usable key' : null;
    return { ...listed, address, opens: address !== null, problem };
  });
}

/** The lines that are printed. */
export function listText(keys: readonly ListedKey[]): string[] {
  return keys.map(({ address, file, opens, problem }) => {
    const state = opens === null ? 'not tried' : opens ? 'opens' : `does not open: ${problem}`;
    return `${address ?? '(states no address)'}  ${file}  ${state}`;
  });
}
