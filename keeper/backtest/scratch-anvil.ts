/**
 * The Anvil that a replay plays on. What must hold: nothing of a replay reaches any other node. So the endpoint must
 * say that it is an Anvil and a fork, must not be one that the keeper works on, and is sent no signed transaction at
 * all: Anvil alone takes one from an account that it impersonates, and no key is loaded.
 */
import { type Address, type PublicClient, numberToHex } from 'viem';
import { z } from 'zod';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';

/** For an operator: what is wrong and what to do. */
export class BacktestError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BacktestError';
  }
}

const START = 'start one for this: npx anvil --fork-url <RPC that keeps past states> --port 8599';

const nodeInfoSchema = z.object({
  forkConfig: z.object({ forkUrl: z.string().nullish() }),
});

/** One method of Anvil's own. */
export const anvilRequest = (
  client: PublicClient,
  method: string,
  params: unknown[],
): Promise<unknown> => client.request({ method, params } as never);

/** The same endpoint under its other names. */
function endpoint(url: string): string {
  const { hostname, port, protocol, pathname } = new URL(url);
  const host = /^(localhost|\[::1\]|127\.\d+\.\d+\.\d+|0\.0\.0\.0)$/.test(hostname)
    ? 'here'
    : hostname;
  return `${host}:${port === '' ? protocol : port}${pathname.replace(/\/+$/, '')}`;
}

/** @throws BacktestError unless `url` is an Anvil fork of this chain that nothing else of ours works on */
export async function assertScratchAnvil(
  client: PublicClient,
  url: string,
  rpcUrls: readonly string[],
): Promise<void> {
  if (rpcUrls.some((rpcUrl) => endpoint(rpcUrl) === endpoint(url))) {
    throw new BacktestError(
      `${url} is the chain of RPC_URLS, and a replay resets what it plays on: ${START}`,
    );
  }
  const version = await asked(client, 'web3_clientVersion', url);
  if (typeof version !== 'string' || !/^anvil\//i.test(version)) {
    throw new BacktestError(`${url} does not say that it is an Anvil: ${START}`);
  }
  const info = nodeInfoSchema.safeParse(await asked(client, 'anvil_nodeInfo', url));
  if (!info.success || (info.data.forkConfig.forkUrl ?? '') === '') {
    throw new BacktestError(
      `the Anvil at ${url} is no fork, so past blocks are not in it: ${START}`,
    );
  }
  const chainId = await client.getChainId();
  if (chainId !== CHAIN_ID) {
    throw new BacktestError(`the Anvil at ${url} serves chain ${chainId}, not ${CHAIN_ID}`);
  }
}

async function asked(client: PublicClient, method: string, url: string): Promise<unknown> {
  try {
    return await anvilRequest(client, method, []);
  } catch {
    throw new BacktestError(`${url} does not answer ${method} as an Anvil does: ${START}`);
  }
}

const BALANCE_WEI = 10n ** 21n;

/** The fork stands at `block` as if nothing had been sent since, and sends as `executor`. @throws BacktestError */
export async function resetTo(
  client: PublicClient,
  block: bigint,
  executor: Address,
): Promise<void> {
  try {
    await anvilRequest(client, 'anvil_reset', [{ forking: { blockNumber: Number(block) } }]);
  } catch {
    throw new BacktestError(
      `block ${block} of the recording cannot be forked: the node behind the Anvil does not have it`,
    );
  }
  const head = await client.getBlockNumber({ cacheTime: 0 });
  if (head !== block) throw new BacktestError(`the Anvil stands at block ${head}, not ${block}`);
  await anvilRequest(client, 'evm_setAutomine', [true]);
  await anvilRequest(client, 'anvil_setBalance', [executor, numberToHex(BALANCE_WEI)]);
  await anvilRequest(client, 'anvil_impersonateAccount', [executor]);
}
