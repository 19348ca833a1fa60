/**
 * Whether a journal is of the chain that the command talks to. Forks of one upstream share its blocks, so its anchor
 * tells them apart from nothing: what was mined for the journal's own steps does. What must hold:
 * - a step that was mined where the journal was written is mined here, or nothing is sent;
 * - but for the last few: a reorganisation may have taken them back, and their bytes go out again. Of another chain no
 *   step stands at all, so the first one always counts.
 */
import type { ReadClient } from '../client.ts';
import { DeployError } from './errors.ts';
import type { JournalContent } from './journal.ts';
import { receiptOf } from './settle.ts';

/** Steps at the end that a reorganisation may take back: each one waits for the block of the one before. */
const MOST_TAKEN_BACK = 3;

export async function assertSameChain(
  client: ReadClient,
  journal: JournalContent<unknown>,
): Promise<void> {
  await assertAnchor(client, journal);
  const { path, header, steps } = journal;
  const last = lastMined(journal);
  if (last < 0) return;
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
    if (step === undefined || (await receiptOf(client, step)) !== null) continue;
    throw new DeployError(
      `${path} is of another chain, or this is a reorganised one: step ${index + 1} (${step.what}), ${step.hash}, was mined there and has no receipt here, though its nonce is used (where it is the right chain this node keeps no receipts that old: try another RPC endpoint). ${advice}`,
    );
  }
}

/** Index of the last step that was surely mined: it was seen so, or a later one was signed. -1: none. */
function lastMined({ steps, seen }: JournalContent<unknown>): number {
  return Math.max(seen, steps.length - 2);
}

/** Throws unless the block that the journal began above is this chain's. */
async function assertAnchor(
  client: ReadClient,
  { path, header: { anchor } }: JournalContent<unknown>,
): Promise<void> {
  const blockNumber = BigInt(anchor.number);
  const head = await client.getBlockNumber();
  const hash = head < blockNumber ? null : (await client.getBlock({ blockNumber })).hash;
  if (hash !== anchor.hash) {
    throw new DeployError(
      `the deployment in ${path} is of another chain: block ${blockNumber} here is not the one there. Move the journal away to begin anew`,
    );
  }
}
