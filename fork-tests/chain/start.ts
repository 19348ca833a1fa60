/** Starts the local chain: Anvil with the seeded state at the present time, mining, with its market trading. */
import { type Anvil, startAnvil } from '../anvil.ts';
import { CHAIN_ARGUMENTS, RUNNING_ARGUMENTS } from './arguments.ts';
import { connect } from './client.ts';
import type { Progress } from './deploy/protocol.ts';
import { startHeartbeat } from './heartbeat.ts';
import { startForkedChain } from './live/start.ts';
import { type CoverRolls, type RollsOutcome, startCoverRolls } from './market/cover-rolls.ts';
import { type Market, type StepOutcome, startMarket } from './market/market.ts';
import { devAccount } from './seed/accounts.ts';
import { openingProcess, resumedProcess } from './seed/history.ts';
import type { Manifest } from './seed/manifest.ts';
import { loadChain, seededChain } from './state/load.ts';

export type LocalChainOptions = {
  /** Zero: the system picks. */
  port: number;
  /** Fork of this chain instead of the seeded one. */
  forkUrl?: string;
  /** Default true: prices move, and offers of cover go on from week to week. */
  market?: boolean;
  progress?: Progress;
  onMarketStep?: (outcome: StepOutcome) => void;
  onCoverRolls?: (outcome: RollsOutcome) => void;
  /** Hears why a block could not be mined. */
  onFault?: (reason: string) => void;
};

export type LocalChain = {
  anvil: Anvil;
  url: string;
  manifest: Manifest;
  /** Market and heartbeat first, then Anvil. */
  stop(): Promise<void>;
};

/** Resolves once the chain serves its present state. Throws when Anvil, the state or the fork cannot be had. */
export async function startLocalChain(options: LocalChainOptions): Promise<LocalChain> {
  const { anvil, manifest } =
    options.forkUrl === undefined
      ? await startSeeded(options)
      : await startForkedChain({
          ...options,
          forkUrl: options.forkUrl,
          args: RUNNING_ARGUMENTS,
        });
  const client = connect(anvil.url);
  const heartbeat = startHeartbeat(client, options.onFault);
  let market: Market | null = null;
  let rolls: CoverRolls | null = null;
  if (options.market ?? true) {
    market = startMarket({
      client,
      maker: devAccount('maker').account,
      manifest,
      process: options.forkUrl === undefined ? resumedProcess(manifest) : openingProcess(manifest),
      ...(options.onMarketStep === undefined ? {} : { onStep: options.onMarketStep }),
    });
    rolls = startCoverRolls({
      client,
      account: devAccount('deployer').account,
      coverMarket: manifest.deployment.coverMarket,
      fromBlock: BigInt(manifest.deployment.startBlock),
      ...(options.onCoverRolls === undefined ? {} : { onRound: options.onCoverRolls }),
    });
  }
  return {
    anvil,
    url: anvil.url,
    manifest,
    stop: async () => {
      await rolls?.stop();
      await market?.stop();
      await heartbeat.stop();
      await anvil.stop();
    },
  };
}

async function startSeeded(
  options: LocalChainOptions,
): Promise<{ anvil: Anvil; manifest: Manifest }> {
  const chain = await seededChain(options.progress);
  const anvil = await startAnvil({
    port: options.port,
    args: [...CHAIN_ARGUMENTS, ...RUNNING_ARGUMENTS],
  });
  try {
    return { anvil, manifest: await loadChain(anvil.url, chain) };
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}
