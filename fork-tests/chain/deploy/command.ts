/**
 * What `npm run deploy` does: plan, deploy through the journal, verify, write the deployment file. Nothing here uses an
 * Anvil method, so it runs against any endpoint of chain 4663.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { formatEther, formatUnits, type LocalAccount } from 'viem';
import { CHAIN_ID } from '../../../contracts-abi/constants.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import type { ReadClient } from '../client.ts';
import { writeWhole } from '../files.ts';
import { compare, DifferenceError } from './checks.ts';
import {
  type CoverOutlook,
  coverOutlook,
  readPlanPools,
  thinLines,
  wasteLine,
} from './cover-depth.ts';
import { DeployError } from './errors.ts';
import { boundGas, funds, grouped } from './gas.ts';
import { Journal } from './journal.ts';
import type { JournalHeader } from './journal-lines.ts';
import { FormerMined, type SettledStep, submitJournaled } from './journaled-submitter.ts';
import {
  alone,
  assertChain,
  deploymentIn,
  journalPath,
  loadDeployer,
  prepareFolder,
  type Say,
} from './operator.ts';
import type { DeployConfig } from './options.ts';
import { type ProtocolPlan, planSchema, planText } from './plan.ts';
import { assertCanStand } from './plan-faults.ts';
import { assertResumable, freshPlan, missingConstituents, newHeader } from './prepare.ts';
import { type Deployed, deployProtocol } from './protocol.ts';
import { type RecordedStep, recordSteps } from './recording-submitter.ts';
import { restateJournal } from './restate.ts';
import { describeStanding } from './standing.ts';
import { verifyDeployment, verifyStanding } from './verify.ts';
import { otherBuilds } from './verify-externals.ts';

export type DeployCommand = {
  /** With stated prices of now for what is not sent yet. */
  restate: boolean;
  /** The operator says that a broken-off run was on this chain, of which the chain itself tells nothing. */
  sameChain: boolean;
};

/** Deploys, or goes on with what an earlier run began. */
export async function deploy(
  client: ReadClient,
  config: DeployConfig,
  { restate, sameChain }: DeployCommand,
  say: Say,
): Promise<void> {
  await assertChain(client);
  const account = loadDeployer(config);
  await alone(config, async () => {
    const journal = await openJournal(client, account, config, sameChain, say);
    try {
      const resign = restate ? await restateJournal(client, account, journal, say) : undefined;
      try {
        await deployThrough(client, account, config, journal, say, resign);
      } catch (error) {
        // expected of a race: what waited was mined after all
        if (!(error instanceof FormerMined)) throw error;
        say('What was signed first is mined, and not what was to replace it: going on from there.');
        await deployThrough(client, account, config, journal, say, undefined);
      }
    } finally {
      journal.close();
    }
  });
}

/** Prints the steps, their gas and what the deployer must hold. Sends nothing. */
export async function dryRun(
  client: ReadClient,
  config: DeployConfig,
  { sameChain }: Pick<DeployCommand, 'sameChain'>,
  say: Say,
): Promise<void> {
  await assertChain(client);
  const account = loadDeployer(config);
  const left = Journal.read(journalPath(config), planSchema);
  const journal = left === null || left.steps.length === 0 ? null : left;
  let header: JournalHeader<ProtocolPlan>;
  if (journal === null) {
    header = await newHeader(client, account, await freshPlan(client, account, config));
    if (config.DEPLOY_PLAN_FILE === undefined) {
      prepareFolder(config);
      const path = `${config.DEPLOYMENT_FILE}.plan`;
      writeFileSync(path, `${planText(header.plan)}\n`);
      say(
        `The plan, with its stated prices, is in ${path}: DEPLOY_PLAN_FILE=${path} deploys it as it is.`,
      );
    }
  } else {
    await assertResumable(client, account, config, journal, sameChain);
    header = journal.header;
  }
  const { steps, deployed } = await walk(client, account, config, header, journal?.decisions);
  const done = journal?.steps.length ?? 0;
  sayPlan(header, say);
  if (journal === null) await assertCanStand(client, header.plan, deployed.deployment);
  await sayOutlook(client, header.plan, say);
  await sayBuilds(client, config, header.plan, say);
  const missing =
    done > 0 ? [] : await missingConstituents(client, account.address, header.plan.baskets);
  const gas = await boundGas(client, account, steps.slice(done));
  for (const [index, { what }] of steps.entries()) {
    const most = gas[index - done];
    say(
      `  ${index + 1}. ${what}: ${most === undefined ? 'in the journal' : `${grouped(most)} gas`}`,
    );
  }
  const { text, short } = await funds(client, account, gas);
  say(text);
  if (short !== null) say(short);
  for (const line of missing) say(`Constituent of the seed shares: ${line}`);
}

/** Checks what stands against the deployment file, and against the journal's plan where it is still there. */
export async function verify(client: ReadClient, config: DeployConfig, say: Say): Promise<void> {
  await assertChain(client);
  const deployment = deploymentIn(config);
  const trusted = config.DEPLOY_TRUSTED_CODE;
  const { unknown, unplanned } = await verifyStanding(client, deployment, trusted);
  const journal = Journal.read(journalPath(config), planSchema);
  if (journal !== null) {
    const { header, decisions } = journal;
    const account = { address: header.deployer } as LocalAccount;
    const { deployed } = await walk(client, account, config, header, decisions);
    await assertSameFile(config, deployed.deployment);
    const { plan, deployer } = header;
    await verifyDeployment(client, deployment, { ...deployed, plan, deployer }, trusted);
  }
  for (const line of await describeStanding(client, deployment)) say(line);
  for (const line of [...unknown, ...(journal === null ? unplanned : [])]) say(line);
  say(`${config.DEPLOYMENT_FILE} is what stands on chain ${CHAIN_ID}.`);
}

async function openJournal(
  client: ReadClient,
  account: LocalAccount,
  config: DeployConfig,
  sameChain: boolean,
  say: Say,
): Promise<Journal<ProtocolPlan>> {
  const path = journalPath(config);
  const found = Journal.open(path, planSchema);
  // Where nothing was signed nothing is bound, and nothing tells of which chain the plan was.
  if (found?.steps.length === 0) found.close();
  else if (found !== null) {
    await assertResumable(client, account, config, found, sameChain);
    say(`Going on with the deployment in ${path}: ${found.steps.length} steps were signed.`);
    return found;
  }
  if (existsSync(config.DEPLOYMENT_FILE)) {
    throw new DeployError(
      `${config.DEPLOYMENT_FILE} exists and no journal beside it: check it with npm run deploy -- --verify, or name another DEPLOYMENT_FILE`,
    );
  }
  const plan = await freshPlan(client, account, config);
  const header = await newHeader(client, account, plan);
  sayPlan(header, say);
  const { steps, deployed } = await walk(client, account, config, header);
  await assertCanStand(client, plan, deployed.deployment);
  const outlook = await sayOutlook(client, plan, say);
  await sayBuilds(client, config, plan, say);
  // A plan in a file was chosen with these lines in sight.
  if (config.DEPLOY_PLAN_FILE === undefined && outlook.able.length === 0) {
    const waste = wasteLine(outlook);
    if (waste !== null) {
      throw new DeployError(
        `${waste}. Nothing was sent; a plan in DEPLOY_PLAN_FILE, as the dry run writes it, is deployed all the same`,
      );
    }
  }
  const missing = await missingConstituents(client, account.address, plan.baskets);
  if (missing.length > 0) {
    throw new DeployError(
      `the deployer ${account.address} lacks constituents of the seed shares:\n  ${missing.join('\n  ')}`,
    );
  }
  const { text, short } = await funds(client, account, await boundGas(client, account, steps));
  if (short !== null) throw new DeployError(short);
  say(text);
  return Journal.create(path, header);
}

async function deployThrough(
  client: ReadClient,
  account: LocalAccount,
  config: DeployConfig,
  journal: Journal<ProtocolPlan>,
  say: Say,
  resign: number | undefined,
): Promise<void> {
  const { plan, deployer } = journal.header;
  const { steps } = await walk(client, account, config, journal.header, journal.decisions);
  const settled: SettledStep[] = [];
  const submitter = submitJournaled({
    client,
    account,
    journal,
    waitMs: config.DEPLOY_WAIT_SECONDS * 1_000,
    ...(resign === undefined ? {} : { resign }),
    onStep: (step) => {
      settled.push(step);
      const { index, what, hash, gasUsed, sent } = step;
      if (sent) say(`  ${index + 1}/${steps.length} ${what}: ${hash}, ${grouped(gasUsed)} gas`);
    },
  });
  const trusted = config.DEPLOY_TRUSTED_CODE;
  const deployed = await deployProtocol(client, submitter, account, plan, undefined, trusted);
  try {
    await verifyDeployment(client, deployed.deployment, { ...deployed, plan, deployer }, trusted);
  } catch (error) {
    if (!(error instanceof DifferenceError)) throw error;
    throw new DeployError(
      `${error.message}\n  All steps are mined. A node that is behind sees such differences for a while: run the same command again`,
      error,
    );
  }
  if (existsSync(config.DEPLOYMENT_FILE)) await assertSameFile(config, deployed.deployment);
  else writeWhole(config.DEPLOYMENT_FILE, deployed.deployment);

  const gas = settled.reduce((sum, { gasUsed }) => sum + gasUsed, 0n);
  const wei = settled.reduce((sum, step) => sum + step.wei, 0n);
  say(`${settled.length} transactions, ${grouped(gas)} gas, ${formatEther(wei)} ETH.`);
  for (const line of await describeStanding(client, deployed.deployment)) say(line);
  say(`Verified against the chain: ${config.DEPLOYMENT_FILE}`);
}

/** All steps, and what stands after them, without sending any. */
async function walk(
  client: ReadClient,
  account: LocalAccount,
  { DEPLOY_TRUSTED_CODE: trusted }: DeployConfig,
  header: JournalHeader<ProtocolPlan>,
  decisions?: ReadonlyMap<string, string | number>,
): Promise<{ steps: readonly RecordedStep[]; deployed: Deployed }> {
  const { submitter, steps } = recordSteps(account, header.firstNonce, decisions);
  const { plan } = header;
  const deployed = await deployProtocol(client, submitter, account, plan, undefined, trusted);
  return { steps, deployed };
}

async function assertSameFile(config: DeployConfig, deployment: Deployment): Promise<void> {
  const file = deploymentIn(config);
  await compare(
    `contents of ${config.DEPLOYMENT_FILE} and the deployment`,
    Object.entries(deployment).map(([name, value]) => ({
      what: name,
      actual: Promise.resolve(file[name as keyof Deployment]),
      expected: value,
    })),
  );
}

async function sayOutlook(client: ReadClient, plan: ProtocolPlan, say: Say): Promise<CoverOutlook> {
  const now = await readPlanPools(client, plan);
  const outlook = coverOutlook(plan, now);
  for (const line of outlook.lines) say(line);
  for (const line of thinLines(plan, now)) say(`Warning: ${line}.`);
  const waste = wasteLine(outlook);
  if (waste !== null) say(`Warning: ${waste}.`);
  return outlook;
}

async function sayBuilds(
  client: ReadClient,
  { DEPLOY_TRUSTED_CODE: trusted }: DeployConfig,
  { externals }: ProtocolPlan,
  say: Say,
): Promise<void> {
  for (const line of await otherBuilds(client, externals, trusted)) say(`Note: ${line}.`);
}

function sayPlan({ deployer, firstNonce, plan }: JournalHeader<ProtocolPlan>, say: Say): void {
  say(`Deployer ${deployer}, first nonce ${firstNonce}`);
  say(`Owner ${plan.owner}, guardian ${plan.guardian}, treasury ${plan.treasury}`);
  if (plan.owner === deployer || plan.guardian === deployer || plan.treasury === deployer) {
    say(
      'The deployer keeps a role: DEPLOY_OWNER, DEPLOY_GUARDIAN and DEPLOY_TREASURY name others.',
    );
  }
  for (const { ticker, constituents, seedShares, cover } of plan.baskets) {
    const prices = constituents.map(
      ({ token, statedPrice }) =>
        `${token} $${Number(formatUnits(statedPrice, 18)).toPrecision(6)}`,
    );
    say(
      `  ${ticker}: ${formatUnits(seedShares, 18)} shares to begin with${cover ? ', cover market' : ''}; ${prices.join(', ')}`,
    );
  }
}
