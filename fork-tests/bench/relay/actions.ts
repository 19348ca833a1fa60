/** Agents with money and a grant, and any number of signed buys of theirs that all pass. */
import { type Address, erc20Abi, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { USD } from '../../../contracts-abi/constants.ts';
import { dollarPrice } from '../../chain/market/moves.ts';
import { pushPrice } from '../../chain/market/push.ts';
import { tokenOf } from '../../chain/seed/manifest.ts';
import type { Fork } from '../../harness/chain-handle.ts';
import {
  type Agent,
  buyAction,
  type GrantTerms,
  mine,
  openAgent,
  signedBody,
} from '../../relayer/agent.ts';

const FUNDS = 500n * USD;
const ETH = 10n ** 18n;
/** A little above the least that an agent may trade. */
const SIZE = 6n * USD;
/** Of the basket that `buyAction` buys. */
const CONSTITUENTS = ['LLY', 'UNH'];
const SURPLUS_BPS = 10n;
/** Within the band of the quote at the bench's gas price and fee step. */
const FEE = 400_000n;
/** Room for what the buys before it do to the price. */
const TERMS = { fee: FEE, slippageBps: 1_000, limit: (SIZE * 109n) / 100n };

/** So many owners, each with an account, a key, a grant and money of its own. */
export async function openAgents(
  fork: Fork,
  count: number,
  funds = FUNDS,
  grant: GrantTerms = { dailyLimit: FUNDS, maxSlippageBps: TERMS.slippageBps },
): Promise<(Agent & { ownerAddress: Address })[]> {
  const { client, deployment, accounts } = fork;
  const owners = Array.from({ length: count }, () => {
    const privateKey = generatePrivateKey();
    return { role: 'alice' as const, privateKey, account: privateKeyToAccount(privateKey) };
  });
  const purse = accounts.alice.account;
  let nonce = await client.getTransactionCount({ address: purse.address });
  let last: Hex = '0x';
  for (const { account } of owners) {
    await client.setBalance({ address: account.address, value: ETH });
    last = await fork.userClient('alice').writeContract({
      address: deployment.usdg,
      abi: erc20Abi,
      functionName: 'transfer',
      args: [account.address, funds],
      nonce,
      gas: 200_000n,
      chain: null,
      maxFeePerGas: 2_000_000_000n,
      maxPriorityFeePerGas: 0n,
    });
    nonce += 1;
  }
  await mine(fork, last);
  return await Promise.all(
    owners.map(async (owner) => {
      const own: Fork = {
        ...fork,
        accounts: { ...accounts, alice: owner },
        userClient: () => fork.userClient(owner.account),
      };
      const agent = await openAgent(own, 'alice', funds, grant);
      return { ...agent, ownerAddress: owner.account.address };
    }),
  );
}

/** What trades the pools back to where they stand now: a round of buys moves them, and the next one would not fit. */
export async function holdPrices(fork: Fork): Promise<() => Promise<void>> {
  const { client, manifest, accounts } = fork;
  const priceOf = async (symbol: string): Promise<number> =>
    Number((await dollarPrice(client, manifest, tokenOf(manifest, symbol))) ?? 0n);
  const start = await Promise.all(CONSTITUENTS.map(priceOf));
  return async () => {
    for (const [index, symbol] of CONSTITUENTS.entries()) {
      const factor = (start[index] ?? 0) / (await priceOf(symbol));
      await pushPrice(client, accounts.maker.account, manifest, symbol, factor);
    }
  };
}

/** The bodies of `count` different actions, of all agents in turn, good for five minutes. */
export async function signedActions(
  fork: Fork,
  agents: readonly Agent[],
  count: number,
): Promise<string[]> {
  const [some] = agents;
  if (some === undefined) throw new Error('there is no agent');
  const sample = await buyAction(fork, some, SIZE, TERMS, SURPLUS_BPS);
  const bodies: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const agent = agents[index % agents.length] ?? some;
    const { account, key } = agent;
    const own = { account, key: key.address, nonce: agent.nextNonce() };
    const signed = await signedBody(fork, agent, { ...sample, ...own });
    bodies.push(JSON.stringify(signed));
  }
  return bodies;
}
