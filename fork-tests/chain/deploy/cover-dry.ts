/** `npm run deploy -- --cover --dry-run`: what the run would send now, and at which caps. Sends nothing. */
import {
  type Address,
  encodeFunctionData,
  type Hex,
  isAddressEqual,
  type LocalAccount,
} from 'viem';
import { MIN_COVER_USD } from '../../../contracts-abi/constants.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { coverMarketAbi } from '../../../contracts-abi/generated/index.ts';
import { describeRevert, revertDataOf } from '../../../contracts-abi/revert.ts';
import { estimateGas, type ReadClient, reasonOf } from '../client.ts';
import { callLines, coverSteps, ownerCalls } from './cover-calls.ts';
import { type Gift, giftLine, giftShort, readGift } from './cover-gift.ts';
import { giftAfter, lastStep, runSchema, stateAfter } from './cover-open.ts';
import {
  type CoverCommand,
  type CoverListing,
  type CoverPlan,
  partOf,
  planCover,
  shareWords,
} from './cover-plan.ts';
import { assertOwnRun, canDrop, dropOf, judgeOpen } from './cover-settle.ts';
import { type CoverState, capOfDepth, coverLines, readCover } from './cover-state.ts';
import { boundGas, funds, grouped } from './gas.ts';
import { Journal } from './journal.ts';
import { coverJournalPath, loadDeployer, type Say } from './operator.ts';
import type { DeployConfig } from './options.ts';
import type { RecordedStep } from './recording-submitter.ts';
import { isNoAnswer, receiptOf } from './settle.ts';

/** And the calls where another than the owner would send them. Without a key as the owner. */
export async function dryCover(
  client: ReadClient,
  config: DeployConfig,
  deployment: Deployment,
  command: CoverCommand,
  say: Say,
): Promise<void> {
  const hasKey = config.WALLET_KEYSTORE !== undefined || config.WALLET_PRIVATE_KEYS !== undefined;
  const key = hasKey ? loadDeployer(config).address : null;
  const standing = await readCover(client, deployment);
  const address = key ?? standing.owner;
  const account = { address } as LocalAccount;
  const read = {
    state: standing,
    plan: planCover(standing, command),
    gift: await readGift(client, deployment, address, command.level),
  };
  const first = await foreseeOpen(client, config, deployment, command, account, read, say);
  if (first === null) {
    for (const line of coverLines(standing)) say(line);
    return;
  }
  const { state, plan, gift } = first;
  const part = partOf(plan, state, address);
  const caps = await foreseeCaps(client, deployment, state.owner, part.listings, first.listing);
  const own = await coverSteps(
    client,
    account,
    { deployment, plan: part, gift },
    caps ?? undefined,
  );
  const steps = [...first.steps, ...own];
  const gas = await boundGas(client, account, steps);
  for (const [index, { what }] of steps.entries()) {
    say(`  ${index + 1}. ${what}: ${grouped(gas[index] ?? 0n)} gas`);
  }
  for (const listing of part.listings) say(capLine(listing, caps));
  const given = giftLine(gift);
  if (given !== null) say(given);
  for (const line of coverLines(standing)) say(line);
  const calls = ownerCalls(deployment, plan);
  if (calls.length > 0 && (key === null || !isAddressEqual(key, state.owner))) {
    say(
      'For an owner whose key is elsewhere (a multisig). Caps are lower here: nothing is read between these calls, and prices move until they are sent.',
    );
    for (const line of callLines(calls)) say(line);
  }
  const poor = giftShort(gift, address);
  if (poor !== null) say(`${poor}: nothing would be sent.`);
  if (steps.length > 0) {
    const { text, short } = await funds(client, account, gas, 'sender');
    say(text);
    if (short !== null) say(short);
  } else if (calls.length === 0) {
    say('Nothing to do: nothing would be sent.');
  }
}

type Read = { state: CoverState; plan: CoverPlan; gift: Gift };

/** What the run finds once it has settled a broken-off one. */
type Settled = Read & {
  /** What settles that. */
  steps: RecordedStep[];
  /** The open step where it is a listing, for what it takes of its pools. */
  listing: Hex | null;
};

/** Looks at what a broken-off run left, and says it. @returns null where this run would stop there. */
async function foreseeOpen(
  client: ReadClient,
  config: DeployConfig,
  deployment: Deployment,
  command: CoverCommand,
  account: LocalAccount,
  read: Read,
  say: Say,
): Promise<Settled | null> {
  const path = coverJournalPath(config);
  const nothing: Settled = { ...read, steps: [], listing: null };
  const journal = Journal.read(path, runSchema);
  if (journal === null) return nothing;
  await assertOwnRun(client, journal, deployment, command);
  const open = lastStep(journal, deployment);
  if (open === null) return nothing;
  const { step, to, data, gas } = open;
  if ((await receiptOf(client, step)) !== null) {
    say(`An earlier run was broken off; its last step, ${step.what}, ${step.hash}, is mined.`);
    return nothing;
  }
  const { state, gift } = read;
  const plan = partOf(read.plan, state, account.address);
  const { words, foreign, stopped } = judgeOpen(open, state, account, plan, gift);
  if (command.drop && !foreign && (await canDrop(client, open))) {
    say(`First the last step of an earlier run, ${words}, would be given up (${step.hash}).`);
    const drop = {
      what: dropOf(step),
      to: account.address,
      data: '0x',
      value: 0n,
    } as const;
    return { ...nothing, steps: [drop] };
  }
  if (stopped !== null) {
    say(`A run of this command would stop: ${stopped}.`);
    return null;
  }
  const steps = [{ what: `${words}, as it was signed`, to, data, value: 0n, gas }];
  const fails = await whyItFails(client, account.address, { to, data });
  if (fails !== null) {
    say(
      `First the last step of an earlier run, ${words}, would be sent as it was signed (${step.hash}), and as things are it would revert: ${fails}. What lacks then is sent anew.`,
    );
    return { ...nothing, steps };
  }
  say(
    `First the last step of an earlier run, ${words}, would be sent as it was signed (${step.hash}).`,
  );
  const after = stateAfter(open, state);
  return {
    state: after,
    plan: planCover(after, command),
    gift: giftAfter(open, gift),
    steps,
    listing: open.call.tag === 'listing' ? data : null,
  };
}

/** Null: it would not. */
async function whyItFails(
  client: ReadClient,
  from: Address,
  request: { to: Address; data: Hex },
): Promise<string | null> {
  try {
    await estimateGas(client, from, request);
    return null;
  } catch (error) {
    if (isNoAnswer(error)) throw error;
    const data = revertDataOf(error);
    return data === null ? reasonOf(error) : describeRevert(data);
  }
}

function capLine(listing: CoverListing, caps: ReadonlyMap<string, bigint> | null): string {
  const { basket, sharers, statedCap } = listing;
  const { ticker, depthCap } = basket;
  if (caps === null) {
    const most = capOfDepth(depthCap ?? 0n, sharers);
    return `${ticker} would be listed with a cap of at most $${most}, perhaps $${statedCap} (less than $${MIN_COVER_USD}: not at all): this node cannot simulate the listings before it.`;
  }
  const cap = caps.get(ticker) ?? 0n;
  return cap < MIN_COVER_USD
    ? `${ticker} would not be listed: ${shareWords(sharers)} carries $${cap} of cover, less than $${MIN_COVER_USD}.`
    : `${ticker} would be listed with a cap of about $${cap}.`;
}

/**
 * Whole dollars by basket, as a run would choose them now: what a listing takes of a pool, the next one has not, so
 * those before it are simulated. `before`: a listing that an earlier run signed.
 * @returns null where the node knows no eth_simulateV1.
 */
async function foreseeCaps(
  client: ReadClient,
  { coverMarket }: Pick<Deployment, 'coverMarket'>,
  owner: Address,
  listings: readonly CoverListing[],
  before: Hex | null,
): Promise<Map<string, bigint> | null> {
  const caps = new Map<string, bigint>();
  const listed: Hex[] = before === null ? [] : [before];
  for (const { basket, sharers } of listings) {
    const { ticker, vault } = basket;
    const depthCap = encodeFunctionData({
      abi: coverMarketAbi,
      functionName: 'depthCapOf',
      args: [vault],
    });
    const left = await lastAnswer(client, owner, coverMarket, [...listed, depthCap]);
    if (left === null) return null;
    const cap = capOfDepth(BigInt(left), sharers);
    caps.set(ticker, cap);
    if (cap < MIN_COVER_USD) continue;
    listed.push(
      encodeFunctionData({ abi: coverMarketAbi, functionName: 'listVault', args: [vault, cap] }),
    );
  }
  return caps;
}

/** What the last of these calls returns after the others. Null: the node simulates no calls, or one of them failed. */
async function lastAnswer(
  client: ReadClient,
  from: Address,
  to: Address,
  calls: readonly Hex[],
): Promise<Hex | null> {
  try {
    const [block] = await client.request({
      method: 'eth_simulateV1',
      params: [
        { blockStateCalls: [{ calls: calls.map((data) => ({ from, to, data })) }] },
        'latest',
      ],
    });
    const results = block?.calls ?? [];
    if (results.some(({ status }) => status !== '0x1')) return null;
    return results.at(-1)?.returnData ?? null;
  } catch (error) {
    if (isNoAnswer(error)) throw error;
    // expected: nodes without the method say so in many ways
    return null;
  }
}
