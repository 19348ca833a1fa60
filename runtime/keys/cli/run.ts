/** One `npm run key` command from its settings to its exit code. */
import { realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { loadConfig } from '../../config.ts';
import { lockFolder, othersMayRead, removeUnfinished } from '../folder.ts';
import { makeFolder } from '../../make-folder.ts';
import type { KeyCommand } from './arguments.ts';
import { listKeys, listText } from './list.ts';
import { KeyCommandError, keyCommandSchema } from './options.ts';
import { passphraseWarnings } from './passphrase.ts';
import { rotateKeys } from './rotate.ts';
import { importKey, type StoredKey, storeNewKey } from './store-key.ts';
import type { Terminal } from './terminal.ts';

export type KeyRun = {
  env: NodeJS.ProcessEnv;
  terminal: Terminal;
  /** The answer: addresses and files. */
  say: (line: string) => void;
  warn: (line: string) => void;
  /** scrypt's N, for tests; absent: the standard's. */
  cost?: number;
};

/**
 * Returns the exit code: 1 when `list` finds a key that does not open.
 * @throws KeyCommandError and ConfigError, for an operator to read
 */
export async function runKeyCommand(command: KeyCommand, run: KeyRun): Promise<number> {
  const settings = loadConfig(keyCommandSchema, run.env);
  const { terminal, say, warn } = run;
  const cost = run.cost === undefined ? {} : { cost: run.cost };
  if (settings.WALLET_KEYSTORE === undefined) {
    throw new KeyCommandError(
      'WALLET_KEYSTORE is not set: the folder of the keys. For example: WALLET_KEYSTORE=.data/keys',
    );
  }
  const path = resolve(settings.WALLET_KEYSTORE);
  if (command === 'list') {
    const keys = listKeys(path, settings.WALLET_PASSPHRASE);
    for (const line of listText(keys)) say(line);
    for (const { file } of keys.filter((key) => key.othersMayRead)) {
      warn(`others may read ${file}: chmod 600 it`);
    }
    if (keys.length === 0) warn(`no keys at ${path}`);
    return keys.some(({ opens }) => opens === false) ? 1 : 0;
  }
  if (command === 'rotate') {
    const { held, place } = hold(existing(path), false);
    try {
      const oldPassphrase = await secret(settings.WALLET_PASSPHRASE, 'WALLET_PASSPHRASE', terminal);
      const { WALLET_NEW_PASSPHRASE: next } = settings;
      const newPassphrase = await chosen(next, 'WALLET_NEW_PASSPHRASE', terminal, warn);
      const { rotated, before } = rotateKeys({
        path: existing(path),
        folder: place,
        oldPassphrase,
        newPassphrase,
        ...cost,
      });
      for (const file of before) say(`was under the new passphrase already: ${file}`);
      for (const file of rotated) say(`rotated: ${file}`);
      warn('set WALLET_PASSPHRASE to the new passphrase before the next start');
      return 0;
    } finally {
      held.release();
    }
  }
  const { held, place: folder } = hold(path, true);
  try {
    removeUnfinished(folder);
    // The piped text is read before anybody is asked: both come from stdin.
    const piped = command === 'import' && terminal.ask === null ? await terminal.readPiped() : null;
    const { WALLET_PASSPHRASE: given } = settings;
    const passphrase = await chosen(given, 'WALLET_PASSPHRASE', terminal, warn);
    const place = { folder, passphrase, ...cost };
    let stored: StoredKey;
    if (command === 'new') stored = storeNewKey(place);
    else {
      const text = piped ?? (await terminal.ask?.('private key (hex)')) ?? '';
      stored = importKey(text, settings.WALLET_IMPORT_PASSPHRASE ?? passphrase, place);
    }
    say(`${stored.address}  ${stored.file}`);
    if (othersMayRead(folder)) warn(`warning: others may look into ${folder}: chmod 700 it`);
    return 0;
  } finally {
    held.release();
  }
}

/** A link to a file or folder stands for what it points to. */
function existing(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new KeyCommandError(`nothing readable at ${path} (${codeOf(error)})`);
  }
}

function hold(path: string, make: boolean): { held: { release(): void }; place: string } {
  let place = path;
  let held: { release(): void } | null;
  try {
    if (make) makeFolder(path);
    else if (!statSync(path).isDirectory()) place = dirname(path);
    held = lockFolder(place);
  } catch (error) {
    const what = make
      ? 'the folder of the keys cannot be made or written'
      : 'the folder cannot be written';
    throw new KeyCommandError(`${what}: ${place} (${codeOf(error)})`);
  }
  if (held === null) {
    throw new KeyCommandError(`another key command works on ${place}: wait for its end`);
  }
  return { held, place };
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'fault';

async function secret(
  given: string | undefined,
  name: string,
  { ask }: Terminal,
  question = name,
): Promise<string> {
  if (given !== undefined) return given;
  if (ask === null)
    throw new KeyCommandError(`${name} is not set, and there is no terminal to ask on`);
  const typed = await ask(question);
  if (typed === '') throw new KeyCommandError(`${name}: nothing was typed`);
  return typed;
}

/** A passphrase that will encrypt: typed twice, and judged. */
async function chosen(
  given: string | undefined,
  name: string,
  terminal: Terminal,
  warn: (line: string) => void,
): Promise<string> {
  const passphrase = await secret(given, name, terminal);
  if (given === undefined && (await terminal.ask?.(`${name} once more`)) !== passphrase) {
    throw new KeyCommandError(`${name}: the two are not the same`);
  }
  for (const warning of passphraseWarnings(passphrase)) warn(`warning: ${warning}`);
  return passphrase;
}
