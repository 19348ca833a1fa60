/** The scalars of responses, as wire.md notes them. */
import { z } from 'zod';

/** `wei`: base units as a decimal string. */
export const weiText = z
  .string()
  .regex(/^[0-9]+$/)
  .meta({
    id: 'Wei',
    description:
      'Base units as a decimal string: shares 1e18, USDG 1e6, ETH 1e18. Send it back unchanged.',
  });

/** `addr`. */
export const addressText = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .meta({ id: 'Address', description: 'An address: 0x and 40 hex characters.' });

/** `hex`: 0x-prefixed whole bytes. */
export const hexText = z
  .string()
  .regex(/^0x(?:[0-9a-fA-F]{2})*$/)
  .meta({ id: 'Hex', description: '0x-prefixed bytes.' });

/** Of what comes from the index. */
export const indexedBlock = z.int().meta({
  description:
    'The answer knows every event up to this block. What a later block holds, such as an order just opened, may be missing: ask again.',
});

/** An order or job id. */
export const id32Text = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .meta({ id: 'Id32', description: '0x and 64 hex characters: 32 bytes.' });

export const tickerText = z.string().meta({ id: 'Ticker', description: 'Basket ticker.' });

/** An absolute address of this service or of one that it names. */
export const urlText = z.url().meta({ id: 'Url', description: 'Absolute URL.' });
