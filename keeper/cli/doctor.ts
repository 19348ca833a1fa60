/**
 * `doctor`: everything that a keeper needs, looked at from outside, one line each, and what to do where it is not so.
 * Nothing here rests on anything else being well; each check has its own deadline.
 */
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { createChainClient } from '../../runtime/chain/client.ts';
import { faultLine } from '../../runtime/fault-line.ts';
import { checkBalances } from '../../runtime/doctor/balances.ts';
import { deploymentOf, keysOf, settingsOf } from '../../runtime/doctor/local.ts';
import { senderOptions, senderSettings } from '../../runtime/sender/options.ts';
import { DEFAULT_DATABASE_URL, type KeeperConfig, keeperConfigSchema } from '../config.ts';
import { checkDeployment, checkExecutor } from '../doctor/chain.ts';
import { checked, fail, type Finding, lineOf, ok, warn } from '../../runtime/doctor/finding.ts';
import { checkRpc, clockFinding, lagFindings, withoutStrangers } from '../../runtime/doctor/rpc.ts';
import { checkSource } from '../doctor/source.ts';
import { checkStore } from '../doctor/store.ts';
import { readAllowList } from '../firewall/foreign.ts';
import { sweepProblem } from '../../runtime/money/sweep.ts';

/** Of one question to one endpoint; the settings may say less. */
const ASK_MS = 5_000;
/** Of one check with several questions. */
const CHECK_MS = 15_000;

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
export async function diagnose(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const settings = settingsOf(keeperConfigSchema, env);
  const { values } = settings;
  const askMs = Math.min(values.RPC_TIMEOUT_MS ?? ASK_MS, ASK_MS);
  const keys = keysOf(values);
  const deployment = deploymentOf(values);
  const contract = deployment.deployment?.exitEscrow ?? null;

  const [reports, sources, store] = await Promise.all([
    Promise.all(
      (values.RPC_URLS ?? []).map((url, index) =>
        checkRpc(url, index, contract, askMs, values.KEEPER_HEAD_MAX_AGE_MS ?? 30_000),
      ),
    ),
    Promise.all(
      (values.API_URLS ?? []).map((url, index) =>
        checkSource(url, index, askMs, values.KEEPER_MAX_JOBS ?? 500),
      ),
    ),
    checked('store', CHECK_MS, 'check DATABASE_URL and that its server runs', () =>
      checkStore(values.DATABASE_URL ?? DEFAULT_DATABASE_URL),
    ),
  ]);
  const rpcs = withoutStrangers(reports);
  const clocks = [...rpcs, ...sources].flatMap(({ clock }) => (clock === null ? [] : [clock]));
  const usable = rpcs.filter(({ head }) => head !== null);
  const chain = await chainFindings(usable, deployment.deployment, keys.wallets, values);
  return [
    ...settings.findings,
    ...rpcs.flatMap(({ findings }) => findings),
    ...lagFindings(rpcs),
    clockFinding(clocks),
    ...deployment.findings,
    ...chain.protocol,
    ...keys.findings,
    ...chain.wallets,
    ...sources.flatMap(({ findings }) => findings),
    ...store,
    ...listFindings(values, deployment.deployment),
    ...sweepFindings(values, deployment.deployment, keys.wallets),
  ];
}

type Settings = Partial<KeeperConfig>;

async function chainFindings(
  usable: readonly { url: string; head: { baseFee: bigint | null } | null }[],
  deployment: Deployment | null,
  wallets: readonly `0x${string}`[],
  values: Settings,
): Promise<{ protocol: Finding[]; wallets: Finding[] }> {
  const skipped = (about: string, why: string): Finding =>
    warn(about, `not checked: ${why}`, 'mend that first');
  if (deployment === null) {
    const why = 'there is no deployment file';
    return { protocol: [], wallets: [skipped('wallet', why)] };
  }
  const [first] = usable;
  if (first === undefined) {
    const why = 'no RPC endpoint is of use';
    return { protocol: [skipped('deployment', why)], wallets: [skipped('wallet', why)] };
  }
  const client = createChainClient({
    urls: usable.map(({ url }) => url),
    timeoutMs: ASK_MS,
    multicall3: deployment.multicall3,
  });
  const tip = senderSettings({ ...senderOptions.parse({}), ...values }).tip;
  const price = {
    gasPriceWei: (first.head?.baseFee ?? 0n) + tip,
    lowTransactions: BigInt(values.KEEPER_LOW_ETH_TRANSACTIONS ?? 20),
  };
  const [executor] = wallets;
  const [protocol, paid, balances] = await Promise.all([
    checked('deployment', CHECK_MS, 'check DEPLOYMENT_FILE and RPC_URLS', () =>
      checkDeployment(client, deployment, CHECK_MS),
    ),
    executor === undefined
      ? []
      : checked('executor', CHECK_MS, 'check RPC_URLS', async () => [
          await checkExecutor(client, deployment, executor, CHECK_MS),
        ]),
    executor === undefined
      ? [skipped('wallet', 'there is no key')]
      : checked('wallet', CHECK_MS, 'check DEPLOYMENT_FILE and RPC_URLS', () =>
          checkBalances(client, deployment, wallets, price, CHECK_MS),
        ),
  ]);
  return { protocol, wallets: [...paid, ...balances] };
}

function listFindings(
  { KEEPER_ALLOW_LIST_FILE: path }: Settings,
  deployment: Deployment | null,
): Finding[] {
  if (path === undefined || deployment === null) return [];
  try {
    const contracts = readAllowList(path, deployment);
    return [ok('allow-list', `${contracts.size} contracts of other services`)];
  } catch (error) {
    return [fail('allow-list', faultLine(error), 'mend KEEPER_ALLOW_LIST_FILE')];
  }
}

function sweepFindings(
  { KEEPER_SWEEP_TO: to }: Settings,
  deployment: Deployment | null,
  wallets: readonly `0x${string}`[],
): Finding[] {
  if (to === undefined || deployment === null) return [];
  const problem = sweepProblem(to, deployment, wallets);
  return problem === null
    ? [ok('sweep', `USDG above the float goes to ${to}`)]
    : [fail('sweep', `KEEPER_SWEEP_TO is ${to}: ${problem}`, 'name a cold address of your own')];
}
