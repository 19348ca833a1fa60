/**
 * `npm run deploy -- --cover`: extends the cover market of a deployment by what it lacks and may have now, as often as
 * wanted: weeks after the last published one, baskets whose pools have come to remember enough, and where asked slots
 * for those that have not, and a gift to the fee pool. What must hold:
 * - nothing is sent twice. Weeks, listings and slots are read off the chain each time, and whatever an earlier run
 *   signed last is seen mined before anything is read; a gift is in the journal until the run that gave it is over;
 * - each transaction is on disk before it is sent (journal.ts). Nothing hangs on the sender's nonces here;
 * - what only the market's owner can send is sent with the owner's key or not at all: another one gets the calls in
 *   words, for a multisig to send.
 */
import { existsSync, rmSync } from 'node:fs';
import {
  type Address,
  erc20Abi,
  formatEther,
  formatUnits,
  isAddressEqual,
  type LocalAccount,
} from 'viem';
import { z } from 'zod';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import type { ReadClient } from '../client.ts';
import { lockFolder } from '../../start/lock.ts';
import { callLines, ownerCalls, sendCover, type Sending } from './cover-calls.ts';
import { type CoverPlan, type CoverWish, planCover } from './cover-plan.ts';
import { type CoverState, coverLines, readCover } from './cover-state.ts';
import { DeployError } from './errors.ts';
import { boundGas, funds, grouped } from './gas.ts';
import { Journal } from './journal.ts';
import { type SettledStep, submitJournaled } from './journaled-submitter.ts';
import {
  assertChain,
  assertSameChain,
  deploymentIn,
  journalPath,
  loadDeployer,
  prepareFolder,
  type Say,
} from './operator.ts';
import type { DeployConfig } from './options.ts';
import { newHeader } from './prepare.ts';
import { recordSteps } from './recording-submitter.ts';
import { type JournaledWords, settleLast } from './settle.ts';
import { verifyContracts } from './verify.ts';

export type CoverCommand = CoverWish & {
  /** USDG base units to give to the fee pool; zero: none. */
  gift: bigint;
  dryRun: boolean;
};

/** What the journal of such a run begins with. */
const runSchema = z.object({
  coverMarket: z.string(),
  /** Hash of a gift that a run gave which was broken off later: whoever goes on gives no second one. */
  gift: z.string().nullable(),
});

/** Throws a DeployError when something is left that this key cannot send. */
export async function extendCover(
  client: ReadClient,
  config: DeployConfig,
  command: CoverCommand,
  say: Say,
): Promise<void> {
  await assertChain(client);
  const deployment = deploymentIn(config);
  await verifyContracts(client, deployment);
  if (command.dryRun) {
    await dryCover(client, config, deployment, command, say);
    return;
  }
  const account = loadDeployer(config);
  prepareFolder(config);
  const lock = lockFolder(journalPath(config));
  if (lock === null) throw new DeployError('another npm run deploy is under way with this journal');
  try {
    const given = await settleBroken(client, config, deployment, say);
    await sendMissing(client, account, config, deployment, command, given, say);
  } finally {
    lock.release();
  }
}

async function sendMissing(
  client: ReadClient,
  account: LocalAccount,
  config: DeployConfig,
  deployment: Deployment,
  command: CoverCommand,
  given: string | null,
  say: Say,
): Promise<void> {
  const state = await readCover(client, deployment);
  const plan = wishedPlan(state, command);
  if (given !== null && command.gift > 0n) {
    say(`The run that was broken off gave to the fee pool (${given}): no second time.`);
  }
  const sending: Sending = {
    deployment,
    plan: partOf(plan, state, account.address),
    gift: given === null ? command.gift : 0n,
  };
  await assertUsdg(client, deployment, account.address, sending.gift);
  const settled = await sendThrough(client, account, config, sending, given, say);
  rmSync(coverJournalPath(config), { force: true });

  const gas = settled.reduce((sum, { gasUsed }) => sum + gasUsed, 0n);
  const wei = settled.reduce((sum, step) => sum + step.wei, 0n);
  if (settled.length > 0) {
    say(`${settled.length} transactions, ${grouped(gas)} gas, ${formatEther(wei)} ETH.`);
  }
  for (const line of coverLines(settled.length === 0 ? state : await readCover(client, deployment)))
    say(line);
  if (!isAddressEqual(state.owner, account.address)) {
    refuseOwners(state, account.address, deployment, plan, say);
  }
  if (settled.length === 0) say('Nothing to do: nothing was sent.');
}

/** The steps that any key may send, and the owner's where it is the owner. */
function partOf(plan: CoverPlan, { owner }: CoverState, sender: Address): CoverPlan {
  return isAddressEqual(owner, sender) ? plan : { ...plan, weeks: [], listings: [] };
}

function wishedPlan(state: CoverState, command: CoverCommand): CoverPlan {
  const known = new Set(state.baskets.map(({ ticker }) => ticker));
  const unknown = command.only?.filter((ticker) => !known.has(ticker)) ?? [];
  if (unknown.length > 0) {
    throw new DeployError(
      `--only names no basket of the registry: ${unknown.join(', ')}. There are ${[...known].join(', ')}`,
    );
  }
  return planCover(state, command);
}

async function sendThrough(
  client: ReadClient,
  account: LocalAccount,
  config: DeployConfig,
  sending: Sending,
  given: string | null,
  say: Say,
): Promise<SettledStep[]> {
  const steps = await stepsOf(client, account, sending);
  if (steps.length === 0) return [];
  const { coverMarket } = sending.deployment;
  const header = await newHeader(client, account, { coverMarket, gift: given }, 'sender');
  const { text, short } = await funds(
    client,
    account,
    await boundGas(client, account, steps),
    'sender',
  );
  if (short !== null) throw new DeployError(short);
  say(text);
  const journal = Journal.create(coverJournalPath(config), header);
  try {
    const settled: SettledStep[] = [];
    const submitter = submitJournaled({
      client,
      account,
      journal,
      waitMs: config.DEPLOY_WAIT_SECONDS * 1_000,
      words: coverWords(config),
      onStep: (step) => {
        settled.push(step);
        const { index, what, hash, gasUsed } = step;
        say(`  ${index + 1}/${steps.length} ${what}: ${hash}, ${grouped(gasUsed)} gas`);
      },
    });
    await sendCover(client, submitter, account, sending);
    return settled;
  } finally {
    journal.close();
  }
}

/** At most: a basket whose turn comes may have too little depth left by then. */
async function stepsOf(client: ReadClient, account: LocalAccount, sending: Sending) {
  const { submitter, steps } = recordSteps(account, 0);
  await sendCover(client, submitter, account, sending);
  return steps;
}

/**
 * Sees what an earlier run signed last mined, whoever's key it was.
 * @returns the hash of the gift that it gave, if it did.
 */
async function settleBroken(
  client: ReadClient,
  config: DeployConfig,
  { coverMarket }: Deployment,
  say: Say,
): Promise<string | null> {
  const path = coverJournalPath(config);
  const journal = Journal.open(path, runSchema);
  if (journal === null) return null;
  try {
    const { header, steps } = journal;
    await assertSameChain(client, path, header);
    if (header.plan.coverMarket !== coverMarket) {
      throw new DeployError(
        `the run in ${path} is of the cover market ${header.plan.coverMarket}, and this deployment's is ${coverMarket}. Move the journal away to begin anew`,
      );
    }
    const last = steps.at(-1);
    if (last !== undefined) {
      say(`An earlier run was broken off: first its last step, ${last.what}, ${last.hash}.`);
    }
    const waitMs = config.DEPLOY_WAIT_SECONDS * 1_000;
    const account = { address: header.deployer };
    const words = coverWords(config);
    const settled = await settleLast({ client, account, journal, waitMs, words });
    if (settled !== null) say(`  It was mined${settled.succeeded ? '' : ', and reverted'}.`);
    const gift = steps.find(({ what }) => what.startsWith('fundFees'));
    const failed = gift !== undefined && gift === settled?.step && !settled.succeeded;
    return header.plan.gift ?? (gift === undefined || failed ? null : gift.hash);
  } finally {
    journal.close();
  }
}

/** Prints what would be sent, and the calls where another than the owner would send them. Without a key as the owner. */
async function dryCover(
  client: ReadClient,
  config: DeployConfig,
  deployment: Deployment,
  command: CoverCommand,
  say: Say,
): Promise<void> {
  const hasKey = config.WALLET_KEYSTORE !== undefined || config.WALLET_PRIVATE_KEYS !== undefined;
  const key = hasKey ? loadDeployer(config).address : null;
  const state = await readCover(client, deployment);
  const plan = wishedPlan(state, command);
  const address = key ?? state.owner;
  const account = { address } as LocalAccount;
  const sending = { deployment, plan: partOf(plan, state, address), gift: command.gift };
  if (existsSync(coverJournalPath(config))) {
    say(`An earlier run was broken off (${coverJournalPath(config)}): its last step comes first.`);
  }
  const steps = await stepsOf(client, account, sending);
  const gas = await boundGas(client, account, steps);
  for (const [index, { what }] of steps.entries()) {
    say(`  ${index + 1}. ${what}: ${grouped(gas[index] ?? 0n)} gas`);
  }
  for (const { basket, statedCap } of sending.plan.listings) {
    say(`${basket.ticker} would be listed with a cap of about $${statedCap}.`);
  }
  for (const line of coverLines(state)) say(line);
  if (key === null || key !== state.owner) {
    for (const line of callLines(ownerCalls(deployment, plan))) say(line);
  }
  if (steps.length > 0) {
    const { text, short } = await funds(client, account, gas, 'sender');
    say(text);
    if (short !== null) say(short);
  } else if (ownerCalls(deployment, plan).length === 0) {
    say('Nothing to do: nothing would be sent.');
  }
}

/** Throws when something is left for the owner. */
function refuseOwners(
  { owner }: CoverState,
  sender: Address,
  deployment: Deployment,
  plan: CoverPlan,
  say: Say,
): void {
  const calls = ownerCalls(deployment, plan);
  if (calls.length === 0) return;
  for (const line of callLines(calls)) say(line);
  throw new DeployError(
    `the key of ${sender} does not own the cover market ${deployment.coverMarket}: ${owner} does, and the ${calls.length} calls above are for it to send, in this order (one that was offered the ownership calls acceptOwnership() first)`,
  );
}

async function assertUsdg(
  client: ReadClient,
  { usdg }: Deployment,
  holder: Address,
  needed: bigint,
): Promise<void> {
  if (needed === 0n) return;
  const held = await client.readContract({
    address: usdg,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [holder],
  });
  if (held >= needed) return;
  throw new DeployError(
    `--fund asks for $${formatUnits(needed, 6)}, and ${holder} holds $${formatUnits(held, 6)} in USDG: nothing was sent`,
  );
}

function coverJournalPath(config: DeployConfig): string {
  return `${config.DEPLOYMENT_FILE}.cover-journal`;
}

function coverWords(config: DeployConfig): JournaledWords {
  const again = 'Run the same command again: it begins with what stands by then';
  return {
    sender: 'sender',
    reverted: again,
    displaced: again,
    perhapsDisplaced: `move ${coverJournalPath(config)} away and run the same command again`,
    moved: { errors: /^(BadWeek|CapTooHigh|AlreadyListed)/, advice: again },
  };
}
