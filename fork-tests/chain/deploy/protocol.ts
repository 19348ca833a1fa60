/**
 * Deploys the protocol: pause, registry, oracle, zapper, escrows, session module and account factory (which name each
 * other), then one vault per basket, then seals the registry. The same on the local chain, on a fork, and on a chain
 * that one pays for: nothing here uses an Anvil method.
 *
 * The deployer holds the constituents of every basket's seed shares and becomes the owner of registry and pause.
 */
import { type Address, erc20Abi, type LocalAccount } from 'viem';
import { CHAIN_ID, SHARE } from '../../../contracts-abi/constants.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import {
  accountFactoryAbi,
  accountFactoryBytecode,
  basketRegistryAbi,
  basketRegistryBytecode,
  basketVaultAbi,
  basketVaultBytecode,
  basketZapperAbi,
  basketZapperBytecode,
  exitEscrowAbi,
  exitEscrowBytecode,
  limitEscrowAbi,
  limitEscrowBytecode,
  navOracleAbi,
  navOracleBytecode,
  protocolPauseAbi,
  protocolPauseBytecode,
  sessionModuleAbi,
  sessionModuleBytecode,
} from '../../../contracts-abi/generated/index.ts';
import type { ChainClient } from '../client.ts';
import type { Submitter } from '../submitter.ts';
import type { Externals } from './externals.ts';
import type { BasketPlan, ProtocolPlan } from './plan.ts';
import { verifyDeployment, verifyExternals } from './verify.ts';

const ZERO: Address = '0x0000000000000000000000000000000000000000';

export type Progress = (step: string) => void;

/**
 * @returns the deployment, checked against the chain. Throws when an external is not what it should be, when a step
 * fails, or when what stands afterwards differs from the plan.
 */
export async function deployProtocol(
  client: ChainClient,
  submitter: Submitter,
  account: LocalAccount,
  externals: Externals,
  plan: ProtocolPlan,
  progress: Progress = () => undefined,
): Promise<Deployment> {
  progress('checking externals');
  await verifyExternals(client, externals);
  const { usdg, weth } = externals;
  const startBlock = Number(await client.getBlockNumber()) + 1;

  progress('deploying contracts');
  const pause = await submitter.deploy(account, {
    name: 'ProtocolPause',
    abi: protocolPauseAbi,
    bytecode: protocolPauseBytecode,
    args: [account.address, plan.guardian],
  });
  const registry = await submitter.deploy(account, {
    name: 'BasketRegistry',
    abi: basketRegistryAbi,
    bytecode: basketRegistryBytecode,
    args: [account.address, plan.treasury],
  });
  const oracle = await submitter.deploy(account, {
    name: 'NavOracle',
    abi: navOracleAbi,
    bytecode: navOracleBytecode,
    args: [usdg, weth, plan.wethUsdgPool, plan.wethMinLiquidity],
  });
  const zapper = await submitter.deploy(account, {
    name: 'BasketZapper',
    abi: basketZapperAbi,
    bytecode: basketZapperBytecode,
    args: [usdg, weth, externals.swapRouter02, externals.uniswapV3Factory, registry, pause],
  });
  const escrowArguments = [usdg, registry, oracle, zapper, pause];
  const exitEscrow = await submitter.deploy(account, {
    name: 'ExitEscrow',
    abi: exitEscrowAbi,
    bytecode: exitEscrowBytecode,
    args: escrowArguments,
  });
  const limitEscrow = await submitter.deploy(account, {
    name: 'LimitEscrow',
    abi: limitEscrowAbi,
    bytecode: limitEscrowBytecode,
    args: escrowArguments,
  });
  // Module and factory name each other: the module is told where the factory is going to stand, one nonce later.
  const predictedFactory = await submitter.nextAddress(account, 1);
  const sessionModule = await submitter.deploy(account, {
    name: 'SessionModule',
    abi: sessionModuleAbi,
    bytecode: sessionModuleBytecode,
    args: [usdg, registry, oracle, zapper, pause, predictedFactory],
  });
  const accountFactory = await submitter.deploy(account, {
    name: 'AccountFactory',
    abi: accountFactoryAbi,
    bytecode: accountFactoryBytecode,
    args: [
      externals.safeSingleton,
      externals.safeProxyFactory,
      externals.safeFallbackHandler,
      [sessionModule],
    ],
  });
  if (accountFactory !== predictedFactory) {
    throw new Error(`account factory at ${accountFactory}, predicted ${predictedFactory}`);
  }

  const baskets: Deployment['baskets'] = [];
  for (const [index, basket] of plan.baskets.entries()) {
    progress(`basket ${index + 1} of ${plan.baskets.length}: ${basket.ticker}`);
    const vault = await deployVault(submitter, account, externals, plan, registry, basket);
    await submitter.write(account, {
      address: registry,
      abi: basketRegistryAbi,
      functionName: 'appendGenesis',
      args: [
        {
          ticker: basket.ticker,
          name: basket.name,
          thesis: basket.thesis,
          group: basket.group,
          risk: basket.risk,
          riskNote: basket.riskNote,
          rebalance: basket.rebalance,
          vault,
          ordersEnabled: basket.ordersEnabled,
        },
      ],
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

  const deployment: Deployment = {
    chainId: CHAIN_ID,
    startBlock,
    usdg,
    weth,
    multicall3: externals.multicall3,
    uniswapV3Factory: externals.uniswapV3Factory,
    swapRouter02: externals.swapRouter02,
    quoterV2: externals.quoterV2,
    wethUsdgPool: plan.wethUsdgPool,
    pause,
    registry,
    oracle,
    zapper,
    exitEscrow,
    limitEscrow,
    accountFactory,
    sessionModule,
    baskets,
  };
  progress('checking the deployment');
  await verifyDeployment(client, deployment, { plan, owner: account.address, externals });
  return deployment;
}

/** Approves the constituents of the seed shares to where the vault is going to stand, then deploys it there. */
async function deployVault(
  submitter: Submitter,
  account: LocalAccount,
  externals: Externals,
  plan: ProtocolPlan,
  registry: Address,
  basket: BasketPlan,
): Promise<Address> {
  const vault = await submitter.nextAddress(account, basket.constituents.length);
  for (const { token, genesisUnits } of basket.constituents) {
    const amount = (genesisUnits * basket.seedShares + SHARE - 1n) / SHARE;
    await submitter.write(account, {
      address: token,
      abi: erc20Abi,
      functionName: 'approve',
      args: [vault, amount],
    });
  }
  const usesWeth = basket.constituents.some(({ viaWeth }) => viaWeth);
  const config = {
    name: basket.name,
    symbol: basket.ticker,
    constituents: basket.constituents.map((part) => ({
      token: part.token,
      genesisUnits: part.genesisUnits,
      pool: part.pool ?? ZERO,
      viaWeth: part.viaWeth,
      minLiquidity: part.minLiquidity,
    })),
    managementFeeBps: basket.managementFeeBps,
    registry,
    seedTo: account.address,
    seedShares: basket.seedShares,
    uniswapFactory: externals.uniswapV3Factory,
    usdg: externals.usdg,
    weth: externals.weth,
    wethUsdgPool: usesWeth ? plan.wethUsdgPool : ZERO,
    statedPrices: basket.constituents.map(({ statedPrice }) => statedPrice),
  };
  const deployed = await submitter.deploy(account, {
    name: `BasketVault ${basket.ticker}`,
    abi: basketVaultAbi,
    bytecode: basketVaultBytecode,
    args: [config],
  });
  if (deployed !== vault) throw new Error(`vault at ${deployed}, predicted ${vault}`);
  return deployed;
}
