import { defineEndpoint } from '../http/endpoint.ts';
import { addressPath } from '../schemas/reads.ts';
import { walletBody } from '../schemas/responses/wallet.ts';
import { readWallet } from '../wallet/read-wallet.ts';

export const wallet = defineEndpoint({
  method: 'get',
  path: '/v1/wallet/{address}',
  id: 'wallet',
  tag: 'Reads',
  summary: "A wallet's balances, its own shares, and whether its ETH pays for a trade.",
  params: addressPath,
  response: walletBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  answer: ({ service }, { params }) => readWallet(service, params.address),
});
