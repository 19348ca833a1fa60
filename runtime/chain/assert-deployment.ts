/**
 * Whether the contracts of a deployment file stand on this chain and name each other. A file of another chain, of one
 * that was started anew, or with one address wrong would make honest work look hostile.
 */
import {
  type Address,
  BaseError,
  decodeFunctionResult,
  encodeFunctionData,
  ExecutionRevertedError,
  getAddress,
  type Hex,
  multicall3Abi,
  parseAbi,
  type PublicClient,
} from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { OperatorError } from '../operator-error.ts';

/** A contract of the file, and what it is to say of the others. */
type Link = { name: string; address: Address; says: Readonly<Record<string, Address>> };

/** Contracts that are named in the message. */
const MOST_NAMED = 3;

/**
 * Asks each contract of ours for the others that it names: one call through Multicall3.
 * @throws OperatorError where the chain says that the file does not fit; what the client throws where it says nothing
 */
export async function assertDeployment(
  client: PublicClient,
  deployment: Deployment,
): Promise<void> {
  const links = linksOf(deployment);
  const asked = links.flatMap((link) =>
    Object.entries(link.says).map(([view, expected]) => ({ link, view, expected })),
  );
  const answers = await askAll(
    client,
    deployment.multicall3,
    asked.map(({ link, view }) => ({ to: link.address, view })),
  );
  if (answers === null) throw misfit([`no Multicall3 at multicall3 ${deployment.multicall3}`]);
  const wrong = new Map<string, string>();
  for (const [index, { link, view, expected }] of asked.entries()) {
    const said = answers[index] ?? null;
    if (said === expected) continue;
    const { name, address } = link;
    const what =
      said === null
        ? `no contract of the protocol at ${name} ${address}`
        : `${name} ${address} works with another ${view}, ${said}`;
    if (!wrong.has(name)) wrong.set(name, what);
  }
  if (wrong.size > 0) throw misfit([...wrong.values()]);
}

function misfit(wrong: readonly string[]): OperatorError {
  const more = wrong.length > MOST_NAMED ? ` and ${wrong.length - MOST_NAMED} more` : '';
  return new OperatorError(
    `the file of DEPLOYMENT_FILE does not fit the chain of RPC_URLS: ${wrong.slice(0, MOST_NAMED).join('; ')}${more}. Set both to the same deployment; a local chain that was started anew has a new file`,
  );
}

function linksOf(deployment: Deployment): Link[] {
  const { usdg, weth, registry, oracle, zapper, pause, baskets } = deployment;
  const { exitEscrow, coverMarket, sessionModule, coverModule } = deployment;
  const base = { usdg, registry, oracle, pause };
  const says = {
    oracle: { usdg, weth, wethUsdgPool: deployment.wethUsdgPool },
    zapper: {
      usdg,
      weth,
      router: deployment.swapRouter02,
      uniswapFactory: deployment.uniswapV3Factory,
      registry,
      pause,
    },
    exitEscrow: { ...base, zapper },
    limitEscrow: { ...base, zapper },
    scheduleEscrow: { ...base, zapper },
    coverMarket: base,
    sessionModule: { registry, coverModule, factory: deployment.accountFactory },
    coverModule: { exitEscrow, session: sessionModule, market: coverMarket },
    quoterV2: { factory: deployment.uniswapV3Factory },
  } as const;
  return [
    ...Object.entries(says).map(([name, says]) => ({
      name,
      address: deployment[name as keyof typeof says],
      says,
    })),
    ...baskets.map(({ ticker, vault }) => ({ name: ticker, address: vault, says: { registry } })),
  ];
}

/** The address that each view gives, null where it gives none; null as a whole where there is no Multicall3. */
async function askAll(
  client: PublicClient,
  multicall3: Address,
  views: readonly { to: Address; view: string }[],
): Promise<(Address | null)[] | null> {
  const data = encodeFunctionData({
    abi: multicall3Abi,
    functionName: 'aggregate3',
    args: [
      views.map(({ to, view }) => ({
        target: to,
        allowFailure: true,
        callData: encodeFunctionData({
          abi: parseAbi([`function ${view}() view returns (address)`] as readonly string[]),
          functionName: view,
        }),
      })),
    ],
  });
  let answer: Hex | undefined;
  try {
    ({ data: answer } = await client.call({ to: multicall3, data }));
  } catch (error) {
    const reverts =
      error instanceof BaseError &&
      error.walk((cause) => cause instanceof ExecutionRevertedError) !== null;
    if (reverts) return null;
    throw error;
  }
  if (answer === undefined || answer === '0x') return null;
  return decodeFunctionResult({
    abi: multicall3Abi,
    functionName: 'aggregate3',
    data: answer,
  }).map(({ success, returnData }) =>
    success && /^0x0{24}[0-9a-f]{40}$/i.test(returnData)
      ? getAddress(`0x${returnData.slice(-40)}`)
      : null,
  );
}
