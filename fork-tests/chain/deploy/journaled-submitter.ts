/**
 * Submits a deployment's steps one at a time through its journal. What must hold:
 * - a step's bytes are on disk before they are broadcast, and not signed a second time, but where the operator asks for
 *   it (`resign`) after they can no longer succeed: then under the same nonce, so that one of the two at most is mined;
 * - bytes that an earlier run left unmined and that would fail now, or lack gas, are not sent: a reverted step ends a
 *   deployment;
 * - a step that the journal has is held against what the plan asks for now: if they differ, nothing more is sent;
 * - nonces are the journal's: another transaction of the deployer's in between, mined or waiting, stops the run.
 *
 * So every run walks all steps from the first one: those that are mined are passed over, the last one may be sent again.
 */
import {
  type Abi,
  type Address,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  keccak256,
  type LocalAccount,
  parseTransaction,
  type TransactionReceipt,
} from 'viem';
import { CHAIN_ID } from '../../../contracts-abi/constants.ts';
import type { Submitter } from '../submitter.ts';
import { DeployError } from './errors.ts';
import { gasPrice, passedCap } from './gas.ts';
import type { JournalStep } from './journal-lines.ts';
import { POLL_MS, pause, receiptOf, type Settling, sendUntilMined, wordsOf } from './settle.ts';
import { gasLacked, gasLimit, lacksGas, type StepRequest } from './step-gas.ts';

export type JournaledOptions = Settling & {
  account: LocalAccount;
  /** The journal's last step, unmined, to be signed anew where contents, gas or fee differ by now. */
  resign?: number;
  onStep?: (step: SettledStep) => void;
};

export type SettledStep = {
  index: number;
  what: string;
  hash: Hex;
  gasUsed: bigint;
  wei: bigint;
  /** Sent by this run, or found mined. */
  sent: boolean;
};

/**
 * In the place of a step that was signed anew the old bytes are mined, with other contents. The journal says so by now:
 * walked again, the steps are those of then.
 */
export class FormerMined extends DeployError {
  constructor({ step, what }: JournalStep) {
    super(
      `step ${step + 1} (${what}) was mined as it was signed first, and not as it was signed anew: run the same command again, it goes on from there`,
    );
  }
}

export function submitJournaled(options: JournaledOptions): Submitter {
  const { account, journal } = options;
  let next = 0;
  /** The block of the last step that was seen mined. */
  let since = 0n;

  const run = async (what: string, request: StepRequest): Promise<void> => {
    const index = next;
    next += 1;
    const known = journal.steps[index];
    const stepping = { ...options, since };
    const anew =
      known !== undefined && index === options.resign
        ? await signAnew(stepping, what, request, known)
        : null;
    if (known !== undefined && anew === null) assertSame(known, what, request);
    const fresh = known === undefined || anew !== null;
    const step = anew ?? known ?? (await sign(stepping, index, what, request));
    const receipt = await settle(stepping, step, request, fresh);
    since = receipt.blockNumber;
    journal.recordMined(index);
    if (journal.fallBack(receipt.transactionHash)) throw new FormerMined(step);
    if (receipt.status !== 'success') {
      throw new DeployError(
        `step ${index + 1} (${what}) was mined and reverted: ${step.hash}. ${wordsOf(options).reverted}`,
      );
    }
    options.onStep?.({
      index,
      what,
      hash: step.hash,
      gasUsed: receipt.gasUsed,
      wei: receipt.gasUsed * receipt.effectiveGasPrice,
      sent: fresh,
    });
  };
  const assertOwn = ({ address }: LocalAccount): void => {
    if (address !== account.address) throw new Error(`the journal is not of ${address}`);
  };
  const addressAt = (step: number): Address =>
    getContractAddress({ from: account.address, nonce: BigInt(journal.header.firstNonce + step) });

  return {
    async deploy(from, { name, abi, bytecode, args, gas }) {
      assertOwn(from);
      const address = addressAt(next);
      const data = encodeDeployData({ abi, bytecode, args: args ?? [] });
      await run(`deployment of ${name}`, { data, ...(gas === undefined ? {} : { gas }) });
      return address;
    },
    async write(from, call) {
      assertOwn(from);
      const data = encodeFunctionData<Abi, string>({
        abi: call.abi,
        functionName: call.functionName,
        args: call.args as readonly unknown[],
      });
      await run(`${call.functionName as string} on ${call.address}`, {
        to: call.address,
        data,
        ...(call.value === undefined ? {} : { value: call.value }),
        ...(call.gas === undefined ? {} : { gas: call.gas }),
      });
    },
    nextAddress: async (_, ahead) => addressAt(next + ahead),
    async decide(name, read) {
      const known = journal.decisions.get(name);
      // Until a step rests on it, a decision is made again: the world may have moved since.
      const bound = next < journal.steps.length && next !== options.resign;
      if (known !== undefined && bound) return known as Awaited<ReturnType<typeof read>>;
      const value = await read(known as Awaited<ReturnType<typeof read>> | undefined);
      journal.decide(name, value);
      return value;
    },
    flush: () => Promise.resolve(),
  };
}

function isSame(known: JournalStep, request: StepRequest): boolean {
  return (
    known.to?.toLowerCase() === request.to?.toLowerCase() &&
    known.value === (request.value ?? 0n).toString() &&
    known.dataHash === keccak256(request.data)
  );
}

function assertSame(known: JournalStep, what: string, request: StepRequest): void {
  if (isSame(known, request)) return;
  throw new DeployError(
    `the plan changed: step ${known.step + 1} is "${known.what}" in the journal and "${what}" now, with other contents. Put the plan and the sources back as they were when the deployment began`,
  );
}

/** Whether a signed step can not be mined as it was signed, or only to fail. Throws when it would fail anyhow. */
async function isPassed(
  stepping: JournaledOptions & { since: bigint },
  known: JournalStep,
  request: StepRequest,
): Promise<boolean> {
  if (!isSame(known, request)) return true;
  if ((await passedCap(stepping.client, known)) !== null) return true;
  return lacksGas(stepping, known, request);
}

/** Null: it stands as it was signed. */
async function signAnew(
  stepping: JournaledOptions & { since: bigint },
  what: string,
  request: StepRequest,
  known: JournalStep,
): Promise<JournalStep | null> {
  try {
    if (!(await isPassed(stepping, known, request))) return null;
    return await sign(stepping, known.step, what, request, known);
  } catch (error) {
    // What is mined would fail a second time: a node that was behind had not told of it.
    if ((await receiptOf(stepping.client, known)) === null) throw error;
    throw new DeployError(
      `step ${known.step + 1} (${what}) is mined already, and was not when the node was asked first: run the same command again, it goes on from there`,
      error,
    );
  }
}

/** Signs the next step, or the last one anew in the place of `before`. Nothing has left when this returns. */
async function sign(
  options: JournaledOptions & { since: bigint },
  index: number,
  what: string,
  request: StepRequest,
  before?: JournalStep,
): Promise<JournalStep> {
  if (before === undefined) {
    await ourTurn(options, options.journal.header.firstNonce + index, index, what);
  }
  const gas = await gasLimit(options, index, what, request);
  return await signStep(options, index, what, request, gas, before);
}

/**
 * Signs and journals a step as it is, in the place of `before` where that is the last one and not mined: at a fee that
 * nodes take instead of its own.
 */
export async function signStep(
  { client, account, journal }: Pick<JournaledOptions, 'client' | 'account' | 'journal'>,
  index: number,
  what: string,
  request: StepRequest,
  gas: bigint,
  before?: JournalStep,
): Promise<JournalStep> {
  const nonce = journal.header.firstNonce + index;
  let { maxFee } = await gasPrice(client);
  let tip = 0n;
  if (before !== undefined) {
    const old = parseTransaction(before.raw);
    const least = inItsPlace(old.maxFeePerGas ?? 0n);
    if (maxFee < least) maxFee = least;
    tip = inItsPlace(old.maxPriorityFeePerGas ?? 0n);
  }
  const raw = await account.signTransaction({
    ...request,
    type: 'eip1559',
    chainId: CHAIN_ID,
    nonce,
    gas,
    maxFeePerGas: maxFee,
    maxPriorityFeePerGas: tip,
  });
  const step: JournalStep = {
    step: index,
    what,
    nonce,
    to: request.to ?? null,
    value: (request.value ?? 0n).toString(),
    dataHash: keccak256(request.data),
    hash: keccak256(raw),
    raw,
    earlier: before === undefined ? [] : [...before.earlier, before.hash],
  };
  if (before === undefined) journal.recordStep(step);
  else journal.recordResigned(step);
  return step;
}

/** What a node asks of a transaction that takes another's place, of cap and tip: a tenth more; an eighth does anywhere. */
const inItsPlace = (fee: bigint): bigint => (fee * 9n) / 8n + 1n;

/** Resolves when the deployer's next transaction is this step's. Throws when another one is in its place. */
async function ourTurn(
  options: JournaledOptions,
  nonce: number,
  index: number,
  what: string,
): Promise<void> {
  const { client, account, waitMs } = options;
  const { sender, displaced } = wordsOf(options);
  const { address } = account;
  const deadline = Date.now() + waitMs;
  for (;;) {
    const [mined, waiting] = await Promise.all([
      client.getTransactionCount({ address, blockTag: 'latest' }),
      client.getTransactionCount({ address, blockTag: 'pending' }),
    ]);
    if (mined > nonce || waiting > nonce) {
      const state = mined > nonce ? 'was mined' : 'is waiting';
      throw new DeployError(
        `another transaction of the ${sender} ${address} ${state} at nonce ${nonce}, where step ${index + 1} (${what}) belongs, or the journal lost its last lines: nothing more was sent. ${displaced}`,
      );
    }
    if (mined === nonce) return;
    if (Date.now() > deadline) {
      throw new DeployError(
        `the node has not seen the ${sender}'s earlier transactions yet (nonce ${mined}, expected ${nonce}): run the same command again`,
      );
    }
    await pause(POLL_MS);
  }
}

/** Sees the step's transaction mined, sending its bytes as often as it takes. */
async function settle(
  options: JournaledOptions & { since: bigint },
  step: JournalStep,
  request: StepRequest,
  fresh: boolean,
): Promise<TransactionReceipt> {
  if (!fresh) {
    const receipt = await receiptOf(options.client, step);
    if (receipt !== null) return receipt;
    const { address } = options.account;
    const mined = await options.client.getTransactionCount({ address, blockTag: 'latest' });
    // Signed by an earlier run, and perhaps never sent: prices, weeks and caps may have moved on since.
    if (mined === step.nonce) {
      try {
        if (await lacksGas(options, step, request)) throw gasLacked(options, step);
      } catch (error) {
        // What is mined would fail a second time: a node that was behind had not told of it.
        const late = await receiptOf(options.client, step);
        if (late === null) throw error;
        return late;
      }
    }
  }
  return sendUntilMined(options, step);
}
