/** The command line of `npm run deploy` (main.ts), apart from the process: settings in, lines and an exit code out. */
import { parseArgs } from 'node:util';
import { BaseError } from 'viem';
import { MIN_COVER_CARDINALITY } from '../../../contracts-abi/constants.ts';
import { ConfigError, loadConfig } from '../../../runtime/config.ts';
import { reasonOf } from '../client.ts';
import { DifferenceError } from './checks.ts';
import { deploy, dryRun, verify } from './command.ts';
import { extendCover } from './cover-command.ts';
import { parseLevel } from './cover-gift.ts';
import type { CoverCommand } from './cover-plan.ts';
import { connectTo } from './endpoints.ts';
import { DeployError } from './errors.ts';
import { hasSteps } from './journal.ts';
import { coverJournalPath, journalPath, type Say } from './operator.ts';
import { deployOptions, MOST_SLOTS } from './options.ts';
import { isNoAnswer } from './settle.ts';

const USAGE = `npm run deploy                 deploys, or goes on where it was broken off
npm run deploy -- --dry-run    prints the steps, their gas and the ETH needed; sends nothing
npm run deploy -- --verify     checks an existing DEPLOYMENT_FILE against the chain; needs no key
npm run deploy -- --restate    goes on with prices of now, where they moved away from the plan's
                               or the step that waits lacks gas, or gas costs more than its fee cap: it is signed anew
npm run deploy -- --same-chain goes on with a run that was broken off before any block had a step of it: that it was on
                               this chain only you can tell then. Goes with --cover too
npm run deploy -- --cover      extends the cover market of an existing DEPLOYMENT_FILE, as often as wanted: publishes
                               the weeks that DEPLOY_COVER_WEEKS lacks, lists baskets whose pools remember enough by
                               now, and says of the others what is missing. Needs the key of the market's owner; with
                               another one prints the calls for the owner (a multisig) to send. With it:
    --dry-run                  prints the steps, or the owner's calls, and sends nothing; needs no key
    --slots 4500               raises the observation slots of pools that remember too little (any key; much gas).
                               They count once the pool's ring has come round: run --cover again then
    --only CORE,ADS            lists no basket but these
    --fund 10                  fills the fee pool that rewards snapshots up to so many dollars, ten at most: gives in USDG
                               what lacks, and nothing where it holds as much (any key). Not from two places at once
    --drop                     gives up what a broken-off run signed last and no block has: a transaction of the same
                               key to itself takes its nonce. Without it such a step goes out as it was signed where
                               this command asks for the very same one, and otherwise the run stops and names it
Settings come from the environment: .env.example lists them all.`;

/**
 * Runs the command. A failure that the operator can do something about becomes words for `complain`; a fault of ours is
 * thrown.
 * @returns the exit code.
 */
export async function runCli(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  say: Say,
  complain: Say,
): Promise<number> {
  const files: Files = { journal: null };
  try {
    await run(args, env, say, files);
    return 0;
  } catch (error) {
    const words = wordsFor(error, files);
    if (words === null) throw error;
    complain(`deploy: ${words}`);
    return 1;
  }
}

/** Where this run journals what it sends; null before that is known, and of a run that sends nothing. */
type Files = { journal: string | null };

async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  say: Say,
  files: Files,
): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'dry-run': { type: 'boolean', default: false },
      verify: { type: 'boolean', default: false },
      restate: { type: 'boolean', default: false },
      cover: { type: 'boolean', default: false },
      slots: { type: 'string' },
      only: { type: 'string' },
      fund: { type: 'string' },
      drop: { type: 'boolean', default: false },
      'same-chain': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    say(USAGE);
    return;
  }
  const cover = coverFlags(values);
  const config = loadConfig(deployOptions, env);
  const sameChain = values['same-chain'];
  if (!values.verify && !values['dry-run']) {
    files.journal = cover === null ? journalPath(config) : coverJournalPath(config);
  }
  const client = await connectTo(config.RPC_URLS, config.RPC_TIMEOUT_MS, say);
  if (cover !== null) {
    const { slots = config.DEPLOY_POOL_SLOTS, ...rest } = cover;
    const command = { ...rest, slots, weeks: config.DEPLOY_COVER_WEEKS };
    await extendCover(client, config, command, say);
  } else if (values.verify) await verify(client, config, say);
  else if (values['dry-run']) await dryRun(client, config, { sameChain }, say);
  else await deploy(client, config, { restate: values.restate, sameChain }, say);
}

type Flags = {
  'dry-run': boolean;
  verify: boolean;
  restate: boolean;
  cover: boolean;
  slots?: string | undefined;
  only?: string | undefined;
  fund?: string | undefined;
  drop: boolean;
  'same-chain': boolean;
};

/** Null without --cover. Throws a DeployError for flags that do not go together or have no meaning. */
function coverFlags(
  flags: Flags,
): (Omit<CoverCommand, 'slots' | 'weeks'> & { slots?: number }) | null {
  const { slots, only, fund, drop } = flags;
  if (!flags.cover) {
    for (const [name, value] of Object.entries({ slots, only, fund, drop })) {
      if (value !== undefined && value !== false)
        throw new DeployError(`--${name} goes with --cover`);
    }
    return null;
  }
  if (flags.verify || flags.restate) {
    throw new DeployError('--cover goes with neither --verify nor --restate');
  }
  const least = Number(MIN_COVER_CARDINALITY);
  if (
    slots !== undefined &&
    !(/^\d{1,5}$/.test(slots) && between(Number(slots), least, MOST_SLOTS))
  ) {
    throw new DeployError(
      `--slots ${slots}: expected a whole number from ${least} to ${MOST_SLOTS}`,
    );
  }
  return {
    dryRun: flags['dry-run'],
    sameChain: flags['same-chain'],
    drop,
    only: only === undefined ? null : only.split(',').map((ticker) => ticker.trim()),
    level: fund === undefined ? 0n : parseLevel(fund),
    ...(slots === undefined ? {} : { slots: Number(slots) }),
  };
}

const between = (value: number, least: number, most: number) => value >= least && value <= most;

/** Null for a fault of ours, which keeps its stack. */
function wordsFor(error: unknown, { journal }: Files): string | null {
  if (
    error instanceof DeployError ||
    error instanceof DifferenceError ||
    error instanceof ConfigError
  ) {
    return error.message;
  }
  const again =
    journal !== null && hasSteps(journal)
      ? '. What was sent is in the journal: run the same command again to go on'
      : '. Nothing was sent';
  if (isNoAnswer(error)) return `the RPC endpoint does not answer${again}`;
  // viem's whole message names the endpoint, and with it perhaps a provider's key.
  if (error instanceof BaseError) {
    return `the RPC endpoint answered with an error: ${reasonOf(error)}${again}`;
  }
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (typeof code === 'string' && typeof syscall === 'string') {
    return `${(error as Error).message}${again}`;
  }
  if (typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS')) {
    return `${(error as Error).message.replaceAll('\n', ' ')}. The flags are --dry-run, --verify and --restate, --same-chain, and --cover with --slots, --only, --fund and --drop; everything else is a setting (.env.example)`;
  }
  return null;
}
