import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generatePrivateKey } from 'viem/accounts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { encryptKeystore } from '../../runtime/keys/keystore.ts';
import { lineOf } from '../../runtime/doctor/finding.ts';
import { diagnose } from './doctor.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'basket-doctor-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Nothing is reached: what is wrong with files and keys is told all the same. */
async function findings(env: Record<string, string>): Promise<string> {
  const nobody = 'http://127.0.0.1:1';
  const all = await diagnose({
    RPC_URLS: nobody,
    API_URLS: nobody,
    DATABASE_URL: 'file::memory:',
    DEPLOYMENT_FILE: join(folder, 'none.json'),
    ...env,
  });
  return all.map(lineOf).join('\n');
}

test('a deployment file that is wrong is told with the fields that are', async () => {
  const file = join(folder, 'deployment.json');
  writeFileSync(file, JSON.stringify({ chainId: 4663, startBlock: 1, usdg: '0x12', baskets: [] }));
  const text = await findings({ DEPLOYMENT_FILE: file });
  expect(text).toMatch(/^fail +deployment +.*is not valid: usdg: expected an address/m);
  expect(text).toMatch(/ and \d+ more: set DEPLOYMENT_FILE/);
});

test('what to do about a key depends on what is wrong with it', async () => {
  expect(await findings({})).toMatch(/^fail +keys +no wallet.*npm run key makes one/m);
  const file = join(folder, 'key.json');
  writeFileSync(file, encryptKeystore(generatePrivateKey(), 'right'));
  const wrong = await findings({ WALLET_KEYSTORE: file, WALLET_PASSPHRASE: 'not right' });
  expect(wrong).toMatch(/^fail +keys +keystore .*wrong passphrase.*: WALLET_KEYSTORE and/m);
  expect(wrong).not.toContain('makes one');
  expect(await findings({ WALLET_PRIVATE_KEYS: '0x12' })).toMatch(/mend WALLET_PRIVATE_KEYS$/m);
});
