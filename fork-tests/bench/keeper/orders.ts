/**
 * A hundred limit buys of one basket, none triggered, and the one price move that triggers all of them; and a few that
 * are due before it, for a keeper that has worked a moment ago.
 */
import { encodeFunctionData, erc20Abi, type Hex, parseEventLogs } from 'viem';
import { USD } from '../../../contracts-abi/constants.ts';
import {
  exitEscrowAbi,
  limitEscrowAbi,
  navOracleAbi,
} from '../../../contracts-abi/generated/index.ts';
import { type ChainClient, sendSigned, receiptOf, write } from '../../chain/client.ts';
import { pushPrice } from '../../chain/market/push.ts';
import { devAccount } from '../../chain/seed/accounts.ts';
import { type Manifest, vaultOf } from '../../chain/seed/manifest.ts';

export const ORDERS = 100;
/** Due from the start. */
export const EARLY_ORDERS = 40;
/** Its two constituents move together. */
const TICKER = 'HEALTH';
const CONSTITUENTS = ['LLY', 'UNH'];
const FACTOR = 0.96;
/** Where the trigger lies below the reference of before the move. */
const TRIGGER_BPS = 9_800n;
const EARLY_TRIGGER_BPS = 11_000n;
const SIZE = 26n * USD;
/** More than the window of the average. */
const WINDOW_SECONDS = 610;

export type Orders = { early: Hex[]; ids: Hex[] };

/** Places the orders and moves the price: the average has yet to follow. Returns their ids. */
export async function placeOrders(client: ChainClient, manifest: Manifest): Promise<Orders> {
  const { account } = devAccount('alice');
  const { deployment } = manifest;
  const vault = vaultOf(manifest, TICKER);
  const nav = await client.readContract({
    address: deployment.oracle,
    abi: navOracleAbi,
    functionName: 'referenceNav',
    args: [vault],
  });
  await write(client, account, {
    address: deployment.usdg,
    abi: erc20Abi,
    functionName: 'approve',
    args: [deployment.limitEscrow, SIZE * BigInt(ORDERS + EARLY_ORDERS)],
  });
  const { timestamp } = await client.getBlock();
  const dataOf = (triggerBps: bigint): Hex =>
    encodeFunctionData({
      abi: limitEscrowAbi,
      functionName: 'create',
      args: [
        {
          vault,
          amount: SIZE,
          triggerNav: (nav * triggerBps) / 10_000n,
          slippageBps: 300,
          capBps: 500,
          deadline: Number(timestamp) + 86_400,
        },
      ],
    });
  const ids: Hex[] = [];
  let nonce = await client.getTransactionCount({ address: account.address });
  for (let count = 0; count < EARLY_ORDERS + ORDERS; count += 1, nonce += 1) {
    const data = dataOf(count < EARLY_ORDERS ? EARLY_TRIGGER_BPS : TRIGGER_BPS);
    const call = { to: deployment.limitEscrow, data, gas: 500_000n, nonce };
    const receipt = await receiptOf(client, await sendSigned(client, account, call), 10_000);
    const [created] = parseEventLogs({
      abi: limitEscrowAbi,
      eventName: 'LimitCreated',
      logs: receipt.logs,
    });
    if (created === undefined) throw new Error('an order was not created');
    ids.push(created.args.id);
  }
  for (const symbol of CONSTITUENTS) {
    await pushPrice(client, devAccount('maker').account, manifest, symbol, FACTOR);
  }
  return { early: ids.slice(0, EARLY_ORDERS), ids: ids.slice(EARLY_ORDERS) };
}

/** Mines the block in which the average has followed and every order is due. Returns its number. */
export async function trigger(client: ChainClient): Promise<bigint> {
  const before = await client.getBlockNumber();
  await client.increaseTime({ seconds: WINDOW_SECONDS });
  await client.mine({ blocks: 1 });
  // Not asked afterwards: a keeper may have filled by then.
  return before + 1n;
}

/** How many of the orders are filled since `fromBlock`; each counts as often as it was filled. */
export async function filledSince(
  client: ChainClient,
  { deployment }: Manifest,
  fromBlock: bigint,
): Promise<number> {
  const logs = await client.getLogs({ address: deployment.limitEscrow, fromBlock });
  return parseEventLogs({ abi: exitEscrowAbi, eventName: 'OrderFilled', logs }).length;
}
