/** What `/v1/positions/{address}` answers (wire.md, Reads). */
import { z } from 'zod';
import { addressText, tickerText, weiText } from './scalars.ts';

const dollars = (description: string) => z.number().meta({ description });

const position = z
  .object({
    ticker: tickerText,
    shares: z.number().meta({ description: 'walletShares + escrowedShares.' }),
    walletShares: z.number(),
    escrowedShares: z.number().meta({ description: 'In open exit orders.' }),
    sharesWei: weiText,
    walletSharesWei: weiText.meta({ description: 'What can be sold now; send it back unchanged.' }),
    nav: dollars('Dollars per share now; the last known one where there is none.'),
    value: dollars('shares x nav, in dollars.'),
    costBasis: dollars('What the shares held cost on average, fees included, in dollars.'),
    avgEntry: z
      .number()
      .nullable()
      .meta({ description: 'costBasis per share, in dollars; null when no share is held.' }),
    unrealizedPnl: dollars('value - costBasis.'),
    realizedPnl: dollars(
      'Of all sales so far: proceeds after fees less the cost of what was sold.',
    ),
  })
  .meta({ id: 'Position' });

export const positionsBody = z
  .object({ address: addressText, positions: z.array(position) })
  .meta({ id: 'Positions' });
