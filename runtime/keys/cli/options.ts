/** Settings that only `npm run key` reads, beside WALLET_KEYSTORE and WALLET_PASSPHRASE. */
import { z } from 'zod';
import { option } from '../../config.ts';
import { keyOptions } from '../wallets.ts';

export const keyCommandOptions = z.object({
  WALLET_NEW_PASSPHRASE: option(z.string().min(1).optional(), {
    description:
      'Passphrase that `npm run key -- rotate` encrypts the keys under; absent: it asks on the terminal.',
    example: 'another long passphrase',
    secret: true,
  }),
  WALLET_IMPORT_PASSPHRASE: option(z.string().min(1).optional(), {
    description:
      'Passphrase of a keystore file that `npm run key -- import` reads from stdin; absent: WALLET_PASSPHRASE.',
    example: 'the passphrase of that file',
    secret: true,
  }),
});

const { WALLET_KEYSTORE, WALLET_PASSPHRASE } = keyOptions.shape;

export const keyCommandSchema = z.object({
  WALLET_KEYSTORE,
  WALLET_PASSPHRASE,
  ...keyCommandOptions.shape,
});

/** What is wrong and what to do, for an operator: never a value of a key or a passphrase. */
export class KeyCommandError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyCommandError';
  }
}
