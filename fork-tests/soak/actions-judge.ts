/** What the agents' journals say of each action, held against the chain's events. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Address, Hex } from 'viem';
import { sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import type { JournalRecord } from '../../relayer/client/index.ts';
import { readDeployment } from '../../contracts-abi/deployment.ts';
import type { ChainClient } from '../chain/client.ts';

/** One nonce: everything that was signed under it, and what the client says came of it. */
export type Told = {
  id: string;
  account: Address;
  nonce: bigint;
  digests: Set<Hex>;
  /** The relayer signed that it accepted it. */
  accepted: boolean;
  outcome: Extract<JournalRecord, { state: 'settled' }>['outcome'] | null;
};

export function readJournals(folder: string): Told[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.journal'))
    .flatMap((name) => [...readJournal(join(folder, name)).values()]);
}

function readJournal(path: string): Map<string, Told> {
  const told = new Map<string, Told>();
  const whole = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  for (const record of whole.map((line) => JSON.parse(line) as JournalRecord)) {
    const key = `${record.id}/${record.attempt}`;
    if (record.state === 'planned') {
      const { account, nonce } = record.signable.action;
      const own = { id: record.id, account, nonce: BigInt(nonce) };
      if (!told.has(key)) {
        told.set(key, { ...own, digests: new Set(), accepted: false, outcome: null });
      }
    }
    const entry = told.get(key);
    if (entry === undefined) throw new Error(`${path}: ${key} has no plan`);
    if (record.state === 'signed') entry.digests.add(record.digest);
    if (record.state === 'accepted') entry.accepted = true;
    if (record.state === 'settled') entry.outcome = record.outcome;
  }
  return told;
}

type Run = { account: Address; nonce: bigint; digest: Hex; hash: Hex };

/** Every execution of the session module from `fromBlock` on. */
export async function readRuns(
  client: ChainClient,
  deployment: Pick<ReturnType<typeof readDeployment>, 'sessionModule'>,
  fromBlock: bigint,
): Promise<Run[]> {
  const runs: Run[] = [];
  const head = await client.getBlockNumber();
  for (let from = fromBlock; from <= head; from += 1_000n) {
    const events = await client.getContractEvents({
      address: deployment.sessionModule,
      abi: sessionModuleAbi,
      eventName: 'Executed',
      fromBlock: from,
      toBlock: from + 999n > head ? head : from + 999n,
      strict: true,
    });
    for (const { args, transactionHash: hash } of events) {
      runs.push({ account: args.account, nonce: args.nonce, digest: args.digest, hash });
    }
  }
  return runs;
}

export type Judgement = {
  actions: number;
  executedOnce: number;
  neverExecuted: Record<string, number>;
  accepted: number;
  acceptedAndExecuted: number;
  problems: string[];
};

export function judge(told: readonly Told[], runs: readonly Run[]): Judgement {
  const problems: string[] = [];
  const neverExecuted: Record<string, number> = {};
  const byNonce = new Map<string, Run[]>();
  const slot = (of: { account: Address; nonce: bigint }): string =>
    `${of.account.toLowerCase()}/${of.nonce}`;
  for (const run of runs) byNonce.set(slot(run), [...(byNonce.get(slot(run)) ?? []), run]);
  let executedOnce = 0;
  const executedIds = new Set<string>();
  for (const one of told) {
    const ran = byNonce.get(slot(one)) ?? [];
    byNonce.delete(slot(one));
    const [first] = ran;
    if (ran.length > 1) problems.push(`${one.id} ran ${ran.length} times`);
    if (first !== undefined && !one.digests.has(first.digest)) {
      problems.push(`${one.id}: the chain ran ${first.digest}, which was never signed for it`);
    }
    if (one.outcome === null) {
      problems.push(`${one.id} has no answer; it ran ${ran.length} times`);
    } else if (one.outcome.tag === 'executed') {
      if (first?.hash !== one.outcome.hash) {
        problems.push(
          `${one.id} is said to run in ${one.outcome.hash}, the chain has ${first?.hash}`,
        );
      }
      if (executedIds.has(one.id)) problems.push(`${one.id} ran under two nonces`);
      executedIds.add(one.id);
      executedOnce += 1;
    } else {
      if (first !== undefined)
        problems.push(`${one.id} is said never to run, and ran in ${first.hash}`);
      const { reason } = one.outcome;
      neverExecuted[reason] = (neverExecuted[reason] ?? 0) + 1;
    }
  }
  for (const key of byNonce.keys()) problems.push(`${key} ran and stands in no journal`);
  const accepted = told.filter((one) => one.accepted);
  return {
    actions: told.length,
    executedOnce,
    neverExecuted,
    accepted: accepted.length,
    acceptedAndExecuted: accepted.filter(({ outcome }) => outcome?.tag === 'executed').length,
    problems,
  };
}
