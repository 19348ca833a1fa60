/** What `/v1/strategies/{address}` answers (wire.md, Reads). */
import { z } from 'zod';
import { addressText, id32Text, indexedBlock, tickerText } from './scalars.ts';

const strategy = z
  .object({
    id: id32Text.meta({ description: 'Of the order or schedule.' }),
    ticker: tickerText.nullable(),
    type: z.enum(['exit', 'limit', 'schedule']),
    buys: z
      .int()
      .meta({ description: 'Buys executed: one for a limit, one a slot of a schedule.' }),
    sold: z.int().meta({ description: 'Sales executed: one for an exit.' }),
    spentUsd: z.number().meta({ description: 'Dollars that the buys cost, fees included.' }),
    receivedUsd: z
      .number()
      .meta({ description: 'Dollars that the sales paid to the owner, fees deducted.' }),
  })
  .meta({ id: 'Strategy' });

export const strategiesBody = z
  .object({ address: addressText, strategies: z.array(strategy), asOfBlock: indexedBlock })
  .meta({ id: 'Strategies' });
