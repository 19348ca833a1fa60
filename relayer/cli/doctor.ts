/**
 * `doctor`: everything that a relayer needs, looked at from outside, one line each, and what to do where it is not so.
 * Nothing here rests on anything else being well; each check has its own deadline.
 */
import type { Address, PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { assertDeployment } from '../../runtime/chain/assert-deployment.ts';
import { createChainClient } from '../../runtime/chain/client.ts';
import { ethText, usdgText } from '../../runtime/cli/table.ts';
import { within } from '../../runtime/deadline.ts';
import { checkBalances } from '../../runtime/doctor/balances.ts';
import { checked, fail, type Finding, lineOf, ok, warn } from '../../runtime/doctor/finding.ts';
import { deploymentOf, keysOf, settingsOf } from '../../runtime/doctor/local.ts';
import { checkRpc, clockFinding, lagFindings, withoutStrangers } from '../../runtime/doctor/rpc.ts';
import { checkStoreOf } from '../../runtime/doctor/store.ts';
import { faultLine } from '../../runtime/fault-line.ts';
import { USUAL_GAS } from '../../runtime/money/sweep-policy.ts';
import { senderSettings } from '../../runtime/sender/options.ts';
import { assertModules } from '../chain/assert-modules.ts';
import { createMarksReader } from '../chain/marks.ts';
import { policyOf, type RelayerConfig, relayerOptions } from '../config.ts';
import { readLists } from '../lists.ts';
import { checkedTreasury, fundRulesOf } from '../money/options.ts';
import { currentFee } from '../quote.ts';
import { DEFAULT_DATABASE_URL, LEAD_NAME, type StoreTables, storeMigrations } from '../store.ts';

/** Of one question to one endpoint; the settings may say less. */
const ASK_MS = 5_000;
/** Of one check with several questions. */
const CHECK_MS = 15_000;
const HEAD_MAX_AGE_MS = 30_000;
/** A wallet with ETH for fewer transactions is told. */
const LOW_TRANSACTIONS = 20n;

/** Prints its findings. Returns the exit code: 0 when nothing fails. */
export async function runDoctor(
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<number> {
  const findings = await diagnose(env);
  for (const finding of findings) say(lineOf(finding));
  const failed = findings.filter(({ level }) => level === 'fail').length;
  const warned = findings.filter(({ level }) => level === 'warn').length;
  say(`${findings.length - failed - warned} ok, ${warned} to look at, ${failed} to fix`);
  return failed === 0 ? 0 : 1;
}

/** Every finding, in the order in which to mend things. Never throws. */
async function diagnose(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const settings = settingsOf(relayerOptions, env);
  // Each setting by itself has a value, its default at least, but for those that have none.
  const values = settings.values as Partial<RelayerConfig>;
  const askMs = Math.min(values.RPC_TIMEOUT_MS ?? ASK_MS, ASK_MS);
  const keys = keysOf(values);
  const file = deploymentOf(values);
  const contract = file.deployment?.exitEscrow ?? null;
  const [reports, store] = await Promise.all([
    Promise.all(
      (values.RPC_URLS ?? []).map((url, index) =>
        checkRpc(url, index, contract, askMs, HEAD_MAX_AGE_MS),
      ),
    ),
    checked('store', CHECK_MS, 'check DATABASE_URL and that its server runs', () =>
      checkStore(values.DATABASE_URL ?? DEFAULT_DATABASE_URL),
    ),
  ]);
  const rpcs = withoutStrangers(reports);
  const usable = rpcs.flatMap(({ url, head }) => (head === null ? [] : [url]));
  return [
    ...settings.findings,
    ...rpcs.flatMap(({ findings }) => findings),
    ...lagFindings(rpcs),
    clockFinding(rpcs.flatMap(({ clock }) => (clock === null ? [] : [clock]))),
    ...file.findings,
    ...keys.findings,
    ...(await chainFindings(usable, file.deployment, keys.wallets, values)),
    ...store,
    ...listFindings(values),
  ];
}

async function checkStore(url: string): Promise<Finding[]> {
  return await checkStoreOf<StoreTables>({
    url,
    migrations: storeMigrations,
    name: LEAD_NAME,
    who: 'relayer',
    describe: async ({ db }) => {
      const { count } = await db
        .selectFrom('relay_slots')
        .select(({ fn }) => fn.countAll().as('count'))
        .executeTakeFirstOrThrow();
      const kept = await db
        .selectFrom('relay_quarantine')
        .select(({ fn }) => fn.countAll().as('count'))
        .where('until', '>', Date.now())
        .executeTakeFirstOrThrow();
      return `${String(count)} slots, ${String(kept.count)} keys kept out`;
    },
  });
}

async function chainFindings(
  urls: readonly string[],
  deployment: Deployment | null,
  wallets: readonly Address[],
  values: Partial<RelayerConfig>,
): Promise<Finding[]> {
  const skipped = (about: string, why: string): Finding =>
    warn(about, `not checked: ${why}`, 'mend that first');
  if (deployment === null) return [skipped('wallet', 'there is no deployment file')];
  if (urls.length === 0) {
    const why = 'no RPC endpoint is of use';
    return [skipped('deployment', why), skipped('wallet', why)];
  }
  const config = { ...relayerOptions.parse({ RPC_URLS: urls.join(',') }), ...values };
  const { multicall3 } = deployment;
  const client = createChainClient({ urls, timeoutMs: ASK_MS, multicall3 });
  const fix = 'check DEPLOYMENT_FILE and RPC_URLS';
  const all = await Promise.all([
    checked('deployment', CHECK_MS, fix, () => checkProtocol(client, deployment)),
    checked('fees', CHECK_MS, 'nothing can be quoted without the ETH price', () =>
      checkFees(client, deployment, config),
    ),
    wallets.length === 0
      ? [skipped('wallet', 'there is no key')]
      : checked('wallet', CHECK_MS, fix, () => checkWallets(client, deployment, wallets, config)),
    checked('treasury', CHECK_MS, 'mend RELAY_TREASURY_… and RELAY_SWEEP_TO', () =>
      checkMoney(client, deployment, wallets, config),
    ),
  ]);
  return all.flat();
}

async function checkProtocol(client: PublicClient, deployment: Deployment): Promise<Finding[]> {
  await assertDeployment(client, deployment);
  await assertModules(client, deployment);
  const says = `the contracts of the file name each other; ${deployment.sessionModule} signs as this relayer does`;
  return [ok('deployment', says)];
}

/** What a usual action would be quoted now. */
async function checkFees(
  client: PublicClient,
  deployment: Deployment,
  config: RelayerConfig,
): Promise<Finding[]> {
  const marks = createMarksReader(client, deployment, senderSettings(config).tip);
  try {
    const now = await marks.read();
    const fee = currentFee({ gas: USUAL_GAS, ...now }, policyOf(config).fee);
    const says = `${USUAL_GAS} gas are quoted at ${usdgText(fee)} USDG, ETH at $${usdgText(now.ethPrice / 10n ** 12n)}`;
    return [ok('fees', says)];
  } finally {
    marks.stop();
  }
}

async function checkWallets(
  client: PublicClient,
  deployment: Deployment,
  wallets: readonly Address[],
  config: RelayerConfig,
): Promise<Finding[]> {
  const block = await within(client.getBlock(), CHECK_MS, 'the head');
  const gasPriceWei = (block.baseFeePerGas ?? 0n) + senderSettings(config).tip;
  const price = { gasPriceWei, lowTransactions: LOW_TRANSACTIONS };
  return await checkBalances(client, deployment, wallets, price, CHECK_MS);
}

async function checkMoney(
  client: PublicClient,
  deployment: Deployment,
  wallets: readonly Address[],
  config: RelayerConfig,
): Promise<Finding[]> {
  const treasury = checkedTreasury(config, deployment, wallets);
  const { RELAY_SWEEP_TO: to } = config;
  const sweep = to === undefined ? [] : [ok('sweep', `fees above the float go to ${to}`)];
  if (treasury === null) return sweep;
  const { address } = treasury;
  const wei = await within(client.getBalance({ address }), CHECK_MS, 'its balance');
  const says = `${address}: ${ethText(wei)} ETH to keep ${wallets.length} wallets from`;
  const { targetWei } = fundRulesOf(config);
  const level =
    wei >= targetWei
      ? ok('treasury', says)
      : warn('treasury', says, 'send it ETH: it cannot lift one wallet to the target');
  return [level, ...sweep];
}

function listFindings(values: Partial<RelayerConfig>): Finding[] {
  const { RELAY_ALLOW: allow = [], RELAY_DENY: deny = [], RELAY_LISTS_FILE: file } = values;
  if (file === undefined && allow.length === 0 && deny.length === 0) return [];
  try {
    const lists = readLists({ allow, deny, file });
    const count = ({ accounts, keys }: (typeof lists)['allow']) =>
      new Set([...accounts, ...keys]).size;
    return [ok('lists', `${count(lists.allow)} allowed, ${count(lists.deny)} denied`)];
  } catch (error) {
    return [fail('lists', faultLine(error), 'mend RELAY_LISTS_FILE')];
  }
}
