/**
 * The wallets a process sends from: encrypted keystore files with a passphrase, or private keys in one environment
 * variable. Keys are never taken from flags, never logged, and no message here ever quotes a value.
 */
import type { Hex } from 'viem';
import type { LocalAccount } from 'viem/accounts';
import { z } from 'zod';
import { option } from '../config.ts';
import { keystoreFiles, readKeystore } from './folder.ts';
import { decryptKeystore } from './keystore.ts';
import { signingAccount } from './signing-account.ts';

export const keyOptions = z.object({
  WALLET_KEYSTORE: option(z.string().min(1).optional(), {
    description:
      'A keystore file (Web3 Secret Storage v3), or a folder of them, holding the keys to send from.',
    example: '.data/keys',
  }),
  WALLET_PASSPHRASE: option(z.string().min(1).optional(), {
    description: 'Passphrase of the keystore files.',
    example: 'a long passphrase',
    secret: true,
  }),
  WALLET_PRIVATE_KEYS: option(z.string().min(1).optional(), {
    description:
      'Private keys to send from, comma-separated (for development; prefer a keystore). Not together with WALLET_KEYSTORE.',
    example: '0x…,0x…',
    secret: true,
  }),
});

export type KeySettings = z.infer<typeof keyOptions>;

export type LoadedWallet = {
  account: LocalAccount;
  /** Where it came from, for the operator: a file name or the variable's name. */
  origin: string;
};

export type WalletsResult =
  | { tag: 'loaded'; wallets: readonly LoadedWallet[] }
  | { tag: 'invalid'; problem: string };

export const MOST_WALLETS = 100;

/** Reads every wallet of the settings; one bad key or file makes the whole result invalid, and is named. */
export function loadWallets(settings: KeySettings): WalletsResult {
  const { WALLET_KEYSTORE: path, WALLET_PRIVATE_KEYS: keys } = settings;
  if (path !== undefined && keys !== undefined) {
    return invalid('set either WALLET_KEYSTORE or WALLET_PRIVATE_KEYS, not both');
  }
  if (path !== undefined) return unique(fromKeystore(path, settings.WALLET_PASSPHRASE));
  if (keys !== undefined) return unique(fromVariable(keys));
  return invalid('no wallet: set WALLET_KEYSTORE and WALLET_PASSPHRASE, or WALLET_PRIVATE_KEYS');
}

function fromVariable(keys: string): WalletsResult {
  const wallets: LoadedWallet[] = [];
  const parts = keys
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  for (const [index, part] of parts.entries()) {
    const account = accountOf(part);
    if (account === null) {
      return invalid(
        `WALLET_PRIVATE_KEYS: key ${index + 1} of ${parts.length} is not a private key (32 bytes of hex)`,
      );
    }
    wallets.push({ account, origin: 'WALLET_PRIVATE_KEYS' });
  }
  return { tag: 'loaded', wallets };
}

function fromKeystore(path: string, passphrase: string | undefined): WalletsResult {
  if (passphrase === undefined) return invalid('WALLET_KEYSTORE is set without WALLET_PASSPHRASE');
  const files = keystoreFiles(path);
  if (files === null) return invalid(`WALLET_KEYSTORE: nothing readable at ${path}`);
  if (files.length > MOST_WALLETS) {
    return invalid(`WALLET_KEYSTORE: more than ${MOST_WALLETS} files at ${path}`);
  }
  const wallets: LoadedWallet[] = [];
  for (const file of files) {
    const read = readKeystore(file);
    if (read.tag === 'unreadable') return invalid(`keystore ${file}: ${read.code}`);
    const key = decryptKeystore(read.text, passphrase);
    if (key.tag === 'invalid') return invalid(`keystore ${file}: ${key.problem}`);
    const account = accountOf(key.privateKey);
    if (account === null) return invalid(`keystore ${file}: it does not hold a usable key`);
    wallets.push({ account, origin: file });
  }
  return { tag: 'loaded', wallets };
}

/** The account of a private key in hex, with or without 0x; null where it is none. No message quotes it. */
export function accountOf(text: string): LocalAccount | null {
  const hex = text.startsWith('0x') ? text : `0x${text}`;
  if (!/^0x[0-9a-fA-F]{64}$/.test(hex)) return null;
  try {
    return signingAccount(hex as Hex);
  } catch {
    // expected: zero or beyond the curve's order; the library's message would quote the value
    return null;
  }
}

function unique(result: WalletsResult): WalletsResult {
  if (result.tag === 'invalid') return result;
  const seen = new Set(result.wallets.map(({ account }) => account.address));
  if (seen.size === 0) return invalid('no wallet found in what was given');
  if (seen.size !== result.wallets.length) return invalid('the same wallet is given twice');
  return result;
}

function invalid(problem: string): WalletsResult {
  return { tag: 'invalid', problem };
}
