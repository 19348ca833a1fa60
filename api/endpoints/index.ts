/** Every endpoint of the api, in the order in which the documentation lists them. */
import type { Endpoint } from '../http/endpoint.ts';
import { markets } from './markets.ts';
import { txBuy } from './tx-buy.ts';

export const ENDPOINTS: readonly Endpoint[] = [markets, txBuy];
