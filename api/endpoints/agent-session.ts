import { ReadBatch } from '../../runtime/chain/read-batch.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { sessionQuery } from '../schemas/agent.ts';
import { sessionBody } from '../schemas/responses/agent.ts';
import { planSession, sessionJson } from '../session/read-session.ts';

export const agentSession = defineEndpoint({
  method: 'get',
  path: '/v1/agent/session',
  id: 'agentSession',
  tag: 'Agent',
  summary: "The live permission of an agent's key on an owner's account. Never cached.",
  query: sessionQuery,
  response: sessionBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  answer: async ({ service }, { query }) => {
    const { owner, key } = query;
    const account = await service.accounts.of(owner);
    const batch = new ReadBatch();
    const session = planSession(batch, service, owner, key, account);
    await batch.send(service.client, service.deployment.multicall3);
    return sessionJson(service, session());
  },
});
