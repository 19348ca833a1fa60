/** The scalars of responses, as wire.md notes them. */
import { z } from 'zod';

/** `wei`: base units as a decimal string. */
export const weiText = z
  .string()
  .regex(/^[0-9]+$/)
  .meta({ id: 'Wei', description: 'Base units as a decimal string.' });

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
