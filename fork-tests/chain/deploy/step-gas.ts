/**
 * Gas and fee cap of a step, by the chain as it is now. What must hold:
 * - a node that lags, or another one behind the same address, does not know what the step before left: it would estimate
 *   a call to nothing, and a step that runs out of gas ends a deployment. So each estimate is asked for at a block that
 *   has the last step, and a step gets at least what its sizes bound it by;
 * - what was signed before is compared with what it takes now, before its bytes go out again.
 */
import {
  type Address,
  BlockNotFoundError,
  type Hex,
  type LocalAccount,
  parseTransaction,
} from 'viem';
import { describeRevert, revertDataOf } from '../../../contracts-abi/revert.ts';
import { estimateGas, type ReadClient, reasonOf } from '../client.ts';
import { DeployError } from './errors.ts';
import { executionBound } from './gas.ts';
import type { JournalStep } from './journal-lines.ts';
import { isNoAnswer, POLL_MS, pause, type Settling, wordsOf } from './settle.ts';

/** `gas`: the step's own bound, where it has one. */
export type StepRequest = { to?: Address; data: Hex; value?: bigint; gas?: bigint };

/** `since`: the block of the last step that was seen mined; zero before. */
export type Stepping = Settling & { account: LocalAccount; since: bigint };

/** What nodes say of a block that they do not have yet; where one says it otherwise it is asked for the block. */
const UNKNOWN_BLOCK =
  /unknown block|(header|block)\b.*(not found|not be found|out ?of ?range|requested was)/i;

/** Gas to sign the step with. Throws when it would fail: a reverted step ends a deployment. */
export async function gasLimit(
  stepping: Stepping,
  index: number,
  what: string,
  request: StepRequest,
): Promise<bigint> {
  const estimated = await estimateStep(stepping, index, what, request);
  const bound = executionBound(request);
  return estimated > bound ? estimated : bound;
}

/** Whether a step that was signed before would run out of gas now. Throws when it would fail anyhow. */
export async function lacksGas(
  stepping: Stepping,
  { step, what, raw }: JournalStep,
  request: StepRequest,
): Promise<boolean> {
  const limit = parseTransaction(raw).gas ?? 0n;
  // The estimate has a quarter more than the step takes.
  return (await estimateStep(stepping, step, what, request)) > (limit * 5n) / 4n;
}

export function gasLacked(stepping: Settling, { step, what }: JournalStep): DeployError {
  return new DeployError(
    `step ${step + 1} (${what}) needs more gas by now than it was signed with, so it was not sent: ${wordsOf(stepping).anew}`,
  );
}

/** The node's estimate and a quarter more, at a block that has the last step. */
async function estimateStep(
  stepping: Stepping,
  index: number,
  what: string,
  request: StepRequest,
): Promise<bigint> {
  const { client, account, since, waitMs } = stepping;
  const head = await client.getBlockNumber();
  const at = head > since ? head : since;
  const deadline = Date.now() + waitMs;
  for (;;) {
    try {
      return await estimateGas(client, account.address, request, at);
    } catch (cause) {
      if (isNoAnswer(cause)) throw cause;
      const data = revertDataOf(cause);
      const reason = data === null ? reasonOf(cause) : describeRevert(data);
      if (data !== null || !(UNKNOWN_BLOCK.test(reason) || (await lacksBlock(client, at)))) {
        const { moved } = wordsOf(stepping);
        const advice = moved.errors.test(reason) ? `. ${moved.advice}` : '';
        throw new DeployError(
          `step ${index + 1} (${what}) would fail, so it was not sent: ${reason}${advice}`,
          cause,
        );
      }
      // expected of a node that lags
      if (Date.now() > deadline) {
        throw new DeployError(
          `the node does not know block ${at} yet, so step ${index + 1} (${what}) was not sent: run the same command again`,
          cause,
        );
      }
    }
    await pause(POLL_MS);
  }
}

async function lacksBlock(client: ReadClient, blockNumber: bigint): Promise<boolean> {
  try {
    await client.getBlock({ blockNumber });
    return false;
  } catch (error) {
    // expected of a node that lags
    if (error instanceof BlockNotFoundError) return true;
    throw error;
  }
}
