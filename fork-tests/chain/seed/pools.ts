/** Creates the local market: tokens, their pools with liquidity, and room for observations. */
import {
  type Address,
  encodeAbiParameters,
  getContractAddress,
  keccak256,
  type LocalAccount,
} from 'viem';
import {
  localTokenAbi,
  localTokenBytecode,
  localWethAbi,
  marketMakerAbi,
  marketMakerBytecode,
} from '../../../contracts-abi/generated/index.ts';
import type { PlannedExternals } from '../deploy/plan.ts';
import { fullRange, liquidityOf, PRICE_SCALE, sqrtPriceAt, toScaled } from '../price.ts';
import type { Submitter } from '../submitter.ts';
import type { SeededPool, SeededToken } from './manifest.ts';
import { coverSymbols } from './baskets.ts';
import {
  CARDINALITY,
  COVER_CARDINALITY,
  type PoolSeed,
  type TokenSeed,
  WETH_POOLS,
  WETH_PRICE,
} from './tokens.ts';

const ETHER = 10n ** 18n;
/** Inventory of the maker per pool, as a multiple of the depth: enough for any price within the market's bounds. */
const INVENTORY = 4n;

type Seeder = {
  submitter: Submitter;
  issuer: LocalAccount;
  makerOwner: LocalAccount;
  maker: Address;
  externals: PlannedExternals;
};

/** Deploys the maker. It must be funded before it provides. */
export function deployMaker(
  submitter: Submitter,
  issuer: LocalAccount,
  owner: LocalAccount,
  factory: Address,
): Promise<Address> {
  return submitter.deploy(issuer, {
    name: 'MarketMaker',
    abi: marketMakerAbi,
    bytecode: marketMakerBytecode,
    args: [owner.address, factory],
  });
}

/** WETH's own pools against USDG. Wraps the maker's ether for them and for every other pool against WETH. */
export async function seedWeth(seeder: Seeder, tokens: readonly TokenSeed[]): Promise<SeededToken> {
  const { submitter, makerOwner, maker, externals } = seeder;
  const wethPools = [...tokens.flatMap(({ pools }) => pools), ...WETH_POOLS].filter(
    (pool) => pool.quote === 'WETH' || WETH_POOLS.includes(pool),
  );
  const dollars = wethPools.reduce((sum, { depthUsd }) => sum + depthUsd, 0);
  const wrapped = (BigInt(dollars) * INVENTORY * ETHER) / BigInt(WETH_PRICE);
  await submitter.write(makerOwner, {
    address: externals.weth,
    abi: localWethAbi,
    functionName: 'deposit',
    args: [],
    value: wrapped,
  });
  await submitter.write(makerOwner, {
    address: externals.weth,
    abi: localWethAbi,
    functionName: 'transfer',
    args: [maker, wrapped],
  });
  const weth = { symbol: 'WETH', address: externals.weth, decimals: 18, price: WETH_PRICE };
  return { ...weth, beta: 1.5, pools: await seedPools(seeder, weth, WETH_POOLS) };
}

/** Deploys one token, mints the maker's inventory and creates its pools. */
export async function seedToken(seeder: Seeder, seed: TokenSeed): Promise<SeededToken> {
  const { submitter, issuer, maker } = seeder;
  const address = await submitter.deploy(issuer, {
    name: seed.symbol,
    abi: localTokenAbi,
    bytecode: localTokenBytecode,
    args: [seed.name, seed.symbol, seed.decimals],
  });
  const token = {
    symbol: seed.symbol,
    address,
    decimals: seed.decimals,
    price: seed.pools.length === 0 ? 0 : seed.price,
    beta: seed.beta,
  };
  const dollars = seed.pools.reduce((sum, { depthUsd }) => sum + depthUsd, 0);
  if (dollars > 0) await mintDollars(seeder, address, seed, BigInt(dollars) * INVENTORY, maker);
  return { ...token, pools: await seedPools(seeder, token, seed.pools) };
}

function mintDollars(
  { submitter, issuer }: Seeder,
  token: Address,
  { price, decimals }: Pick<TokenSeed, 'price' | 'decimals'>,
  dollars: bigint,
  to: Address,
) {
  const amount = (dollars * 10n ** BigInt(decimals) * PRICE_SCALE) / toScaled(price);
  return submitter.write(issuer, {
    address: token,
    abi: localTokenAbi,
    functionName: 'mint',
    args: [to, amount],
  });
}

async function seedPools(
  seeder: Seeder,
  token: Pick<SeededToken, 'symbol' | 'address' | 'decimals' | 'price'>,
  seeds: readonly PoolSeed[],
): Promise<SeededPool[]> {
  const pools: SeededPool[] = [];
  for (const [index, seed] of seeds.entries()) {
    // Only the first one is a reference; slots nobody reads would only make every block slower to build.
    const reference = coverSymbols().has(token.symbol) ? COVER_CARDINALITY : CARDINALITY;
    const cardinality = seed.cardinality ?? (index === 0 ? reference : 1);
    pools.push(await seedPool(seeder, token, seed, cardinality));
  }
  return pools;
}

async function seedPool(
  { submitter, makerOwner, maker, externals }: Seeder,
  token: Pick<SeededToken, 'address' | 'decimals' | 'price'>,
  seed: PoolSeed,
  cardinality: number,
): Promise<SeededPool> {
  const viaWeth = seed.quote === 'WETH';
  const pair = {
    token: token.address,
    tokenDecimals: token.decimals,
    quote: viaWeth ? externals.weth : externals.usdg,
    quoteDecimals: viaWeth ? 18 : 6,
  };
  const quotePrice = viaWeth ? toScaled(WETH_PRICE) : PRICE_SCALE;
  const sqrtPriceX96 = sqrtPriceAt(pair, (toScaled(token.price) * PRICE_SCALE) / quotePrice);
  await submitter.write(makerOwner, {
    address: maker,
    abi: marketMakerAbi,
    functionName: 'create',
    args: [pair.token, pair.quote, seed.fee, sqrtPriceX96],
  });
  const address = poolAddress(externals.uniswapV3Factory, pair.token, pair.quote, seed.fee);
  const depth =
    (BigInt(seed.depthUsd) * 10n ** BigInt(pair.quoteDecimals) * PRICE_SCALE) / quotePrice;
  const { lower, upper } = fullRange(seed.fee);
  await submitter.write(makerOwner, {
    address: maker,
    abi: marketMakerAbi,
    functionName: 'provide',
    args: [address, lower, upper, liquidityOf(pair, sqrtPriceX96, depth)],
  });
  if (cardinality > 1) {
    await submitter.write(makerOwner, {
      address: maker,
      abi: marketMakerAbi,
      functionName: 'grow',
      args: [address, cardinality],
      gas: 200_000n + 25_000n * BigInt(cardinality),
    });
  }
  return { address, quote: seed.quote, fee: seed.fee };
}

/**
 * Makes the cover baskets' reference pools write an observation: their new slots count from the first write after the
 * growth on, and the cover market lists no basket before. The next block must lie in a later second than the pools'.
 */
export async function touchCoverPools(
  { submitter, makerOwner, maker }: Seeder,
  tokens: readonly SeededToken[],
): Promise<void> {
  const covered = coverSymbols();
  const pools = tokens.flatMap(({ symbol, pools: [first] }) =>
    first !== undefined && covered.has(symbol) ? [first] : [],
  );
  await submitter.write(makerOwner, {
    address: maker,
    abi: marketMakerAbi,
    functionName: 'touch',
    args: [pools.map(({ address, fee }) => ({ pool: address, ...fullRange(fee) }))],
  });
}

/** CREATE2 by the factory; the hash is of the pool's published creation code (v3-periphery, PoolAddress). */
export function poolAddress(
  factory: Address,
  tokenA: Address,
  tokenB: Address,
  fee: number,
): Address {
  const [token0, token1] = BigInt(tokenA) < BigInt(tokenB) ? [tokenA, tokenB] : [tokenB, tokenA];
  return getContractAddress({
    opcode: 'CREATE2',
    from: factory,
    salt: keccak256(
      encodeAbiParameters(
        [{ type: 'address' }, { type: 'address' }, { type: 'uint24' }],
        [token0, token1, fee],
      ),
    ),
    bytecodeHash: '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54',
  });
}
