/** A basket's part of a deployment: approvals of its seed, its vault, its row in the registry. */
import { type Address, erc20Abi, type LocalAccount } from 'viem';
import { basketVaultAbi, basketVaultBytecode } from '../../../contracts-abi/generated/index.ts';
import type { Submitter } from '../submitter.ts';
import type { Externals } from './externals.ts';
import { type BasketPlan, type ProtocolPlan, seedAmount } from './plan.ts';

const ZERO: Address = '0x0000000000000000000000000000000000000000';

export function registryRow(basket: BasketPlan, vault: Address) {
  const { ticker, name, thesis, group, risk, riskNote, rebalance, ordersEnabled } = basket;
  return { ticker, name, thesis, group, risk, riskNote, rebalance, vault, ordersEnabled };
}

/** Approves the constituents of the seed shares to where the vault is going to stand, then deploys it there. */
export async function deployVault(
  submitter: Submitter,
  account: LocalAccount,
  externals: Externals,
  plan: ProtocolPlan,
  registry: Address,
  basket: BasketPlan,
): Promise<Address> {
  const vault = await submitter.nextAddress(account, basket.constituents.length);
  for (const part of basket.constituents) {
    await submitter.write(account, {
      address: part.token,
      abi: erc20Abi,
      functionName: 'approve',
      args: [vault, seedAmount(basket, part)],
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
