/** Agents with money and a grant, and any number of signed buys of theirs that all pass. */
import { USD } from '../../../contracts-abi/constants.ts';
import type { Role } from '../../chain/seed/accounts.ts';
import type { Fork } from '../../harness/chain-handle.ts';
import { type Agent, buyAction, openAgent, signedBody } from '../../relayer/agent.ts';

const OWNERS: readonly Role[] = ['alice', 'bob', 'carol', 'dave', 'erin', 'frank'];
const FUNDS = 50_000n * USD;
/** A little above the least that an agent may trade. */
const SIZE = 6n * USD;
/** Within the band of the quote at the bench's gas price and fee step. */
export const FEE = 400_000n;

export async function openAgents(fork: Fork): Promise<Agent[]> {
  const agents: Agent[] = [];
  for (const owner of OWNERS) {
    agents.push(await openAgent(fork, owner, FUNDS, { dailyLimit: FUNDS }));
  }
  return agents;
}

/** The bodies of `count` different actions, of all agents in turn, good for five minutes. */
export async function signedActions(
  fork: Fork,
  agents: readonly Agent[],
  count: number,
): Promise<string[]> {
  const first = await Promise.all(
    agents.map((agent) => buyAction(fork, agent, SIZE, { fee: FEE })),
  );
  const bodies: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const at = index % agents.length;
    const [agent, action] = [agents[at], first[at]];
    if (agent === undefined || action === undefined) throw new Error('there is no agent');
    const signed = await signedBody(fork, agent, { ...action, nonce: agent.nextNonce() });
    bodies.push(JSON.stringify(signed));
  }
  return bodies;
}
