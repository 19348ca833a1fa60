/** What every soak stands on: a folder and an end for all that it starts, the seeded chain, and what a wallet holds. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Address, erc20Abi } from 'viem';
import { type Anvil, startAnvil } from '../anvil.ts';
import { CHAIN_ARGUMENTS, RUNNING_ARGUMENTS } from '../chain/arguments.ts';
import { type ChainClient, connect } from '../chain/client.ts';
import type { Manifest } from '../chain/seed/manifest.ts';
import { loadChain, seededChain } from '../chain/state/load.ts';

export type SoakResult = { ok: boolean; figures: Record<string, unknown>; problems: string[] };

export type Ground = {
  folder: string;
  say: (line: string) => void;
  /** Run in reverse order when the soak is over, however it ended. */
  atEnd: (end: () => Promise<unknown>) => void;
};

export async function onGround(
  say: Ground['say'],
  run: (ground: Ground) => Promise<SoakResult>,
): Promise<SoakResult> {
  const folder = mkdtempSync(join(tmpdir(), 'soak-'));
  const ends: (() => Promise<unknown>)[] = [];
  try {
    return await run({ folder, say, atEnd: (end) => ends.push(end) });
  } finally {
    for (const end of ends.toReversed()) await end().catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function startSoakChain({
  say,
  atEnd,
}: Ground): Promise<{ anvil: Anvil; client: ChainClient; manifest: Manifest }> {
  const chain = await seededChain(say);
  const anvil = await startAnvil({ args: [...CHAIN_ARGUMENTS, ...RUNNING_ARGUMENTS] });
  atEnd(() => anvil.stop());
  const manifest = await loadChain(anvil.url, chain);
  return { anvil, client: connect(anvil.url), manifest };
}

export type Balances = { usdg: bigint; wei: bigint };

export async function balancesOf(
  client: ChainClient,
  { deployment }: Manifest,
  address: Address,
): Promise<Balances> {
  return {
    usdg: await client.readContract({
      address: deployment.usdg,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [address],
    }),
    wei: await client.getBalance({ address }),
  };
}
