/** The real api in a process of its own, on the chain of a bench. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Manifest } from '../../chain/seed/manifest.ts';
import { type ServerProcess, startServerProcess } from './process.ts';

const ENTRY = fileURLToPath(new URL('../../../api/main.ts', import.meta.url));

/** Where that api keeps its rows. */
export function databaseIn(folder: string): string {
  return `file:${join(folder, 'api.sqlite')}`;
}

/** @param settings beside what says where chain, deployment, rows and port are. */
export function startApiProcess(
  rpcUrl: string,
  manifest: Manifest,
  settings: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  return startServerProcess({
    entry: ENTRY,
    readyPath: '/ready',
    env: (port, folder) => {
      const deploymentFile = join(folder, 'deployment.json');
      writeFileSync(deploymentFile, JSON.stringify(manifest.deployment));
      return {
        RPC_URLS: rpcUrl,
        DEPLOYMENT_FILE: deploymentFile,
        DATABASE_URL: databaseIn(folder),
        API_PORT: String(port),
        PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
        ...settings,
      };
    },
  });
}
