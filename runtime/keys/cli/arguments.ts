/** The command line of `npm run key`. Keys and passphrases never come from here: every user of a machine can read it. */
export type KeyCommand = 'new' | 'import' | 'rotate' | 'list';

export const USAGE = `usage: npm run key -- new | import | rotate | list
  new     makes a random key, encrypts it, prints its address and file
  import  reads a private key (hex) or a keystore file from stdin, encrypts it, prints its address and file
  rotate  encrypts every key under WALLET_NEW_PASSPHRASE instead of WALLET_PASSPHRASE
  list    prints each key's address and file, and whether WALLET_PASSPHRASE opens it
The keys are files in the folder WALLET_KEYSTORE. On a terminal, what is not set is asked for.`;

const COMMANDS: readonly string[] = ['new', 'import', 'rotate', 'list'] satisfies KeyCommand[];

/** Null for anything but one known word; what was typed is not repeated, for it may be a key. */
export function parseKeyArguments(line: readonly string[]): KeyCommand | null {
  const [word, ...rest] = line;
  if (word === undefined || rest.length > 0 || !COMMANDS.includes(word)) return null;
  return word as KeyCommand;
}
