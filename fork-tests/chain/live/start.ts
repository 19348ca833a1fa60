/**
 * A fork of the live chain with the protocol deployed on top: live USDG, WETH, Uniswap v3, Multicall3 and those stock
 * tokens that have v3 pools. Chain time runs ahead of the clock by what ageing the pools took.
 */
import type { Address, LocalAccount } from 'viem';
import { SHARE } from '../../../contracts-abi/constants.ts';
import { marketMakerAbi } from '../../../contracts-abi/generated/index.ts';
import { LIVE } from '../../../contracts-abi/live-addresses.ts';
import { type Anvil, startAnvil } from '../../anvil.ts';
import { CHAIN_ARGUMENTS } from '../arguments.ts';
import { type ChainClient, connect } from '../client.ts';
import { seedNeeds } from '../deploy/plan.ts';
import { deployProtocol, type Progress } from '../deploy/protocol.ts';
import { verifyDeployment } from '../deploy/verify.ts';
import { fullRange, PRICE_SCALE } from '../price.ts';
import { devAccounts, FUNDS, ROLES } from '../seed/accounts.ts';
import { fundFeePool } from '../seed/cover-book.ts';
import type { Manifest } from '../seed/manifest.ts';
import { COVER_WEEKS } from '../seed/plan.ts';
import { deployMaker } from '../seed/pools.ts';
import { type Submitter, submitEach } from '../submitter.ts';
import { agePools } from './age.ts';
import { setTokenBalance } from './balances.ts';
import { discoverMarket, type LiveToken } from './discover.ts';
import { livePlan } from './plan.ts';
import { stubPrecompiles } from './precompiles.ts';

export type ForkedChainOptions = {
  forkUrl: string;
  port?: number;
  /** More Anvil arguments, such as those of a running chain. */
  args?: readonly string[];
  progress?: Progress;
};

/** Each basket opens with a hundred shares of the deployer's. */
const SEED_SHARES = 100n * SHARE;
/** Dollars in each pool of the maker's own liquidity: there to be touched, too little to matter. */
const MAKER_DEPTH = 10n;
/** Dollars of each token that the maker may trade with. */
const MAKER_INVENTORY = 5_000_000n;

export async function startForkedChain(
  options: ForkedChainOptions,
): Promise<{ anvil: Anvil; manifest: Manifest }> {
  const progress = options.progress ?? (() => undefined);
  const anvil = await startAnvil({
    forkUrl: options.forkUrl,
    ...(options.port === undefined ? {} : { port: options.port }),
    // Nothing of the fork is kept under the user's home.
    args: [...CHAIN_ARGUMENTS, '--no-storage-caching', ...(options.args ?? [])],
    startTimeoutMs: 60_000,
  });
  try {
    return { anvil, manifest: await deployOnFork(connect(anvil.url), progress) };
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}

/** Funds the dev accounts, ages the pools and deploys. The client must be of a fork of the live chain. */
async function deployOnFork(client: ChainClient, progress: Progress): Promise<Manifest> {
  const accounts = devAccounts();
  const issuer = accounts.deployer.account;
  const makerOwner = accounts.maker.account;
  await stubPrecompiles(client);
  progress('funding dev accounts');
  for (const role of ROLES) {
    const { address } = accounts[role].account;
    // A delegation left on a key of ours would make its transactions run somebody's code.
    await client.setCode({ address, bytecode: '0x' });
    await client.setBalance({ address, value: FUNDS[role].eth });
    if (FUNDS[role].usdg > 0n) await fund(client, 'USDG', LIVE.usdg, address, FUNDS[role].usdg);
  }

  progress('looking for pools');
  const found = await discoverMarket(client);
  const submitter = submitEach(client);
  const maker = await deployMaker(submitter, issuer, makerOwner, LIVE.uniswapV3Factory);
  await fund(client, 'USDG', LIVE.usdg, maker, 20n * MAKER_INVENTORY * 10n ** 6n);
  const tokens: LiveToken[] = [];
  for (const token of found) {
    const [pool] = token.pools;
    if (pool === undefined) continue;
    const inventory = (MAKER_INVENTORY * 10n ** BigInt(token.decimals) * PRICE_SCALE) / pool.price;
    if (await setTokenBalance(client, token.address, maker, inventory)) tokens.push(token);
    else progress(`${token.symbol} is left out: its balances cannot be set`);
  }
  await providePositions(submitter, makerOwner, maker, tokens);

  const references = tokens.flatMap(({ pools }) => pools.slice(0, 1));
  await agePools(client, makerOwner, { maker }, references, progress);

  // Prices may have moved on the way: the plan states what the pools quote now.
  const present = (await discoverMarket(client)).filter(({ symbol }) =>
    tokens.some((token) => token.symbol === symbol),
  );
  const plan = await livePlan(client, present, {
    owner: issuer.address,
    guardian: accounts.guardian.account.address,
    treasury: accounts.treasury.account.address,
    seedShares: SEED_SHARES,
    slots: 0, // aged above
    coverWeeks: COVER_WEEKS,
  });
  for (const [token, amount] of seedNeeds(plan.baskets)) {
    await fund(client, token, token, issuer.address, amount);
  }
  const deployed = await deployProtocol(client, submitter, issuer, plan, progress);
  progress('checking the deployment');
  const { deployment } = deployed;
  await verifyDeployment(client, deployment, { ...deployed, plan, deployer: issuer.address });
  await fundFeePool(submitter, issuer, deployment);
  return {
    deployment,
    maker,
    tokens: present.map(({ pools, ...token }) => ({
      ...token,
      pools: pools.map(({ address, quote, fee }) => ({ address, quote, fee })),
    })),
  };
}

async function providePositions(
  submitter: Submitter,
  owner: LocalAccount,
  maker: Address,
  tokens: readonly LiveToken[],
): Promise<void> {
  for (const token of tokens) {
    for (const pool of token.pools) {
      const { lower, upper } = fullRange(pool.fee);
      // The pool's liquidity in range stands for its depth in dollars, so ten dollars stand for this much.
      const liquidity = (pool.liquidity * MAKER_DEPTH * PRICE_SCALE) / pool.depth;
      await submitter.write(owner, {
        address: maker,
        abi: marketMakerAbi,
        functionName: 'provide',
        args: [pool.address, lower, upper, liquidity],
      });
    }
  }
}

async function fund(
  client: ChainClient,
  name: string,
  token: Address,
  holder: Address,
  amount: bigint,
): Promise<void> {
  if (!(await setTokenBalance(client, token, holder, amount))) {
    throw new Error(`${name}: no storage word holds its balances, so ${holder} cannot be funded`);
  }
}
