/** What `/v1/wallet/{address}` answers (wire.md, Reads). */
import { z } from 'zod';
import { CHAIN_ID } from '../../../contracts-abi/constants.ts';
import { addressText, tickerText, weiText } from './scalars.ts';

export const walletBody = z
  .object({
    address: addressText,
    chainId: z.literal(CHAIN_ID),
    eth: z.number().meta({ description: 'ETH.' }),
    ethWei: weiText,
    usdg: z.number().meta({ description: 'USDG, in dollars.' }),
    usdgWei: weiText,
    holdings: z
      .array(z.object({ ticker: tickerText, sharesWei: weiText }))
      .meta({ description: "The wallet's own shares; escrowed ones are not among them." }),
    tradeGasEth: z
      .number()
      .meta({ description: 'ETH of one trade and its approval at twice the current gas price.' }),
    gasOk: z.boolean().meta({ description: 'Whether eth covers tradeGasEth.' }),
    note: z.string().optional(),
  })
  .meta({ id: 'Wallet' });
