/** The discovery document (wire.md, Root document): who this is, on which chain, and every endpoint by name. */
import type { z } from 'zod';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import type { Endpoint } from '../http/endpoint.ts';
import type { rootBody } from '../schemas/responses/discovery.ts';
import type { Service } from '../service.ts';

const ONBOARDING =
  'List baskets with GET /v1/markets, check a wallet with GET /v1/wallet/{address}, then build unsigned transactions under /v1/tx. If approval is not null, send it first and wait until it is mined, then send tx. Nothing here holds keys or funds: never send a private key.';

/** As wallets show it. */
export const CHAIN_NAME = 'Robinhood Chain';

/** `endpoints` names each endpoint by its id. */
export function rootDocument(
  service: Pick<Service, 'urls' | 'deployment'>,
  endpoints: readonly Endpoint[],
): z.input<typeof rootBody> {
  const { urls, deployment } = service;
  return {
    name: 'Basket Index Trading Service',
    version: 'v1',
    custody: 'none',
    url: urls.base,
    chain: {
      name: CHAIN_NAME,
      chainId: CHAIN_ID,
      rpc: urls.rpc,
      explorer: urls.explorer,
      usdg: deployment.usdg,
      gas: 'Gas is paid in ETH on chain 4663; USDG has 6 decimals.',
    },
    endpoints: Object.fromEntries(
      endpoints.flatMap(({ id, method, path, aliases = {} }) =>
        Object.entries({ [id]: path, ...aliases }).map(([name, at]) => [
          name,
          `${method.toUpperCase()} ${at}`,
        ]),
      ),
    ),
    onboarding: ONBOARDING,
    llms: '/llms.txt',
    openapi: '/openapi.json',
    docs: '/docs',
    mcp: '/mcp',
  };
}
