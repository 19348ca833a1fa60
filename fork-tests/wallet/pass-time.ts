import type { DevWallet } from './open.ts';

/** Unix seconds of the newest block. */
export async function chainTime({ client }: DevWallet): Promise<number> {
  return Number((await client.getBlock()).timestamp);
}

/** Lets time pass up to this second or a little later, and mines a block. Nothing where it is past already. */
export async function passTime(wallet: DevWallet, to: number): Promise<void> {
  const seconds = to - (await chainTime(wallet));
  if (seconds <= 0) return;
  await wallet.client.increaseTime({ seconds });
  await wallet.client.mine({ blocks: 1 });
}
