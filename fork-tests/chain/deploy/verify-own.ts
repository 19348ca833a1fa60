/** Whether the contracts of a deployment file are ours to the byte, and built with what they have to be built with. */
import {
  type Address,
  encodeFunctionData,
  erc20Abi,
  getContractAddress,
  type Hex,
  hexToBigInt,
  multicall3Abi,
} from 'viem';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { accountFactoryAbi, coverMarketAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { type Check, compare, type Read, Rule } from './checks.ts';
import { AS_BUILT, type OwnContract, readOwn, type Standing } from './code.ts';
import type { Externals } from './externals.ts';
import { immutableChecks } from './immutables.ts';

/** What is compared, in words of a DifferenceError. */
export const PARTS = 'parts of the deployment';

const CONTRACTS = {
  pause: 'protocolPause',
  registry: 'basketRegistry',
  oracle: 'navOracle',
  zapper: 'basketZapper',
  exitEscrow: 'exitEscrow',
  limitEscrow: 'limitEscrow',
  scheduleEscrow: 'scheduleEscrow',
  coverMarket: 'coverMarket',
  accountFactory: 'accountFactory',
  sessionModule: 'sessionModule',
  coverModule: 'coverModule',
} as const satisfies Partial<Record<keyof Deployment, OwnContract>>;

export type OwnRead = Readonly<{
  what: string;
  address: Address;
  contract: OwnContract;
  standing: Standing;
}>;

/** All of them, read once. Throws a DifferenceError that names each which is not ours to the byte. */
export async function readContracts(
  client: ReadClient,
  deployment: Deployment,
): Promise<OwnRead[]> {
  const listed = [
    ...Object.entries(CONTRACTS).map(([name, contract]) => ({
      what: name,
      address: deployment[name as keyof typeof CONTRACTS],
      contract,
    })),
    ...deployment.baskets.map(({ ticker, vault }) => ({
      what: `vault ${ticker}`,
      address: vault,
      contract: 'basketVault' as const,
    })),
  ];
  const found: OwnRead[] = await Promise.all(
    listed.map(async (one) => ({
      ...one,
      standing: await readOwn(client, one.address, one.contract),
    })),
  );
  // What every new account runs as itself, whatever it is: the factory's code names it, and says no more.
  const factory = found.find(({ contract }) => contract === 'accountFactory');
  const setup = factory?.standing.immutables['accountSetup'] as Address | undefined;
  if (setup !== undefined) {
    found.push({
      what: 'the AccountSetup of accountFactory',
      address: setup,
      contract: 'accountSetup',
      standing: await readOwn(client, setup, 'accountSetup'),
    });
  }
  await compare(
    'contracts',
    found.map(({ what, address, contract, standing }) => ({
      // A set-up is known by its factory: the file has the address of that.
      what: `code of ${what} ${contract === 'accountSetup' ? deployment.accountFactory : address}`,
      actual: Promise.resolve(standing.verdict),
      expected: AS_BUILT,
    })),
  );
  return found;
}

/** Of contracts whose code is ours: every immutable of each, and the modules that accounts get. */
export function wiringChecks(
  client: ReadClient,
  read: Read,
  deployment: Deployment,
  own: readonly OwnRead[],
): Check[] {
  const { accountFactory, sessionModule, coverModule } = deployment;
  return [
    ...own.flatMap(({ what, address, contract, standing: { immutables } }) =>
      immutableChecks(what, contract, { deployment, address, own: immutables, read }),
    ),
    ...own.flatMap(({ what, address, contract }): Check[] =>
      contract === 'basketVault' ? [compositionCheck(client, what, address)] : [],
    ),
    {
      what: 'modules of the account factory',
      actual: read(accountFactory, accountFactoryAbi, 'modules'),
      expected: [sessionModule, coverModule],
    },
  ];
}

/** A pool of more than the market holds would be paid out of others' money: as rewards, and to the treasury. */
export function feePoolCheck(
  read: Read,
  { usdg, coverMarket, multicall3 }: Pick<Deployment, 'usdg' | 'coverMarket' | 'multicall3'>,
): Check {
  // In one call, since trades move both.
  const calls = [
    [coverMarket, encodeFunctionData({ abi: coverMarketAbi, functionName: 'feePool' })],
    [usdg, encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [coverMarket] })],
  ].map(([target, callData]) => ({ target, allowFailure: false, callData }));
  const both = read(multicall3, multicall3Abi, 'aggregate3', [calls]).then((results) =>
    (results as { returnData: Hex }[]).map(({ returnData }) => hexToBigInt(returnData)),
  ) as Promise<[bigint, bigint]>;
  return {
    what: `fee pool of the cover market ${coverMarket}`,
    actual: both.then(([pool]) => pool),
    expected: both.then(
      ([, held]) =>
        new Rule(
          `at most the ${held} of USDG that it holds`,
          (pool) => typeof pool === 'bigint' && pool <= held,
        ),
    ),
  };
}

/** What a vault's constructor wrote as code is data that nobody can run: it begins with STOP. */
function compositionCheck(client: ReadClient, what: string, vault: Address): Check {
  const address = getContractAddress({ from: vault, nonce: 1n });
  return {
    what: `code of the composition of ${what} ${address}`,
    actual: client.getCode({ address }),
    expected: new Rule('data', (code) => typeof code === 'string' && code.startsWith('0x00')),
  };
}

/** What the account factory builds every account from, out of its code. */
export function safeParts(
  own: readonly OwnRead[],
): Pick<Externals, 'safeSingleton' | 'safeProxyFactory' | 'safeFallbackHandler'> {
  const factory = own.find(({ contract }) => contract === 'accountFactory');
  const part = (name: string) => factory?.standing.immutables[name] as Address;
  return {
    safeSingleton: part('safeSingleton'),
    safeProxyFactory: part('safeProxyFactory'),
    safeFallbackHandler: part('fallbackHandler'),
  };
}

/** What neither the file nor the chain can say: for the operator to judge, where no journal is beside the file. */
export function unjudgedLines(own: readonly OwnRead[]): string[] {
  const value = (of: OwnContract, name: string) =>
    own
      .filter(({ contract }) => contract === of)
      .map(({ what, standing }) => `${what} ${String(standing.immutables[name])}`)
      .join(', ');
  return [
    'No journal is beside the file, so these were compared with nothing, nor were roles, units, floors of pools, supply and credits:',
    `  floor of WETH's liquidity (wethMinLiquidity): ${value('navOracle', 'wethMinLiquidity')}`,
    `  management fees in hundredths of a percent a year: ${value('basketVault', 'managementFeeBps')}`,
    `  beginnings (genesisAt): ${value('basketVault', 'genesisAt')}`,
  ];
}
