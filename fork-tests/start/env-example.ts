/** `.env.example`, made from the option groups that the processes parse: `npm run env-example` writes it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { apiOptions } from '../../api/config.ts';
import { keeperOptions } from '../../keeper/config.ts';
import { relayOptions } from '../../relayer/config.ts';
import { moneyOptions } from '../../relayer/money/options.ts';
import { chainOptions, logOptions, renderEnvExample, storeOptions } from '../../runtime/config.ts';
import { httpOptions } from '../../runtime/http/server.ts';
import { keyCommandOptions } from '../../runtime/keys/cli/options.ts';
import { keyOptions } from '../../runtime/keys/wallets.ts';
import { senderOptions } from '../../runtime/sender/options.ts';
import { deployOptions } from '../chain/deploy/options.ts';
import { chainProcessOptions } from '../chain/options.ts';
import { startOptions } from './options.ts';

const SHARED = [logOptions, chainOptions, storeOptions, httpOptions, keyOptions, senderOptions];

/** Every option once: what several processes share first, then each one's own. */
export function envExample(): string {
  const seen = new Set<string>();
  const group = (title: string, ...schemas: readonly z.ZodObject<z.ZodRawShape>[]): string => {
    const own = Object.entries(
      Object.assign({}, ...schemas.map(({ shape }) => shape)) as z.ZodRawShape,
    );
    const fresh = own.filter(([name]) => !seen.has(name));
    for (const [name] of fresh) seen.add(name);
    return renderEnvExample(title, z.object(Object.fromEntries(fresh)));
  };
  return [
    '# Every setting of every process, with an example; all are optional but RPC_URLS and a wallet.\n# `npm start` sets what the local chain needs by itself. Copy to .env and uncomment what you change.\n',
    group('api, keeper, relayer', ...SHARED.slice(0, 4)),
    group('keeper and relayer: keys and the transaction sender', ...SHARED.slice(4)),
    group('api', apiOptions),
    group('keeper', keeperOptions),
    group('relayer', relayOptions, moneyOptions),
    group('local chain and npm start', chainProcessOptions, startOptions),
    group('npm run deploy', deployOptions),
    group('npm run key', keyCommandOptions),
  ].join('\n');
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(join(import.meta.dirname, '..', '..', '.env.example'), envExample());
}
