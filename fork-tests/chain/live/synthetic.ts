/**
 * A stand-in for the live chain, so that the fork path can run without one: an Anvil with genuine contracts and test
 * tokens at the live addresses, pools as unfit as real ones (one observation slot, a few, none, only through WETH),
 * USDG behind a proxy, and the byte 0xfe where Arbitrum has precompiles.
 *
 * What only the live chain can show: the real tokens' storage layouts, transfer rules and pauses, the depth and spread
 * of real pools, Orbit's own transaction types and its L1 fees inside gas.
 */
import { type Address, concatHex, encodeDeployData, type Hex, type LocalAccount } from 'viem';
import {
  localTokenAbi,
  localTokenBytecode,
  localWethAbi,
  localWethBytecode,
  marketMakerAbi,
} from '../../../contracts-abi/generated/index.ts';
import { LIVE, LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import { type Anvil, startAnvil } from '../../anvil.ts';
import { CHAIN_ARGUMENTS } from '../arguments.ts';
import { type ChainClient, connect, transact, write } from '../client.ts';
import { genuine } from '../deploy/artifacts.ts';
import { placeMulticall3 } from '../deploy/externals.ts';
import { fullRange, liquidityOf, PRICE_SCALE, sqrtPriceAt, toScaled } from '../price.ts';
import { devAccounts } from '../seed/accounts.ts';
import { deployMaker, poolAddress } from '../seed/pools.ts';
import { type Contract, submitEach } from '../submitter.ts';

const ZERO: Address = '0x0000000000000000000000000000000000000000';
const IMPLEMENTATION: Address = '0x00000000000000000000000000000000005d9001';
const WETH_PRICE = 3_100;

type LiveSymbol = keyof typeof LIVE_STOCKS;
type SyntheticPool = {
  symbol: LiveSymbol | 'WETH';
  quote: 'USDG' | 'WETH';
  fee: 500 | 3000 | 10000;
  depthUsd: number;
  cardinality: number;
};

export const SYNTHETIC_PRICES: Readonly<Record<LiveSymbol, number>> = {
  NVDA: 184.2,
  TSLA: 402.5,
  AAPL: 251.3,
  MSFT: 512.7,
  AMZN: 221.9,
  GOOGL: 243.4,
  META: 705.1,
  COIN: 322.8,
  SPY: 663.2,
  QQQ: 602.6,
  AMD: 214.4,
  PLTR: 178.9,
};

/** AMD has none. */
const POOLS: readonly SyntheticPool[] = [
  { symbol: 'WETH', quote: 'USDG', fee: 500, depthUsd: 900_000, cardinality: 30 },
  { symbol: 'NVDA', quote: 'USDG', fee: 3000, depthUsd: 200_000, cardinality: 1 },
  { symbol: 'TSLA', quote: 'USDG', fee: 3000, depthUsd: 150_000, cardinality: 20 },
  { symbol: 'AAPL', quote: 'USDG', fee: 500, depthUsd: 120_000, cardinality: 1 },
  { symbol: 'MSFT', quote: 'USDG', fee: 10000, depthUsd: 80_000, cardinality: 1 },
  { symbol: 'AMZN', quote: 'WETH', fee: 3000, depthUsd: 90_000, cardinality: 1 },
  { symbol: 'GOOGL', quote: 'USDG', fee: 3000, depthUsd: 90_000, cardinality: 2 },
  { symbol: 'META', quote: 'USDG', fee: 3000, depthUsd: 70_000, cardinality: 1 },
  { symbol: 'COIN', quote: 'WETH', fee: 10000, depthUsd: 60_000, cardinality: 1 },
  { symbol: 'SPY', quote: 'USDG', fee: 500, depthUsd: 400_000, cardinality: 1 },
  { symbol: 'QQQ', quote: 'USDG', fee: 500, depthUsd: 300_000, cardinality: 1 },
  // Two pools: the deeper one must become the reference. And one too thin to count.
  { symbol: 'PLTR', quote: 'USDG', fee: 500, depthUsd: 20_000, cardinality: 1 },
  { symbol: 'PLTR', quote: 'USDG', fee: 3000, depthUsd: 60_000, cardinality: 1 },
  { symbol: 'PLTR', quote: 'USDG', fee: 10000, depthUsd: 100, cardinality: 1 },
];

/** Starts it. The caller stops it. */
export async function startSyntheticLive(): Promise<Anvil> {
  const anvil = await startAnvil({ args: [...CHAIN_ARGUMENTS, '--gas-limit', '1000000000'] });
  try {
    await populate(connect(anvil.url));
    return anvil;
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}

async function populate(client: ChainClient): Promise<void> {
  const issuer = devAccounts().dave.account;
  await client.setBalance({ address: issuer.address, value: 10n ** 24n });
  for (const address of [
    '0x0000000000000000000000000000000000000064',
    '0x000000000000000000000000000000000000006C',
  ] as const) {
    await client.setCode({ address, bytecode: '0xfe' });
  }
  await placeExternals(client, issuer);
  for (const [symbol, address] of Object.entries(LIVE_STOCKS)) {
    await constructAt(client, issuer, address, token(symbol, symbol, 18));
  }
  await createPools(client, issuer);
}

async function placeExternals(client: ChainClient, issuer: LocalAccount): Promise<void> {
  await constructAt(client, issuer, IMPLEMENTATION, token('Global Dollar', 'USDG', 6));
  // EIP-1167: everything is delegated, storage is the proxy's.
  await client.setCode({
    address: LIVE.usdg,
    bytecode: concatHex([
      '0x363d3d373d3d3d363d73',
      IMPLEMENTATION,
      '0x5af43d82803e903d91602b57fd5bf3',
    ]),
  });
  await constructAt(client, issuer, LIVE.weth, {
    name: 'WETH',
    abi: localWethAbi,
    bytecode: localWethBytecode,
  });
  await placeMulticall3(client, submitEach(client), issuer);
  await constructAt(client, issuer, LIVE.uniswapV3Factory, genuine('UniswapV3Factory'));
  await constructAt(client, issuer, LIVE.swapRouter02, {
    ...genuine('SwapRouter02'),
    args: [ZERO, LIVE.uniswapV3Factory, ZERO, LIVE.weth],
  });
  await constructAt(client, issuer, LIVE.quoterV2, {
    ...genuine('QuoterV2'),
    args: [LIVE.uniswapV3Factory, LIVE.weth],
  });
}

async function createPools(client: ChainClient, issuer: LocalAccount): Promise<void> {
  const submitter = submitEach(client);
  const maker = await deployMaker(submitter, issuer, issuer, LIVE.uniswapV3Factory);
  for (const address of [LIVE.usdg, ...Object.values(LIVE_STOCKS)]) {
    await write(client, issuer, {
      address,
      abi: localTokenAbi,
      functionName: 'mint',
      args: [maker, 10n ** 26n],
    });
  }
  await transact(client, issuer, { to: LIVE.weth, data: '0x', value: 10n ** 22n });
  await write(client, issuer, {
    address: LIVE.weth,
    abi: localWethAbi,
    functionName: 'transfer',
    args: [maker, 10n ** 22n],
  });
  for (const { symbol, quote, fee, depthUsd, cardinality } of POOLS) {
    const quotePrice = quote === 'WETH' ? toScaled(WETH_PRICE) : PRICE_SCALE;
    const pair = {
      token: symbol === 'WETH' ? LIVE.weth : LIVE_STOCKS[symbol],
      tokenDecimals: 18,
      quote: quote === 'WETH' ? LIVE.weth : LIVE.usdg,
      quoteDecimals: quote === 'WETH' ? 18 : 6,
    };
    const dollars = toScaled(symbol === 'WETH' ? WETH_PRICE : SYNTHETIC_PRICES[symbol]);
    const sqrtPriceX96 = sqrtPriceAt(pair, (dollars * PRICE_SCALE) / quotePrice);
    const depth = (BigInt(depthUsd) * 10n ** BigInt(pair.quoteDecimals) * PRICE_SCALE) / quotePrice;
    const pool = poolAddress(LIVE.uniswapV3Factory, pair.token, pair.quote, fee);
    const { lower, upper } = fullRange(fee);
    const call = { address: maker, abi: marketMakerAbi } as const;
    await submitter.write(issuer, {
      ...call,
      functionName: 'create',
      args: [pair.token, pair.quote, fee, sqrtPriceX96],
    });
    await submitter.write(issuer, {
      ...call,
      functionName: 'provide',
      args: [pool, lower, upper, liquidityOf(pair, sqrtPriceX96, depth)],
    });
    if (cardinality === 1) continue;
    await submitter.write(issuer, { ...call, functionName: 'grow', args: [pool, cardinality] });
    await client.increaseTime({ seconds: 1 });
    await submitter.write(issuer, {
      ...call,
      functionName: 'touch',
      args: [[{ pool, lower, upper }]],
    });
  }
}

/**
 * Runs a contract's creation code at a chosen address: as the code of that address it finds its arguments behind
 * itself, writes its storage there and returns the runtime code with that address in its immutables.
 */
async function constructAt(
  client: ChainClient,
  account: LocalAccount,
  address: Address,
  { abi, bytecode, args }: Contract,
): Promise<void> {
  const creation: Hex = encodeDeployData({ abi, bytecode, args: args ?? [] });
  await client.setCode({ address, bytecode: creation });
  const { data: runtime } = await client.call({ account: account.address, to: address });
  if (runtime === undefined) throw new Error(`nothing was constructed at ${address}`);
  await transact(client, account, { to: address, data: '0x', gas: 10_000_000n });
  await client.setCode({ address, bytecode: runtime });
}

function token(name: string, symbol: string, decimals: number): Contract {
  return {
    name: symbol,
    abi: localTokenAbi,
    bytecode: localTokenBytecode,
    args: [name, symbol, decimals],
  };
}
