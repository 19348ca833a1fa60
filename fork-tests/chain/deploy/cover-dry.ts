/** `npm run deploy -- --cover --dry-run`: what the run would send now, and at which caps. Sends nothing. */
import { existsSync } from 'node:fs';
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
import type { ReadClient } from '../client.ts';
import { callLines, coverSteps, ownerCalls } from './cover-calls.ts';
import { giftLine, giftShort, readGift } from './cover-gift.ts';
import {
  type CoverCommand,
  type CoverListing,
  partOf,
  planCover,
  shareWords,
} from './cover-plan.ts';
import { capOfDepth, coverLines, readCover } from './cover-state.ts';
import { boundGas, funds, grouped } from './gas.ts';
import { coverJournalPath, loadDeployer, type Say } from './operator.ts';
import type { DeployConfig } from './options.ts';
import { isNoAnswer } from './settle.ts';

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
  const state = await readCover(client, deployment);
  const plan = planCover(state, command);
  const address = key ?? state.owner;
  const account = { address } as LocalAccount;
  const gift = await readGift(client, deployment, address, command.level);
  const part = partOf(plan, state, address);
  if (existsSync(coverJournalPath(config))) {
    say(`An earlier run was broken off (${coverJournalPath(config)}): its last step comes first.`);
  }
  const caps = await foreseeCaps(client, deployment, state.owner, part.listings);
  const steps = await coverSteps(
    client,
    account,
    { deployment, plan: part, gift },
    caps ?? undefined,
  );
  const gas = await boundGas(client, account, steps);
  for (const [index, { what }] of steps.entries()) {
    say(`  ${index + 1}. ${what}: ${grouped(gas[index] ?? 0n)} gas`);
  }
  for (const listing of part.listings) say(capLine(listing, caps));
  const given = giftLine(gift);
  if (given !== null) say(given);
  for (const line of coverLines(state)) say(line);
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
 * those before it are simulated.
 * @returns null where the node knows no eth_simulateV1.
 */
async function foreseeCaps(
  client: ReadClient,
  { coverMarket }: Pick<Deployment, 'coverMarket'>,
  owner: Address,
  listings: readonly CoverListing[],
): Promise<Map<string, bigint> | null> {
  const caps = new Map<string, bigint>();
  const listed: Hex[] = [];
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
