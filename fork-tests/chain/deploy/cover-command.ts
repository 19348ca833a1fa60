/**
 * `npm run deploy -- --cover`: extends the cover market of a deployment by what it lacks and may have now, as often as
 * wanted: weeks after the last published one, baskets whose pools have come to remember enough, and where asked slots
 * for those that have not, and a gift to the fee pool. What must hold:
 * - nothing is sent twice. Weeks, listings and slots are read off the chain each time, after what an earlier run signed
 *   last is settled (cover-settle.ts); a gift fills the pool up to a level (cover-gift.ts);
 * - each transaction is on disk before it is sent (journal.ts). Nothing hangs on the sender's nonces here;
 * - what only the market's owner can send is sent with the owner's key or not at all: another one gets the calls in
 *   words, for a multisig to send.
 */
import { rmSync } from 'node:fs';
import { type Address, formatEther, isAddressEqual, type LocalAccount, zeroAddress } from 'viem';
import { MIN_COVER_USD } from '../../../contracts-abi/constants.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import type { ReadClient } from '../client.ts';
import { callLines, coverSteps, ownerCalls, type Sending, sendCover } from './cover-calls.ts';
import { dryCover } from './cover-dry.ts';
import { assertCurrent, giftLine, giftShort, readGift } from './cover-gift.ts';
import type { CoverRun } from './cover-open.ts';
import { type CoverCommand, type CoverPlan, partOf, planCover, shareWords } from './cover-plan.ts';
import { coverWords, settleBroken } from './cover-settle.ts';
import { type CoverState, coverLines, RENOUNCED, readCover } from './cover-state.ts';
import { DeployError } from './errors.ts';
import { boundGas, funds, grouped } from './gas.ts';
import { Journal } from './journal.ts';
import { type SettledStep, submitJournaled } from './journaled-submitter.ts';
import {
  alone,
  assertChain,
  coverJournalPath,
  deploymentIn,
  loadDeployer,
  type Say,
} from './operator.ts';
import type { DeployConfig } from './options.ts';
import { newHeader } from './prepare.ts';
import { verifyContracts } from './verify.ts';

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
  await alone(config, async () => {
    await settleBroken(client, account, config, deployment, command, say);
    const { state, plan } = await sendMissing(client, account, config, deployment, command, say);
    // After the report, which may fail as well: until then the same command has something to go on with.
    rmSync(coverJournalPath(config), { force: true });
    refuseOwners(state, account.address, deployment, plan, say);
  });
}

async function sendMissing(
  client: ReadClient,
  account: LocalAccount,
  config: DeployConfig,
  deployment: Deployment,
  command: CoverCommand,
  say: Say,
): Promise<{ state: CoverState; plan: CoverPlan }> {
  const { address } = account;
  const gift = await readGift(client, deployment, address, command.level);
  const poor = giftShort(gift, address);
  if (poor !== null) throw new DeployError(`${poor}: nothing was sent`);
  const state = await readCover(client, deployment);
  const plan = planCover(state, command);
  const given = giftLine(gift);
  if (given !== null) say(given);
  const sending: Sending = { deployment, plan: partOf(plan, state, address), gift };
  const settled = await sendThrough(client, account, config, sending, say);

  const gas = settled.reduce((sum, { gasUsed }) => sum + gasUsed, 0n);
  const wei = settled.reduce((sum, step) => sum + step.wei, 0n);
  if (settled.length > 0) {
    say(`${settled.length} transactions, ${grouped(gas)} gas, ${formatEther(wei)} ETH.`);
  }
  const after = settled.length === 0 ? state : await readCover(client, deployment);
  for (const line of unlistedLines(sending.plan, after)) say(line);
  if (gift.amount > 0n && !settled.some(({ what }) => what.startsWith('fundFees '))) {
    say('Somebody else filled the fee pool meanwhile: nothing was given.');
  }
  for (const line of coverLines(after)) say(line);
  if (settled.length === 0) say('Nothing to do: nothing was sent.');
  return { state, plan };
}

/** Baskets that were to be listed, and whose part of the pools was below the least cover when their turn came. */
function unlistedLines({ listings }: CoverPlan, { baskets }: CoverState): string[] {
  return listings
    .filter(({ basket: { vault } }) => baskets.find((now) => now.vault === vault)?.cap === 0n)
    .map(
      ({ basket: { ticker }, sharers }) =>
        `${ticker} was not listed: ${shareWords(sharers)} carries less than $${MIN_COVER_USD} of cover.`,
    );
}

async function sendThrough(
  client: ReadClient,
  account: LocalAccount,
  config: DeployConfig,
  sending: Sending,
  say: Say,
): Promise<SettledStep[]> {
  const steps = await coverSteps(client, account, sending);
  if (steps.length === 0) return [];
  const run: CoverRun = {
    coverMarket: sending.deployment.coverMarket,
    listings: sending.plan.listings.map(({ basket: { vault }, sharers }) => ({ vault, sharers })),
  };
  const header = await newHeader(client, account, run, 'sender');
  assertCurrent(sending.gift, header.firstNonce);
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

/** Throws when something is left for an owner who is another, or who is not there any more. */
function refuseOwners(
  { owner }: CoverState,
  sender: Address,
  deployment: Deployment,
  plan: CoverPlan,
  say: Say,
): void {
  if (isAddressEqual(owner, sender)) return;
  if (isAddressEqual(owner, zeroAddress)) {
    throw new DeployError(
      `the cover market ${deployment.coverMarket} cannot be extended: ${RENOUNCED}. What is published and listed stands`,
    );
  }
  const calls = ownerCalls(deployment, plan);
  if (calls.length === 0) return;
  for (const line of callLines(calls)) say(line);
  throw new DeployError(
    `the key of ${sender} does not own the cover market ${deployment.coverMarket}: ${owner} does, and the ${calls.length} calls above are for it to send, in this order (one that was offered the ownership calls acceptOwnership() first)`,
  );
}
