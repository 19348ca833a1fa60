import { defineEndpoint } from '../http/endpoint.ts';
import { confirmOpen } from '../orders/order-index.ts';
import { orderJson } from '../orders/order-json.ts';
import { addressPath } from '../schemas/reads.ts';
import { ordersBody } from '../schemas/responses/orders.ts';
import { requireIndex } from '../service.ts';

/** From the index, confirmed on chain. */
export const orders = defineEndpoint({
  method: 'get',
  path: '/v1/orders/{address}',
  id: 'orders',
  tag: 'Reads',
  summary: 'Open orders of an owner, each with its escrow.',
  params: addressPath,
  response: ordersBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  answer: async ({ service }, { params }) => {
    requireIndex(service);
    const { client, deployment, indexer, marks, orders } = service;
    const asOfBlock = indexer.height;
    const catalog = marks.catalog();
    const open = await confirmOpen(client, deployment, await orders.openOf(params.address));
    return {
      address: params.address,
      orders: open.map((order) => orderJson(order, catalog)),
      asOfBlock,
    };
  },
});
