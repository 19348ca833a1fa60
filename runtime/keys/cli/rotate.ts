/**
 * `rotate`: every key of a folder under a new passphrase. What must hold: at every moment each file opens with the old
 * or with the new passphrase, whenever the process dies; the command run again finishes what is left. Nothing is
 * changed unless every file opens with one of the two.
 */
import type { Hex } from 'viem';
import { keystoreFiles, readKeystore, removeUnfinished, replaceFile } from '../folder.ts';
import { decryptKeystore, encryptKeystore } from '../keystore.ts';
import { KeyCommandError } from './options.ts';

export type Rotation = {
  /** The folder or file of WALLET_KEYSTORE. */
  path: string;
  /** The folder that is locked by the caller: `path`, or the one around it. */
  folder: string;
  oldPassphrase: string;
  newPassphrase: string;
  /** scrypt's N, for tests; absent: the standard's. */
  cost?: number;
  /** Told of each moment at which a death leaves other files than the moment before: the kill test dies there. */
  onDurablePoint?: (point: 'checked' | 'written' | 'replaced') => void;
};

/** Files that were encrypted anew, and files that were under the new passphrase before. @throws KeyCommandError */
export function rotateKeys(rotation: Rotation): { rotated: string[]; before: string[] } {
  const { path, folder, oldPassphrase, newPassphrase, onDurablePoint = () => undefined } = rotation;
  if (oldPassphrase === newPassphrase) {
    throw new KeyCommandError('the new passphrase is the old one: nothing was changed');
  }
  const files = keystoreFiles(path);
  if (files === null) throw new KeyCommandError(`nothing readable at ${path}`);
  if (files.length === 0) throw new KeyCommandError(`no keys at ${path}`);
  const { old, before } = sorted(files, oldPassphrase, newPassphrase);
  removeUnfinished(folder);
  onDurablePoint('checked');
  for (const { file, privateKey } of old) {
    const text = encryptKeystore(privateKey, newPassphrase, rotation.cost);
    const again = decryptKeystore(text, newPassphrase);
    if (again.tag !== 'key' || again.privateKey !== privateKey) {
      throw new KeyCommandError(
        `${file}: the new encryption does not open again; it was left as it is`,
      );
    }
    replaceFile(file, text, () => onDurablePoint('written'));
    onDurablePoint('replaced');
  }
  return { rotated: old.map(({ file }) => file), before };
}

function sorted(
  files: readonly string[],
  oldPassphrase: string,
  newPassphrase: string,
): { old: { file: string; privateKey: Hex }[]; before: string[] } {
  const old: { file: string; privateKey: Hex }[] = [];
  const before: string[] = [];
  const problems: string[] = [];
  for (const file of files) {
    const read = readKeystore(file);
    if (read.tag === 'unreadable') {
      problems.push(`  ${file}: ${read.code}`);
      continue;
    }
    const opened = decryptKeystore(read.text, oldPassphrase);
    if (opened.tag === 'key') old.push({ file, privateKey: opened.privateKey });
    else if (decryptKeystore(read.text, newPassphrase).tag === 'key') before.push(file);
    else problems.push(`  ${file}: ${opened.problem}`);
  }
  if (problems.length > 0) {
    throw new KeyCommandError(
      `nothing was changed, since these open neither with the old nor with the new passphrase:\n${problems.join('\n')}\nA rotation that was interrupted is finished with the passphrases that it was begun with.`,
    );
  }
  return { old, before };
}
