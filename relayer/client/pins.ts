/**
 * What the host knows by itself and takes from no answer: the modules that it signs for, the cover market whose
 * listings it reads, and the vault of each ticker.
 * The fields are those of a deployment file (contracts-abi/deployment.ts), so any deployment of this wire format fits.
 */
import type { Address } from 'viem';
import { z } from 'zod';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { addressSchema, firstProblem } from '../../runtime/schema.ts';

const pinsSchema = z.object({
  chainId: z.literal(CHAIN_ID),
  sessionModule: addressSchema,
  /** Without it no cover action is signed. */
  coverModule: addressSchema.optional(),
  /** Where listings of cover are read. Without it no take of cover is signed by a client that has a chain reader. */
  coverMarket: addressSchema.optional(),
  baskets: z.array(z.object({ ticker: z.string().min(1), vault: addressSchema })).min(1),
});

export type Pins = Readonly<z.infer<typeof pinsSchema>>;

/**
 * @param deployment the parsed JSON of a deployment file; fields beyond those above are ignored.
 * @throws TypeError naming the field that is wrong
 * @example const pins = pinsOf(JSON.parse(readFileSync(file, 'utf8')));
 */
export function pinsOf(deployment: unknown): Pins {
  const parsed = pinsSchema.safeParse(deployment);
  if (!parsed.success) throw new TypeError(`deployment: ${firstProblem(parsed.error)}`);
  return parsed.data;
}

/** The vault that the host knows the ticker by. */
export function vaultOf(pins: Pins, ticker: string): Address | null {
  return pins.baskets.find((basket) => basket.ticker === ticker)?.vault ?? null;
}
