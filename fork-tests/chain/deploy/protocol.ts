/**
 * Deploys the protocol: pause, registry, oracle, zapper, escrows, cover market, then the account contracts, which name
 * each other and come in one transaction; publishes the cover market's calendar; one vault per basket; seals the
 * registry; lists the cover baskets; hands the owner's powers over. The same on the local chain, on a fork, and on a
 * chain that one pays for: nothing here uses an Anvil method.
 *
 * The steps depend on the plan alone, and on what `Submitter.decide` remembers: run again over a journal they are the
 * same ones. The deployer holds the constituents of every basket's seed shares.
 */
import { type Abi, type Address, getContractAddress, type Hex, type LocalAccount } from 'viem';
import { CHAIN_ID } from '../../../contracts-abi/constants.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import {
  accountsGenesisAbi,
  accountsGenesisBytecode,
  basketRegistryAbi,
  basketRegistryBytecode,
  basketZapperAbi,
  basketZapperBytecode,
  coverMarketAbi,
  coverMarketBytecode,
  exitEscrowAbi,
  exitEscrowBytecode,
  limitEscrowAbi,
  limitEscrowBytecode,
  navOracleAbi,
  navOracleBytecode,
  protocolPauseAbi,
  protocolPauseBytecode,
  scheduleEscrowAbi,
  scheduleEscrowBytecode,
  uniswapV3PoolAbi,
} from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import type { Contract, Submitter } from '../submitter.ts';
import { coverSharers, listCover, publishWeeks } from './cover-steps.ts';
import { completeExternals, type Externals } from './externals.ts';
import type { ProtocolPlan } from './plan.ts';
import { deployVault, registryRow } from './vault-steps.ts';
import { verifyExternals } from './verify-externals.ts';

export type Progress = (step: string) => void;

export type Deployed = { deployment: Deployment; externals: Externals };

/**
 * `trusted`: hashes of code of others that may stand where the published build is not.
 * @returns what stands now, not yet checked. Throws when an external is not what it should be or a step fails.
 */
export async function deployProtocol(
  client: ReadClient,
  submitter: Submitter,
  account: LocalAccount,
  plan: ProtocolPlan,
  progress: Progress = () => undefined,
  trusted: ReadonlySet<Hex> = new Set(),
): Promise<Deployed> {
  progress('checking externals');
  await verifyExternals(client, plan.externals, trusted);
  const startBlock = await submitter.decide(
    'start block',
    // Never later than before: of a first step that is signed anew the old bytes may be mined all the same.
    async (before?: number) => before ?? Number(await client.getBlockNumber()) + 1,
    0,
  );
  await growPools(submitter, account, plan.growth, progress);

  progress('deploying contracts');
  const externals = await completeExternals(submitter, account, plan.externals);
  const contracts = await deployContracts(submitter, account, externals, plan);
  const { registry, coverMarket } = contracts;
  await publishWeeks(client, submitter, account, coverMarket, plan.coverWeeks);

  const baskets: Deployment['baskets'] = [];
  for (const [index, basket] of plan.baskets.entries()) {
    progress(`basket ${index + 1} of ${plan.baskets.length}: ${basket.ticker}`);
    const vault = await deployVault(submitter, account, externals, plan, registry, basket);
    await submitter.write(account, {
      address: registry,
      abi: basketRegistryAbi,
      functionName: 'appendGenesis',
      args: [registryRow(basket, vault)],
    });
    baskets.push({ ticker: basket.ticker, vault, targetWeights: { ...basket.targetWeights } });
  }
  await submitter.write(account, {
    address: registry,
    abi: basketRegistryAbi,
    functionName: 'seal',
    args: [],
  });
  await submitter.flush();

  for (const [index, { ticker, vault }] of baskets.entries()) {
    if (plan.baskets[index]?.cover !== true) continue;
    progress(`listing ${ticker} in the cover market`);
    const sharers = coverSharers(plan.baskets, index);
    await listCover(client, submitter, account, coverMarket, ticker, vault, sharers);
  }
  if (plan.owner !== account.address) await handOver(submitter, account, contracts, plan.owner);
  await submitter.flush();

  return {
    externals,
    deployment: {
      chainId: CHAIN_ID,
      startBlock,
      usdg: externals.usdg,
      weth: externals.weth,
      multicall3: externals.multicall3,
      uniswapV3Factory: externals.uniswapV3Factory,
      swapRouter02: externals.swapRouter02,
      quoterV2: externals.quoterV2,
      wethUsdgPool: plan.wethUsdgPool,
      ...contracts,
      baskets,
    },
  };
}

type Contracts = Pick<
  Deployment,
  | 'pause'
  | 'registry'
  | 'oracle'
  | 'zapper'
  | 'exitEscrow'
  | 'limitEscrow'
  | 'scheduleEscrow'
  | 'coverMarket'
  | 'accountFactory'
  | 'sessionModule'
  | 'coverModule'
>;

async function deployContracts(
  submitter: Submitter,
  account: LocalAccount,
  externals: Externals,
  plan: ProtocolPlan,
): Promise<Contracts> {
  const { usdg, weth, swapRouter02, uniswapV3Factory } = externals;
  const deploy = (name: string, abi: Abi, bytecode: Contract['bytecode'], args: unknown[]) =>
    submitter.deploy(account, { name, abi, bytecode, args });

  const owner = account.address;
  const pause = await deploy('ProtocolPause', protocolPauseAbi, protocolPauseBytecode, [
    owner,
    plan.guardian,
  ]);
  const registry = await deploy('BasketRegistry', basketRegistryAbi, basketRegistryBytecode, [
    owner,
    plan.treasury,
  ]);
  const oracle = await deploy('NavOracle', navOracleAbi, navOracleBytecode, [
    usdg,
    weth,
    plan.wethUsdgPool,
    plan.wethMinLiquidity,
  ]);
  const zapper = await deploy('BasketZapper', basketZapperAbi, basketZapperBytecode, [
    usdg,
    weth,
    swapRouter02,
    uniswapV3Factory,
    registry,
    pause,
  ]);
  const escrow = [usdg, registry, oracle, zapper, pause];
  const exitEscrow = await deploy('ExitEscrow', exitEscrowAbi, exitEscrowBytecode, escrow);
  const limitEscrow = await deploy('LimitEscrow', limitEscrowAbi, limitEscrowBytecode, escrow);
  const scheduleEscrow = await deploy(
    'ScheduleEscrow',
    scheduleEscrowAbi,
    scheduleEscrowBytecode,
    escrow,
  );
  const coverMarket = await deploy('CoverMarket', coverMarketAbi, coverMarketBytecode, [
    usdg,
    registry,
    oracle,
    pause,
    owner,
  ]);
  const genesis = await submitter.deploy(account, {
    name: 'AccountsGenesis',
    abi: accountsGenesisAbi,
    bytecode: accountsGenesisBytecode,
    args: [
      {
        usdg,
        registry,
        oracle,
        zapper,
        pause,
        coverMarket,
        exitEscrow,
        safeSingleton: externals.safeSingleton,
        safeProxyFactory: externals.safeProxyFactory,
        fallbackHandler: externals.safeFallbackHandler,
      },
    ],
    gas: 12_000_000n,
  });
  // Its own creations, in order; the check at the end reads them back from it.
  const created = (nonce: bigint) => getContractAddress({ from: genesis, nonce });
  const [sessionModule, coverModule, accountFactory] = [created(1n), created(2n), created(3n)];
  return {
    pause,
    registry,
    oracle,
    zapper,
    exitEscrow,
    limitEscrow,
    scheduleEscrow,
    coverMarket,
    accountFactory,
    sessionModule,
    coverModule,
  };
}

/** Anyone may; the slots are used once the pool's ring of observations comes round. */
export async function growPools(
  submitter: Submitter,
  account: LocalAccount,
  growth: ProtocolPlan['growth'],
  progress: Progress = () => undefined,
): Promise<void> {
  for (const [index, { pool, from, to }] of growth.entries()) {
    if (index % 10 === 0) progress(`raising observation slots: ${index} of ${growth.length}`);
    await submitter.write(account, {
      address: pool,
      abi: uniswapV3PoolAbi,
      functionName: 'increaseObservationCardinalityNext',
      args: [to],
      gas: 80_000n + 22_500n * BigInt(to - from),
    });
  }
}

/** Two steps each: the new owner has nothing until it accepts. */
async function handOver(
  submitter: Submitter,
  account: LocalAccount,
  { pause, registry, coverMarket }: Contracts,
  owner: Address,
): Promise<void> {
  for (const address of [pause, registry, coverMarket]) {
    await submitter.write(account, {
      address,
      abi: protocolPauseAbi,
      functionName: 'transferOwnership',
      args: [owner],
    });
  }
}
