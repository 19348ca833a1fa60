/** What `/v1/stats` answers (wire.md, Reads). */
import { z } from 'zod';

export const statsBody = z
  .object({
    indexes: z.int().meta({ description: 'Baskets that the registry lists.' }),
    volumeAllTime: z
      .number()
      .meta({ description: 'Dollars of all buys and sells since genesis, before fees.' }),
    tvl: z.number().meta({ description: 'Dollars: all shares at the NAVs of now.' }),
    asOfMs: z.int().meta({ description: 'When the marks were read, unix milliseconds.' }),
    live: z.boolean().meta({ description: 'False: marks or totals are not up to date.' }),
  })
  .meta({ id: 'Stats' });
