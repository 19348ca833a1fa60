/** What `/v1/orders/{address}` answers (wire.md, Reads). */
import { z } from 'zod';
import { addressText, id32Text, indexedBlock, tickerText } from './scalars.ts';

const navPrice = z.number().nullable().meta({ description: 'Dollars per share; null: none.' });

const shared = {
  id: id32Text,
  escrow: addressText,
  ticker: tickerText.nullable(),
  deadline: z.int().meta({ description: 'Unix seconds; from then on it only goes back.' }),
};

const exitOrder = z
  .object({
    ...shared,
    shares: z.number(),
    stopNav: navPrice,
    tpNav: navPrice,
    kind: z.enum(['stop_loss', 'take_profit', 'bracket']),
  })
  .meta({ id: 'ExitOrder' });

const limitBuy = z
  .object({
    ...shared,
    amountUsdg: z.number().meta({ description: 'Dollars in escrow.' }),
    triggerNav: navPrice,
    triggerBelow: z.boolean(),
    kind: z.literal('limit_buy'),
  })
  .meta({ id: 'LimitBuy' });

export const ordersBody = z
  .object({
    address: addressText,
    orders: z.array(z.union([exitOrder, limitBuy])),
    asOfBlock: indexedBlock,
  })
  .meta({ id: 'Orders' });
