/** What the doctor finds before it asks anybody: settings, keys, the deployment file. */
import type { z } from 'zod';
import { type Deployment, readDeployment } from '../../contracts-abi/deployment.ts';
import { ConfigError, loadConfig, usablePart } from '../config.ts';
import { faultLine } from '../fault-line.ts';
import { type KeySettings, loadWallets } from '../keys/wallets.ts';
import { fail, type Finding, ok } from './finding.ts';

/** What of the environment can be used, each setting by itself, and what is wrong with the rest. */
export function settingsOf<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  env: NodeJS.ProcessEnv,
): { values: Partial<z.infer<z.ZodObject<Shape>>>; findings: Finding[] } {
  try {
    const values = loadConfig(schema, env) as Partial<z.infer<z.ZodObject<Shape>>>;
    return { values, findings: [ok('settings', 'all can be read')] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [, ...lines] = error.message.split('\n');
    const findings = lines.map((line) => fail('settings', line.trim(), 'set it right'));
    return { values: usablePart(schema, env), findings };
  }
}

type Keys = { wallets: readonly `0x${string}`[]; findings: Finding[] };

export function keysOf(values: KeySettings): Keys {
  const loaded = loadWallets(values);
  if (loaded.tag === 'invalid') {
    return { wallets: [], findings: [fail('keys', loaded.problem, keyFix(values))] };
  }
  const wallets = loaded.wallets.map(({ account }) => account.address);
  const from = loaded.wallets.map(({ account, origin }) => `${account.address} (${origin})`);
  return { wallets, findings: [ok('keys', from.join(', '))] };
}

function keyFix({ WALLET_KEYSTORE: path, WALLET_PRIVATE_KEYS: keys }: KeySettings): string {
  if (path === undefined && keys === undefined) {
    return 'nothing can be sent without a key (npm run key makes one)';
  }
  if (keys === undefined) {
    return 'WALLET_KEYSTORE and WALLET_PASSPHRASE must belong together (npm run key -- list tells which keys are there)';
  }
  return path === undefined ? 'mend WALLET_PRIVATE_KEYS' : 'take one of the two away';
}

export function deploymentOf({ DEPLOYMENT_FILE: path }: { DEPLOYMENT_FILE?: string }): {
  deployment: Deployment | null;
  findings: Finding[];
} {
  try {
    return { deployment: readDeployment(path ?? ''), findings: [] };
  } catch (error) {
    const fix = 'set DEPLOYMENT_FILE to the file that the deployment wrote';
    return { deployment: null, findings: [fail('deployment', faultLine(error), fix)] };
  }
}
