/** Sees signed steps of a journal mined, sending the same bytes as often as it takes. */
import {
  formatGwei,
  type LocalAccount,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from 'viem';
import { type ReadClient, reasonOf } from '../client.ts';
import { DeployError } from './errors.ts';
import { passedCap } from './gas.ts';
import type { Journal } from './journal.ts';
import type { JournalStep } from './journal-lines.ts';

export const POLL_MS = 100;
/** Bytes that stay unmined go out again after this long: a node may have dropped them. */
const REBROADCAST_MS = 5_000;

/** For the operator: who sends, and what to do about a step that cannot be mined as it was signed. */
export type JournaledWords = {
  sender: string;
  reverted: string;
  displaced: string;
  perhapsDisplaced: string;
  /** What frees a nonce whose step can not be mined as it was signed, or only to fail. */
  anew: string;
  /** By the names of errors that say that the world moved on. */
  moved: { errors: RegExp; advice: string };
};

const deploymentWords = ({ path }: { path: string }): JournaledWords => ({
  sender: 'deployer',
  reverted: `The deployment cannot go on; begin anew with ${path} moved away`,
  displaced:
    'Contracts get their addresses from nonces, so this deployment cannot go on; use a key that nothing else sends from',
  perhapsDisplaced: 'this deployment cannot go on',
  anew: 'npm run deploy -- --restate signs it anew, under the same nonce',
  moved: {
    errors: /^(PriceOffStated|BadWeek|CapTooHigh)/,
    advice:
      'The world moved away from the plan: npm run deploy -- --restate goes on with prices, weeks and caps of now',
  },
});

export function wordsOf({ words, journal }: Pick<Settling, 'words' | 'journal'>): JournaledWords {
  return words ?? deploymentWords(journal);
}

/** Whose step it is; its key is not needed to send the same bytes again. */
export type Settling = {
  client: ReadClient;
  account: Pick<LocalAccount, 'address'>;
  journal: Journal<unknown>;
  /** Longest wait for one transaction to be mined, and for a node that lags. */
  waitMs: number;
  /** Absent: a deployment's. */
  words?: JournaledWords;
};

/** Throws a DeployError when it is not mined in time, or when it never can be. */
export async function sendUntilMined(
  options: Settling,
  step: JournalStep,
): Promise<TransactionReceipt> {
  const { client, account, waitMs } = options;
  const { sender, perhapsDisplaced } = wordsOf(options);
  const deadline = Date.now() + waitMs;
  let receipt: TransactionReceipt | null = null;
  let sentAt = Number.NEGATIVE_INFINITY;
  let refusal: string | null = null;
  while (receipt === null) {
    if (Date.now() - sentAt > REBROADCAST_MS) {
      refusal = await broadcast(client, step, sender);
      sentAt = Date.now();
    }
    const { address } = account;
    const mined = await client.getTransactionCount({ address, blockTag: 'latest' });
    receipt = await receiptOf(client, step);
    if (receipt !== null) break;
    if (Date.now() > deadline) {
      if (mined > step.nonce) {
        throw new DeployError(
          `nonce ${step.nonce} of the ${sender} ${address} is used, and no receipt of step ${step.step + 1} (${step.what}), ${step.hash}, is in sight after ${waitMs / 1_000} s: either this node keeps no receipts that old (try another RPC endpoint), or another transaction was sent with the ${sender}'s key, and then ${perhapsDisplaced}`,
        );
      }
      const said = refusal === null ? '' : ` (the node says: ${refusal})`;
      throw new DeployError(
        `step ${step.step + 1} (${step.what}) is not mined after ${waitMs / 1_000} s: ${step.hash}${said}. ${await wayOn(options, step)}`,
      );
    }
    await pause(POLL_MS);
  }
  return receipt;
}

async function wayOn(options: Settling, step: JournalStep): Promise<string> {
  const cap = await passedCap(options.client, step);
  if (cap === null) return 'Run the same command again: it sends the same bytes';
  return `Gas costs more by now than its fee cap of ${formatGwei(cap)} gwei: run the same command again once it does not, or ${wordsOf(options).anew}`;
}

/**
 * What the node says decides nothing, but where it says that the bytes can never be mined as things are.
 * @returns its words of refusal; null when it took them.
 */
async function broadcast(
  client: ReadClient,
  step: JournalStep,
  sender: string,
): Promise<string | null> {
  try {
    await client.request({ method: 'eth_sendRawTransaction', params: [step.raw] });
    return null;
  } catch (error) {
    if (isNoAnswer(error)) throw error;
    const reason = reasonOf(error);
    if (/insufficient funds/i.test(reason)) {
      throw new DeployError(
        `the ${sender} has too little ETH for step ${step.step + 1} (${step.what}). Fund it and run the same command again`,
        error,
      );
    }
    if (/replacement transaction underpriced/i.test(reason)) {
      const own = step.earlier.length > 0 ? ', perhaps the step as it was signed before' : '';
      throw new DeployError(
        `another transaction of the ${sender} is waiting at nonce ${step.nonce}, where step ${step.step + 1} (${step.what}) belongs${own}: run the same command again once it is mined or gone`,
        error,
      );
    }
    // expected: "already known", "nonce too low" for what was mined meanwhile; receipt and nonce tell the rest
    return reason;
  }
}

/** Of the step as it was signed last, or before. */
export async function receiptOf(
  client: ReadClient,
  { hash: last, earlier }: JournalStep,
): Promise<TransactionReceipt | null> {
  for (const hash of [last, ...earlier]) {
    try {
      return await client.getTransactionReceipt({ hash });
    } catch (error) {
      // expected until it is mined
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
    }
  }
  return null;
}

/** No word from the node at all, as against a refusal. */
export function isNoAnswer(error: unknown): boolean {
  for (let depth = 0, current = error; depth < 10; depth += 1) {
    if (typeof current !== 'object' || current === null) return false;
    const { name, cause } = current as { name?: unknown; cause?: unknown };
    if (name === 'HttpRequestError' || name === 'TimeoutError') return true;
    current = cause;
  }
  return false;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
