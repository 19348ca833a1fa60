/** What GET /v1/leverage/sell-routes answers (wire.md, Reads). */
import { z } from 'zod';
import { addressText, hexText, weiText } from './scalars.ts';

const swapCall = z
  .object({
    router: addressText,
    tokenIn: addressText,
    tokenOut: addressText,
    amountIn: weiText,
    callData: hexText,
  })
  .meta({ id: 'SwapCall', description: "One swap, as the zapper's functions take it." });

export const sellRoutesBody = z
  .object({
    vault: addressText,
    shares: weiText,
    zapper: addressText,
    router: addressText,
    swaps: z.array(swapCall),
    legs: z.array(
      z.object({
        symbol: z.string(),
        token: addressText,
        amountIn: weiText,
        expectedUsdg: weiText.meta({ description: 'What it yields after the legs before it.' }),
      }),
    ),
    unrouted: z.array(addressText).meta({ description: 'Constituents that no route takes now.' }),
    note: z.string(),
    grossUsdg: weiText.meta({
      description: 'What all legs yield, before the sell fee, USDG base units.',
    }),
    asOfBlock: z.int().meta({ description: 'Number of the block that was read.' }),
  })
  .meta({ id: 'SellRoutes' });
