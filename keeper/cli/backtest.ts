/** `backtest <recording> --anvil <url>`: what another policy would have earned from what this keeper was listed. */
import { BacktestError } from '../backtest/scratch-anvil.ts';
import { type Backtest, runBacktest } from '../backtest/replay.ts';
import { policySettings, type PolicySettings } from '../backtest/lines.ts';
import { differences, minus, type PolicyResult, type Sums } from '../backtest/result.ts';
import type { KeeperConfig } from '../config.ts';
import { foreignContracts } from '../keeper.ts';
import { readDeployment } from '../../contracts-abi/deployment.ts';
import type { Logger } from '../../runtime/logger.ts';
import { usdgText } from '../outcome.ts';

/** Jobs whose difference is printed one by one. */
const MOST_JOBS = 200;

const money = (amount: bigint): string =>
  amount < 0n ? `-${usdgText(-amount)}` : usdgText(amount);

const policyText = (policy: PolicySettings): string =>
  Object.entries(policy)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

const COLUMNS: readonly [string, (sums: Sums) => string][] = [
  ['executed', ({ executed }) => String(executed)],
  ['reverted', ({ reverted }) => String(reverted)],
  ['fees', ({ feesUsdg }) => money(feesUsdg)],
  ['gas', ({ gasUsed }) => String(gasUsed)],
  ['gas cost', ({ costUsdg }) => money(costUsdg)],
  ['net', ({ netUsdg }) => money(netUsdg)],
];

/** The lines that are printed. */
export function backtestText(backtest: Backtest, policy: PolicySettings): string[] {
  const { recorded, replayed, ticks, idleTicks, torn } = backtest;
  const difference = minus(replayed, recorded);
  const row = (cells: readonly string[]): string =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(10) : cell.padStart(16))).join('');
  const byJob = [...differences(recorded, replayed)];
  return [
    `recorded  ${policyText(backtest.recordedPolicy)}`,
    `replayed  ${policyText(policy)}`,
    `${ticks} ticks, ${idleTicks} of them with nothing to look at${torn === 0 ? '' : `; ${torn} lines are torn`}`,
    '',
    row(['', 'recorded', 'replayed', 'difference']),
    ...COLUMNS.map(([name, of]) => row([name, of(recorded), of(replayed), of(difference)])),
    ...openText(recorded),
    ...skippedText('recorded', recorded),
    ...skippedText('replayed', replayed),
    ...unlikeText(recorded, replayed),
    ...armingText(backtest.recordedPolicy, policy),
    ...(byJob.length === 0 ? [] : ['', 'difference by job (fees, gas cost, net):']),
    ...byJob
      .slice(0, MOST_JOBS)
      .map(
        ([job, { feesUsdg, costUsdg, netUsdg }]) =>
          `  ${job}  ${money(feesUsdg)}  ${money(costUsdg)}  ${money(netUsdg)}`,
      ),
    ...(byJob.length > MOST_JOBS ? [`  and ${byJob.length - MOST_JOBS} more`] : []),
  ];
}

function openText({ open }: PolicyResult): string[] {
  if (open.size === 0) return [];
  return [
    `${open.size} jobs were not settled when the recording ended: both columns leave them out`,
  ];
}

function skippedText(name: string, { skipped }: PolicyResult): string[] {
  if (skipped.size === 0) return [];
  const reasons = [...skipped].sort(([, a], [, b]) => b - a);
  return [`skipped, ${name}: ${reasons.map(([reason, count]) => `${reason} ${count}`).join(', ')}`];
}

/** What the two columns do not have in common, so that nobody takes it for the policy's doing. */
function unlikeText(recorded: PolicyResult, replayed: PolicyResult): string[] {
  const lines: string[] = [];
  if (recorded.gasL1 > 0n) {
    lines.push(
      `of the recorded gas ${recorded.gasL1} paid for data on L1, which a replay does not pay`,
    );
  }
  for (const [name, { costUnknown }] of [
    ['recorded', recorded],
    ['replayed', replayed],
  ] as const) {
    if (costUnknown > 0)
      lines.push(`${name}: the cost of ${costUnknown} transactions is not known`);
  }
  return lines;
}

/** Each tick is replayed on the chain as it was: what the recorded keeper armed is armed, and nothing else is. */
function armingText(recorded: PolicySettings, replayed: PolicySettings): string[] {
  if (recorded.KEEPER_ARM === replayed.KEEPER_ARM) return [];
  return [
    replayed.KEEPER_ARM
      ? 'the fills that arming leads to later are not in the replay: it only tells what arming costs'
      : 'orders that the recorded keeper armed are armed in the replay, at no cost to it',
  ];
}

/** Returns the exit code. */
export async function runBacktestCommand(
  command: { file: string; anvil: string; asRecorded: boolean },
  config: KeeperConfig,
  logger: Logger,
  say: (line: string) => void,
): Promise<number> {
  try {
    const backtest = await runBacktest({
      file: command.file,
      anvilUrl: command.anvil,
      asRecorded: command.asRecorded,
      config,
      foreign: foreignContracts(config, readDeployment(config.DEPLOYMENT_FILE)),
      logger,
    });
    const policy = command.asRecorded ? backtest.recordedPolicy : policySettings(config);
    for (const line of backtestText(backtest, policy)) say(line);
    return 0;
  } catch (error) {
    if (!(error instanceof BacktestError)) throw error;
    say(error.message);
    return 1;
  }
}
