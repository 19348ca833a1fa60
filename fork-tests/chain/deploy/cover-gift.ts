/**
 * What `--fund` gives to the fee pool that rewards snapshots: what lacks to a level. A level, unlike an amount, may be
 * asked for again after any break, or by cron, and nothing is given twice.
 */
import { type Address, erc20Abi, formatUnits, parseUnits } from 'viem';
import { COVER_FEE_RESERVE, COVER_STEP_REWARD } from '../../../contracts-abi/constants.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { coverMarketAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { DeployError } from './errors.ts';

export type Gift = {
  /** USDG base units that the pool shall hold; zero: nothing was asked for. */
  level: bigint;
  feePool: bigint;
  /** What is given: zero where the pool holds the level. */
  amount: bigint;
  /** What the giver's last approval left, at the same block. */
  allowance: bigint;
  held: bigint;
  /** The giver's transactions that the pool above counts. Null: nothing was read. */
  nonce: number | null;
};

export const NO_GIFT: Gift = {
  level: 0n,
  feePool: 0n,
  amount: 0n,
  allowance: 0n,
  held: 0n,
  nonce: null,
};

/** At one block, so that what is read of the pool counts every transaction below `nonce`. */
export async function readGift(
  client: ReadClient,
  { coverMarket, usdg }: Pick<Deployment, 'coverMarket' | 'usdg'>,
  giver: Address,
  level: bigint,
): Promise<Gift> {
  if (level === 0n) return NO_GIFT;
  const { number: blockNumber } = await client.getBlock();
  const token = { address: usdg, abi: erc20Abi, blockNumber } as const;
  const [feePool, allowance, held, nonce] = await Promise.all([
    client.readContract({
      address: coverMarket,
      abi: coverMarketAbi,
      functionName: 'feePool',
      blockNumber,
    }),
    client.readContract({ ...token, functionName: 'allowance', args: [giver, coverMarket] }),
    client.readContract({ ...token, functionName: 'balanceOf', args: [giver] }),
    client.getTransactionCount({ address: giver, blockNumber }),
  ]);
  const amount = level > feePool ? level - feePool : 0n;
  return { level, feePool, amount, allowance, held, nonce };
}

/** What lacks to the level by now, at most `before`: a node that lags makes a gift no larger. */
export async function stillLacking(
  client: ReadClient,
  coverMarket: Address,
  level: bigint,
  before: bigint,
): Promise<bigint> {
  const feePool = await client.readContract({
    address: coverMarket,
    abi: coverMarketAbi,
    functionName: 'feePool',
  });
  const now = level > feePool ? level - feePool : 0n;
  return now < before ? now : before;
}

/** Why the giver's USDG does not do; null when it does. */
export function giftShort({ level, amount, held }: Gift, giver: Address): string | null {
  if (held >= amount) return null;
  return `--fund ${dollars(level)} takes $${dollars(amount)} now, and ${giver} holds $${dollars(held)} in USDG`;
}

/** For the operator; null where nothing was asked for. */
export function giftLine({ level, feePool, amount }: Gift): string | null {
  if (level === 0n) return null;
  const head = `The fee pool holds $${dollars(feePool)} of the $${dollars(level)} of --fund`;
  return `${head}: ${amount === 0n ? 'nothing to give' : `$${dollars(amount)} to give`}.`;
}

/**
 * A node behind the one that the nonce came from may not know of a gift that was mined. `nonce`: of the next
 * transaction. Throws a DeployError when the gift was reckoned without all before it.
 */
export function assertCurrent(gift: Gift, nonce: number): void {
  if (gift.nonce === null || gift.nonce === nonce) return;
  throw new DeployError(
    `the fee pool was read after ${gift.nonce} transactions of this key, and there are ${nonce}: the RPC endpoint lags, or the key is in use elsewhere. Nothing was sent; run the same command again`,
  );
}

/** Dollars of a `--fund`, as a level. Throws a DeployError for what cannot be one. */
export function parseLevel(text: string): bigint {
  const level = /^\d{1,9}(\.\d{1,6})?$/.test(text) ? parseUnits(text, 6) : 0n;
  if (level === 0n) {
    throw new DeployError(`--fund ${text}: expected dollars above zero, such as 10 or 0.5`);
  }
  if (level > COVER_FEE_RESERVE) {
    throw new DeployError(
      `--fund ${text}: the fee pool keeps $${dollars(COVER_FEE_RESERVE)}, which pays ${COVER_FEE_RESERVE / COVER_STEP_REWARD} snapshots, and anyone may send what lies above it to the treasury: ${dollars(COVER_FEE_RESERVE)} is the most`,
    );
  }
  return level;
}

const dollars = (amount: bigint): string => formatUnits(amount, 6);
