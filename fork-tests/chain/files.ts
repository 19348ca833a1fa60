/** The two files that a running local chain leaves for other processes. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Manifest, manifestSchema } from './seed/manifest.ts';

/** Beside the deployment file: tokens, pools and the maker, for whoever wants to move prices. */
function manifestPath(deploymentFile: string): string {
  return join(dirname(deploymentFile), 'market.json');
}

/** Writes the deployment file and the market file, each whole or not at all. */
export function writeChainFiles(deploymentFile: string, manifest: Manifest): void {
  mkdirSync(dirname(deploymentFile), { recursive: true });
  writeWhole(deploymentFile, manifest.deployment);
  writeWhole(manifestPath(deploymentFile), manifest);
}

/** Throws when the chain behind this deployment file left no market file. */
export function readManifest(deploymentFile: string): Manifest {
  return manifestSchema.parse(JSON.parse(readFileSync(manifestPath(deploymentFile), 'utf8')));
}

export function removeChainFiles(deploymentFile: string): void {
  rmSync(deploymentFile, { force: true });
  rmSync(manifestPath(deploymentFile), { force: true });
}

/** On disk whole, or not at all, whatever happens meanwhile. */
export function writeWhole(path: string, value: unknown): void {
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`, { flush: true });
  renameSync(temporary, path);
}
