import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { sendSerialised, serialise, wantsPretty } from '../http/json-body.ts';
import type { RouteContext } from './context.ts';

const ONBOARDING =
  'List baskets with GET /v1/markets, check a wallet with GET /v1/wallet/{address}, then build unsigned transactions under /v1/tx. If approval is not null, send it first and wait until it is mined, then send tx. Nothing here holds keys or funds: never send a private key.';

const ENDPOINTS = {
  baskets: 'GET /v1/baskets',
  basket: 'GET /v1/baskets/{ticker}',
  markets: 'GET /v1/markets',
  wallet: 'GET /v1/wallet/{address}',
  orders: 'GET /v1/orders/{address}',
  jobs: 'GET /v1/jobs',
  buy: 'POST /v1/tx/buy',
  sell: 'POST /v1/tx/sell',
  exit: 'POST /v1/tx/exit',
  limit: 'POST /v1/tx/limit',
  cancel: 'POST /v1/tx/cancel',
  agentSession: 'GET /v1/agent/session',
  agentTrade: 'POST /v1/agent/trade',
  health: 'GET /health',
  ready: 'GET /ready',
  metrics: 'GET /metrics',
};

/** GET /: the discovery document. */
export function rootRoute({ http, service }: RouteContext): void {
  const { urls, deployment } = service;
  const body = {
    name: 'Basket Index Trading Service',
    version: 'v1',
    custody: 'none',
    url: urls.base,
    chain: {
      name: 'Robinhood Chain',
      chainId: CHAIN_ID,
      rpc: urls.rpc,
      explorer: urls.explorer,
      usdg: deployment.usdg,
      gas: 'Gas is paid in ETH on chain 4663; USDG has 6 decimals.',
    },
    endpoints: ENDPOINTS,
    onboarding: ONBOARDING,
    llms: '/llms.txt',
    openapi: '/openapi.json',
  };
  const plain = serialise(body, false);
  const pretty = serialise(body, true);
  http.route('get', '/', (request, response) => {
    sendSerialised(request, response, wantsPretty(request) ? pretty : plain, 'public, max-age=300');
  });
}
