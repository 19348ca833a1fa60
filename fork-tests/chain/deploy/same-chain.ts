/**
 * Whether a journal is of the chain that the command talks to. Forks of one upstream share its blocks, so its anchor
 * tells them apart from nothing: what was mined for the journal's own steps does. What must hold:
 * - a step that was mined where the journal was written is mined here, or nothing is sent;
 * - but for the last few: a reorganisation may have taken them back, and their bytes go out again. Of another chain no
 *   step stands at all, so the first one always counts;
 * - where not even the first one was seen mined, it is in sight here, mined or waiting, or the operator says that this is
 *   its chain (--same-chain): what a rehearsal planned is not for another chain.
 */
import { TransactionNotFoundError } from 'viem';
import type { ReadClient } from '../client.ts';
import { DeployError } from './errors.ts';
import type { JournalContent, JournalStep } from './journal-lines.ts';
import { POLL_MS, pause, receiptOf } from './settle.ts';

/** Steps at the end that a reorganisation may take back: each one waits for the block of the one before. */
const MOST_TAKEN_BACK = 3;
/** Patience with nodes of which one has counted a step and another one does not have it. */
const LAG_MS = 3_000;

export type Resuming = {
  /** The operator says so. */
  sameChain: boolean;
  /** Whether a first step that was never seen mined has to be in sight; if not, only the chain's blocks are compared. */
  needsSight: boolean;
};

export async function assertSameChain(
  client: ReadClient,
  journal: JournalContent<unknown>,
  resuming: Resuming,
): Promise<void> {
  await assertAnchor(client, journal);
  const { path, header, steps } = journal;
  const last = lastMined(journal);
  if (last < 0) {
    await assertBegunHere(client, journal, resuming);
    return;
  }
  const mined = await client.getTransactionCount({
    address: header.deployer,
    blockTag: 'latest',
  });
  const standing = Math.min(last, mined - header.firstNonce - 1);
  const advice = `Nothing was sent. Point RPC_URLS at the chain of the journal, or where that is not wanted any more name another DEPLOYMENT_FILE or move ${path} away, to begin anew on this one`;
  if (standing < 0 || last - standing > MOST_TAKEN_BACK) {
    throw new DeployError(
      `${path} is of another chain, or this is a reorganised one: ${last + 1} of its steps were mined there, and the nonce of ${header.deployer} here is ${mined} where they lead to ${header.firstNonce + last + 1} (a node that is behind gets there: run the same command again). ${advice}`,
    );
  }
  for (const index of new Set([0, standing])) {
    const step = steps[index];
    if (step === undefined || (await isMined(client, step))) continue;
    throw new DeployError(
      `${path} is of another chain, or this is a reorganised one: step ${index + 1} (${step.what}), ${step.hash}, was mined there and has no receipt here, though its nonce is used (a node that is behind gets there: run the same command again; where it is the right chain and that does not help this node keeps no receipts that old: try another RPC endpoint). ${advice}`,
    );
  }
}

/** Whether it has a receipt: behind one address one node may count it and another one not have it yet. */
async function isMined(client: ReadClient, step: JournalStep): Promise<boolean> {
  const deadline = Date.now() + LAG_MS;
  while ((await receiptOf(client, step)) === null) {
    if (Date.now() > deadline) return false;
    await pause(POLL_MS);
  }
  return true;
}

/** Index of the last step that was surely mined: it was seen so, or a later one was signed. -1: none. */
function lastMined({ steps, seen }: JournalContent<unknown>): number {
  return Math.max(seen, steps.length - 2);
}

/** Of a journal whose first step, where there is one, may have been mined or not, on this chain or on another. */
async function assertBegunHere(
  client: ReadClient,
  { path, header: { head }, steps: [first] }: JournalContent<unknown>,
  { sameChain, needsSight }: Resuming,
): Promise<void> {
  if (first === undefined || sameChain || (await isInSight(client, first))) return;
  const advice = `Nothing was sent. Where this is the chain on which it was signed, add --same-chain: its bytes go out again, and the rest after them. Otherwise point RPC_URLS at that chain, or move ${path} away to begin anew on this one`;
  const signed = `its first step (${first.what}), ${first.hash}, was signed, and this chain knows no such transaction`;
  if (head !== undefined && (await hashAt(client, head.number)) !== head.hash) {
    throw new DeployError(
      `${path} is of another chain, or this is a reorganised one: ${signed}, and block ${head.number} here is not the one that it began after. ${advice}`,
    );
  }
  if (needsSight) {
    throw new DeployError(
      `${path} may be of another chain, such as a rehearsal's: ${signed}. ${advice}`,
    );
  }
}

/** Mined, or waiting at the node. */
async function isInSight(client: ReadClient, step: JournalStep): Promise<boolean> {
  if ((await receiptOf(client, step)) !== null) return true;
  for (const hash of [step.hash, ...step.earlier]) {
    try {
      await client.getTransaction({ hash });
      return true;
    } catch (error) {
      // expected where it never left, or another chain has it
      if (!(error instanceof TransactionNotFoundError)) throw error;
    }
  }
  return false;
}

/** Null: this chain is not that long. */
async function hashAt(client: ReadClient, number: number): Promise<string | null> {
  const head = await client.getBlockNumber();
  if (head < number) return null;
  return (await client.getBlock({ blockNumber: BigInt(number) })).hash;
}

/** Throws unless the block that the journal began above is this chain's. */
async function assertAnchor(
  client: ReadClient,
  { path, header: { anchor } }: JournalContent<unknown>,
): Promise<void> {
  if ((await hashAt(client, anchor.number)) !== anchor.hash) {
    throw new DeployError(
      `the deployment in ${path} is of another chain: block ${anchor.number} here is not the one there. Move the journal away to begin anew`,
    );
  }
}
