/** A wallet's own balances and whether it can pay for a trade (wire.md, /v1/wallet). */
import { type Address, erc20Abi, multicall3Abi } from 'viem';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { toNumber } from '../../contracts-abi/rounding.ts';
import { ApiError } from '../../runtime/errors.ts';
import { ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { Service } from '../service.ts';

/** Gas of an approval, and of the largest trade: a base and a part per swap, measured with room to spare. */
const APPROVAL_GAS = 70_000n;
const TRADE_BASE_GAS = 450_000n;
const TRADE_LEG_GAS = 260_000n;
/** tradeGasEth is at twice the current gas price (wire.md). */
const PRICE_HEADROOM = 2n;

async function gasPrice(service: Service): Promise<bigint> {
  try {
    return await service.client.getGasPrice();
  } catch (cause) {
    throw new ApiError('UPSTREAM', 'the chain cannot be read now: retry', { cause });
  }
}

/** One trade of the largest basket and its approval, in wei. */
export function tradeGasWei(price: bigint, mostLegs: number): bigint {
  const gas = APPROVAL_GAS + TRADE_BASE_GAS + TRADE_LEG_GAS * BigInt(mostLegs);
  return gas * price * PRICE_HEADROOM;
}

/** One aggregated read beside the gas price. @throws ApiError UPSTREAM. */
export async function readWallet(service: Service, address: Address) {
  const { client, deployment, marks, balances } = service;
  const { baskets } = marks.catalog();
  const batch = new ReadBatch();
  const eth = batch.add({
    to: deployment.multicall3,
    abi: multicall3Abi,
    functionName: 'getEthBalance',
    args: [address],
  });
  const balanceOf = (token: Address) =>
    batch.add({ to: token, abi: erc20Abi, functionName: 'balanceOf', args: [address] });
  const usdg = balanceOf(deployment.usdg);
  const shares = baskets.map((basket) => ({ basket, balance: balanceOf(basket.vault) }));
  const [price] = await Promise.all([gasPrice(service), batch.send(client, deployment.multicall3)]);

  const holdings = shares.flatMap(({ basket, balance }) => {
    const sharesWei = required(balance, `the balance of ${basket.ticker}`);
    balances.saw(basket.vault, address, sharesWei);
    return sharesWei === 0n ? [] : [{ ticker: basket.ticker, sharesWei: sharesWei.toString() }];
  });
  const ethWei = required(eth, 'the ETH balance');
  const usdgWei = required(usdg, 'the USDG balance');
  const needed = tradeGasWei(
    price,
    Math.max(...baskets.map((each) => each.constituents.length), 0),
  );
  const gasOk = ethWei >= needed;
  return {
    address,
    chainId: CHAIN_ID,
    eth: toNumber(ethWei, 18),
    ethWei: ethWei.toString(),
    usdg: toNumber(usdgWei, 6),
    usdgWei: usdgWei.toString(),
    holdings,
    tradeGasEth: toNumber(needed, 18),
    gasOk,
    ...(gasOk
      ? {}
      : { note: 'too little ETH for gas: one trade and its approval may need tradeGasEth' }),
  };
}
