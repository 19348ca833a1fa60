/** Before anything is sent: the plan of a first run, whether an earlier run can be gone on with, what is missing. */
import { readFileSync } from 'node:fs';
import { type Address, erc20Abi, formatUnits, getAddress, type LocalAccount } from 'viem';
import { z } from 'zod';
import { SHARE } from '../../../contracts-abi/constants.ts';
import { LIVE } from '../../../contracts-abi/live-addresses.ts';
import type { ReadClient } from '../client.ts';
import { discoverMarket } from '../live/discover.ts';
import { livePlan } from '../live/plan.ts';
import { DeployError } from './errors.ts';
import type { JournalContent, JournalHeader } from './journal-lines.ts';
import type { DeployConfig } from './options.ts';
import { type BasketPlan, type ProtocolPlan, planSchema, planText, seedNeeds } from './plan.ts';
import { assertSound } from './plan-faults.ts';
import { assertSameChain } from './same-chain.ts';
import { emptyAddresses } from './verify-externals.ts';

/** Blocks below the head from which a journal's chain is recognised: none of them is reorganised. */
const ANCHOR_DEPTH = 64n;

const ROLES = [
  ['owner', 'DEPLOY_OWNER'],
  ['guardian', 'DEPLOY_GUARDIAN'],
  ['treasury', 'DEPLOY_TREASURY'],
] as const;

/**
 * From DEPLOY_PLAN_FILE, or from what trades on the live chain now. Roles that are set win over the file's. Throws a
 * DeployError when the plan by itself cannot stand.
 */
export async function freshPlan(
  client: ReadClient,
  account: LocalAccount,
  config: DeployConfig,
): Promise<ProtocolPlan> {
  const plan = await readyPlan(client, account, config);
  assertSound(plan);
  return plan;
}

async function readyPlan(
  client: ReadClient,
  { address }: LocalAccount,
  config: DeployConfig,
): Promise<ProtocolPlan> {
  const path = config.DEPLOY_PLAN_FILE;
  const planned = path === undefined ? null : readPlan(path);
  const role = (name: (typeof ROLES)[number][1], fallback: Address) =>
    config[name] === undefined ? fallback : getAddress(config[name]);
  const roles = {
    owner: role('DEPLOY_OWNER', planned?.owner ?? address),
    guardian: role('DEPLOY_GUARDIAN', planned?.guardian ?? address),
    treasury: role('DEPLOY_TREASURY', planned?.treasury ?? address),
  };
  if (planned !== null) return { ...planned, ...roles };
  const missing = await emptyAddresses(client, LIVE);
  if (missing.length > 0) {
    throw new DeployError(
      `no contract stands at ${missing.map(({ name, address }) => `${name} ${address}`).join(', ')}: RPC_URLS is neither the live chain nor a fork of it. For another chain name what stands there in DEPLOY_PLAN_FILE`,
    );
  }
  return livePlan(client, await discoverMarket(client), {
    ...roles,
    seedShares: BigInt(config.DEPLOY_SEED_SHARES) * SHARE,
    slots: config.DEPLOY_POOL_SLOTS,
    coverWeeks: config.DEPLOY_COVER_WEEKS,
  });
}

function readPlan(path: string): ProtocolPlan {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new DeployError(`DEPLOY_PLAN_FILE ${path} cannot be read as JSON`, cause);
  }
  const parsed = planSchema.safeParse(json);
  if (!parsed.success) {
    throw new DeployError(
      `DEPLOY_PLAN_FILE ${path} is not a plan:\n${z.prettifyError(parsed.error)}`,
    );
  }
  return parsed.data;
}

/** What a new journal begins with. Throws when the deployer has a transaction under way. */
export async function newHeader<Plan>(
  client: ReadClient,
  { address }: LocalAccount,
  plan: Plan,
  sender = 'deployer',
): Promise<JournalHeader<Plan>> {
  const [mined, waiting, head] = await Promise.all([
    client.getTransactionCount({ address, blockTag: 'latest' }),
    client.getTransactionCount({ address, blockTag: 'pending' }),
    client.getBlock(),
  ]);
  if (waiting > mined) {
    throw new DeployError(
      `the ${sender} ${address} has a transaction waiting at nonce ${mined}: deploy once it is mined`,
    );
  }
  const blockNumber = head.number > ANCHOR_DEPTH ? head.number - ANCHOR_DEPTH : 0n;
  const { hash } = await client.getBlock({ blockNumber });
  if (hash === null) throw new DeployError(`the node has no block ${blockNumber}`);
  return {
    deployer: address,
    firstNonce: mined,
    anchor: { number: Number(blockNumber), hash },
    head: { number: Number(head.number), hash: head.hash },
    plan,
  };
}

/** Throws unless this run's key, chain and settings are those of the journal. */
export async function assertResumable(
  client: ReadClient,
  { address }: LocalAccount,
  config: DeployConfig,
  journal: JournalContent<ProtocolPlan>,
  sameChain: boolean,
): Promise<void> {
  const { path, header } = journal;
  if (header.deployer !== address) {
    throw new DeployError(
      `the deployment in ${path} is of the key of ${header.deployer}, and this one is of ${address}`,
    );
  }
  await assertSameChain(client, journal, { sameChain, needsSight: true });
  for (const [role, option] of ROLES) {
    const asked = config[option];
    if (asked === undefined || getAddress(asked) === header.plan[role]) continue;
    throw new DeployError(
      `the plan changed: ${option} is ${asked}, and ${header.plan[role]} in the deployment under way (${path})`,
    );
  }
  if (config.DEPLOY_PLAN_FILE === undefined) return;
  const { owner, guardian, treasury } = header.plan;
  const asked = { ...readPlan(config.DEPLOY_PLAN_FILE), owner, guardian, treasury };
  if (planText(unpriced(asked)) !== planText(unpriced(header.plan))) {
    throw new DeployError(
      `the plan changed: ${config.DEPLOY_PLAN_FILE} is not the plan of the deployment under way (${path})`,
    );
  }
}

/** Prices may have been stated anew since. */
function unpriced(plan: ProtocolPlan): ProtocolPlan {
  return {
    ...plan,
    baskets: plan.baskets.map((basket) => ({
      ...basket,
      constituents: basket.constituents.map((part) => ({ ...part, statedPrice: 0n })),
    })),
  };
}

/** One line for each constituent of the seed shares that the holder lacks. */
export async function missingConstituents(
  client: ReadClient,
  holder: Address,
  baskets: readonly BasketPlan[],
): Promise<string[]> {
  const lines: string[] = [];
  for (const [token, needed] of seedNeeds(baskets)) {
    const read = { address: token, abi: erc20Abi } as const;
    const [held, decimals, symbol] = await Promise.all([
      client.readContract({ ...read, functionName: 'balanceOf', args: [holder] }),
      client.readContract({ ...read, functionName: 'decimals' }),
      client.readContract({ ...read, functionName: 'symbol' }),
    ]);
    if (held >= needed) continue;
    const amount = (value: bigint) => formatUnits(value, decimals);
    // The token chooses its symbol: printable and short.
    const name = symbol.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 20);
    lines.push(
      `${name} ${token}: needs ${amount(needed)}, holds ${amount(held)}, lacks ${amount(needed - held)}`,
    );
  }
  return lines;
}
