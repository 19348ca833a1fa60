import { readPositions } from '../accounting/read-positions.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { addressPath } from '../schemas/reads.ts';
import { positionsBody } from '../schemas/responses/positions.ts';

export const positions = defineEndpoint({
  method: 'get',
  path: '/v1/positions/{address}',
  id: 'positions',
  tag: 'Reads',
  summary: 'What an owner holds of each basket, what it cost, and its profit.',
  description: [
    'Shares, cost and profit are as of one block, the newest when the call is made; shares in open exit orders are included. Cost and profit are by average cost, every fee counted:',
    'a buy adds what was paid for the shares, whoever paid; a sale realises its proceeds less the average cost of what was sold, whoever received them; orders, schedules and session trades count like any other.',
    'Shares that arrive by a transfer (or by minting in kind) cost their NAV in the minute before; where that is not known, the price of the nearest trade, and where there is none the NAV of now.',
    'Shares that leave by a transfer (or a redemption in kind) take their part of the cost with them and realise nothing.',
    'While the index cannot account for every share on chain, the answer is 502 and never a cost that leaves some out.',
    'A basket that is not held any more stays listed for its realised profit.',
  ].join(' '),
  params: addressPath,
  response: positionsBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  answer: ({ service }, { params }) => readPositions(service, params.address),
});
