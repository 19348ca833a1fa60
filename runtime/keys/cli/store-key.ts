/** `new` and `import`: one more key in the folder. */
import { getAddress, type Hex } from 'viem';
import { generatePrivateKey } from 'viem/accounts';
import { keystoreFiles, readKeystore, writeNew } from '../folder.ts';
import { decryptKeystore, encryptKeystore, statedAddress } from '../keystore.ts';
import { accountOf, MOST_WALLETS } from '../wallets.ts';
import { KeyCommandError } from './options.ts';

export type StoredKey = { address: `0x${string}`; file: string };

export type KeyPlace = {
  /** The folder, locked by the caller. */
  folder: string;
  passphrase: string;
  /** scrypt's N, for tests; absent: the standard's. */
  cost?: number;
  now?: Date;
};

/** @throws KeyCommandError when the folder's other keys do not open with the passphrase, or are too many */
export function storeNewKey(place: KeyPlace): StoredKey {
  return storeKey(generatePrivateKey(), place);
}

/**
 * Stores the key that `text` holds: 32 bytes of hex, or a version 3 keystore file that `importPassphrase` opens.
 * @throws KeyCommandError when it is neither, or its key is in the folder already; the text is never quoted
 */
export function importKey(text: string, importPassphrase: string, place: KeyPlace): StoredKey {
  const trimmed = text.trim();
  if (trimmed === '')
    throw new KeyCommandError('nothing came on stdin: pipe the key into the command');
  let privateKey = trimmed;
  if (trimmed.startsWith('{')) {
    const opened = decryptKeystore(trimmed, importPassphrase);
    if (opened.tag === 'invalid')
      throw new KeyCommandError(`the keystore on stdin: ${opened.problem}`);
    ({ privateKey } = opened);
  }
  if (accountOf(privateKey) === null) {
    throw new KeyCommandError('what came on stdin is not a private key (32 bytes of hex)');
  }
  return storeKey((privateKey.startsWith('0x') ? privateKey : `0x${privateKey}`) as Hex, place);
}

function storeKey(privateKey: Hex, place: KeyPlace): StoredKey {
  const { folder, passphrase, cost, now = new Date() } = place;
  const address = accountOf(privateKey)?.address;
  if (address === undefined) throw new KeyCommandError('not a private key');
  assertFits(folder, passphrase, address);
  const text = encryptKeystore(privateKey, passphrase, cost);
  const again = decryptKeystore(text, passphrase);
  if (again.tag !== 'key' || again.privateKey !== privateKey) {
    throw new KeyCommandError('the encrypted key does not open again: nothing was written');
  }
  return { address, file: writeNew(folder, fileName(address, now), text) };
}

/** As geth names them: the names sort by age, so that the first wallet stays the first. */
function fileName(address: string, now: Date): string {
  const time = now.toISOString().replace(/:/g, '-').replace('Z', '000000Z');
  return `UTC--${time}--${address.slice(2).toLowerCase()}`;
}

/**
 * Processes load a folder whole or not at all: a key that is there already, or under another passphrase than the
 * others, would keep them from starting.
 */
function assertFits(folder: string, passphrase: string, address: string): void {
  const files = keystoreFiles(folder) ?? [];
  if (files.length >= MOST_WALLETS) {
    throw new KeyCommandError(
      `${folder} holds ${files.length} files; at most ${MOST_WALLETS} are loaded`,
    );
  }
  for (const [index, file] of files.entries()) {
    const read = readKeystore(file);
    if (read.tag === 'unreadable') throw new KeyCommandError(`${file}: ${read.code}`);
    let stated = statedAddress(read.text);
    // The ends tell of an interrupted rotation too, which goes in the order of names; each opening costs a second.
    if (stated === null || index === 0 || index === files.length - 1) {
      const opened = decryptKeystore(read.text, passphrase);
      if (opened.tag === 'invalid') {
        throw new KeyCommandError(
          `${file}: ${opened.problem}. All keys of a folder share one passphrase: nothing was written`,
        );
      }
      stated = accountOf(opened.privateKey)?.address ?? null;
    }
    if (stated !== null && getAddress(stated) === address) {
      throw new KeyCommandError(`the key of ${address} is there already: ${file}`);
    }
  }
}
