/** The query of GET /v1/leverage/sell-routes. */
import { z } from 'zod';
import { addressSchema } from '../../runtime/schema.ts';
import { sharesSchema } from './common.ts';

export const sellRoutesQuery = z.object({
  vault: addressSchema.meta({ description: 'Vault of a basket, as /v1/baskets names it.' }),
  shares: sharesSchema.meta({
    description: 'Shares to sell, 1e18 units; at most what the basket has in all.',
  }),
});
