/**
 * What a run that extends the cover market does about the one before, where that was broken off. What must hold:
 * - what is signed is never forgotten: a step is seen mined, or another transaction of its key in its place;
 * - the same bytes go out again only where this command asks for that very step, and by its own key. Otherwise the run
 *   stops, or gives the step up where it is told to (`--drop`): a transaction of the key to itself takes its nonce.
 */
import { isAddressEqual, type LocalAccount, type TransactionReceipt } from 'viem';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { estimateGas, type ReadClient } from '../client.ts';
import { type Gift, readGift } from './cover-gift.ts';
import { isAsked, lastStep, type OpenStep, openWords, runSchema } from './cover-open.ts';
import { type CoverCommand, type CoverPlan, partOf, planCover } from './cover-plan.ts';
import { type CoverState, readCover } from './cover-state.ts';
import { DeployError } from './errors.ts';
import { passedCap } from './gas.ts';
import { Journal } from './journal.ts';
import type { JournalContent, JournalStep } from './journal-lines.ts';
import { signStep } from './journaled-submitter.ts';
import { coverJournalPath, type Say } from './operator.ts';
import type { DeployConfig } from './options.ts';
import { assertSameChain } from './same-chain.ts';
import { type JournaledWords, receiptOf, type Settling, sendUntilMined } from './settle.ts';
import { gasLacked, lacksGas } from './step-gas.ts';

/** `stopped`: why a run without `--drop` sends nothing; null: the step goes out as it is, first of all. */
export type OpenVerdict = { words: string; stopped: string | null; foreign: boolean };

/** `plan` and `gift`: what `sender` would send, read while the step was not mined. Pure. */
export function judgeOpen(
  open: OpenStep,
  state: CoverState,
  sender: Pick<LocalAccount, 'address'>,
  plan: CoverPlan,
  gift: Gift,
): OpenVerdict {
  const words = openWords(open, state);
  const { step, sender: signer, path } = open;
  const foreign = !isAddressEqual(signer, sender.address);
  const head = `an earlier run, broken off, signed ${words}, and it is not mined: perhaps it never left, perhaps a node holds it (${step.hash}, nonce ${step.nonce} of ${signer})`;
  if (foreign) {
    return {
      words,
      foreign,
      stopped: `${head}. Nothing is sent with another key before that is settled: run --cover with the key of ${signer}, and with --drop to give the step up. Where that key is gone for good move ${path} away`,
    };
  }
  if (isAsked(open, plan, gift)) return { words, foreign, stopped: null };
  return {
    words,
    foreign,
    stopped: `${head}. This command does not ask for it, or not any more, so nothing is sent. Run the command of then to finish it, or add --drop to give it up: a transaction of the key to itself takes its nonce first`,
  };
}

/** Throws unless the journal is of this chain and this market. */
export async function assertOwnRun(
  client: ReadClient,
  journal: JournalContent<{ coverMarket: string }>,
  { coverMarket }: Pick<Deployment, 'coverMarket'>,
  { sameChain }: Pick<CoverCommand, 'sameChain'>,
): Promise<void> {
  const { path, header } = journal;
  // What was signed goes out only where this command asks for that very step: it need not be in sight.
  await assertSameChain(client, journal, { sameChain, needsSight: false });
  if (header.plan.coverMarket === coverMarket) return;
  throw new DeployError(
    `the run in ${path} is of the cover market ${header.plan.coverMarket}, and this deployment's is ${coverMarket}. Move the journal away to begin anew`,
  );
}

/** Throws a DeployError when the last step of an earlier run is neither mined nor to be sent or given up. */
export async function settleBroken(
  client: ReadClient,
  account: LocalAccount,
  config: DeployConfig,
  deployment: Deployment,
  command: CoverCommand,
  say: Say,
): Promise<void> {
  const path = coverJournalPath(config);
  const journal = Journal.open(path, runSchema);
  if (journal === null) return;
  try {
    await assertOwnRun(client, journal, deployment, command);
    const open = lastStep(journal, deployment);
    if (open === null) return;
    const { step, sender } = open;
    const found = await receiptOf(client, step);
    if (found !== null) {
      journal.recordMined(step.step);
      say(`An earlier run was broken off: its last step, ${step.what}, ${step.hash}:`);
      say(`  ${minedWords(found, step)}`);
      return;
    }
    // Read before the look at the receipt that counts: what is mined by then may be missing in the plan.
    const state = await readCover(client, deployment);
    const plan = partOf(planCover(state, command), state, account.address);
    const gift = await readGift(client, deployment, account.address, command.level);
    const { words, foreign, stopped } = judgeOpen(open, state, account, plan, gift);
    const drops = command.drop && !foreign && (await canDrop(client, open));
    if (stopped !== null && !drops && (await receiptOf(client, step)) === null) {
      throw new DeployError(stopped);
    }
    const waitMs = config.DEPLOY_WAIT_SECONDS * 1_000;
    const settling = { client, account, journal, waitMs, words: coverWords(config) };
    const mined = await client.getTransactionCount({ address: sender, blockTag: 'latest' });
    // Where the nonce is used already there is nothing to take.
    const gives = drops && mined <= step.nonce;
    if (!gives && mined <= step.nonce && (await runsOut(settling, open))) {
      throw gasLacked(settling, step);
    }
    say(
      `An earlier run was broken off: ${gives ? 'given up is' : 'first'} its last step, ${words}, ${step.hash}.`,
    );
    const last = gives ? await signDrop(settling, step) : step;
    const receipt = await sendUntilMined(settling, last);
    journal.recordMined(last.step);
    const taken = gives && receipt.transactionHash === last.hash;
    say(`  ${taken ? 'Its nonce is taken, so it can never be mined.' : minedWords(receipt, step)}`);
  } finally {
    journal.close();
  }
}

const DROP = 'drop of ';

/** What gives the step up, in words. */
export const dropOf = ({ what }: JournalStep): string =>
  what.startsWith(DROP) ? what : `${DROP}${what}`;

/** What gives a step up already is signed again only where gas costs more than its fee cap. */
export async function canDrop(client: ReadClient, { call, step }: OpenStep): Promise<boolean> {
  return call.tag !== 'drop' || (await passedCap(client, step)) !== null;
}

/** Of a step that was to take another's place either one may be what is mined: it is not the same money. */
function minedWords(
  { status, transactionHash }: TransactionReceipt,
  { hash }: JournalStep,
): string {
  const mined = `was mined${status === 'success' ? '' : ', and reverted'}`;
  return transactionHash === hash
    ? `It ${mined}.`
    : `What was signed before it ${mined}, and not it: ${transactionHash}.`;
}

/** Whether it would fail for its gas limit alone. */
async function runsOut(
  settling: Settling & { account: LocalAccount },
  { step, to, data }: OpenStep,
): Promise<boolean> {
  try {
    return await lacksGas({ ...settling, since: 0n }, step, { to, data });
  } catch (error) {
    // expected: what fails anyhow settles its nonce by that, and the run goes on with what stands by then
    if (error instanceof DeployError) return false;
    throw error;
  }
}

/** Nothing has left when this returns. */
async function signDrop(
  settling: Settling & { account: LocalAccount },
  step: JournalStep,
): Promise<JournalStep> {
  const { address } = settling.account;
  const request = { to: address, data: '0x' } as const;
  const gas = await estimateGas(settling.client, address, request);
  return await signStep(settling, step.step, dropOf(step), request, gas, step);
}

export function coverWords(config: DeployConfig): JournaledWords {
  const again = 'Run the same command again: it begins with what stands by then';
  return {
    sender: 'sender',
    reverted: again,
    displaced: again,
    anew: 'add --drop to give it up: a transaction of the key to itself takes its nonce first',
    perhapsDisplaced: `move ${coverJournalPath(config)} away and run the same command again`,
    moved: { errors: /^(BadWeek|CapTooHigh|AlreadyListed)/, advice: again },
  };
}
