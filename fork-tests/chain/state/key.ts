/** The key of a built state: a hash of everything that it was built from. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { artifactPaths } from '../deploy/artifacts.ts';

const chain = join(dirname(fileURLToPath(import.meta.url)), '..');
const root = join(chain, '..', '..');
/** Raised when the format of the cache file changes. */
const FORMAT = '1';

/** Source files whose change makes a built state stale: bytecode, seed, deploy, prices; not how it all is sent. */
function sources(): string[] {
  const folders = ['deploy', 'seed'].map((name) => join(chain, name));
  const files = ['price.ts', join('market', 'moves.ts')].map((name) => join(chain, name));
  folders.push(join(root, 'contracts-abi', 'generated'));
  files.push(join(root, 'contracts-abi', 'deployment.ts'));
  return [
    ...files,
    ...folders.flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
        .map((name) => join(folder, name)),
    ),
  ].sort();
}

/** 16 hex characters. The Anvil version counts too: the format of its state is its own. */
export function stateKey(): string {
  const hash = createHash('sha256').update(FORMAT);
  const anvil = createRequire(import.meta.url)('@foundry-rs/anvil/package.json') as {
    version: string;
  };
  hash.update(anvil.version);
  for (const path of [...sources(), ...artifactPaths()]) {
    hash.update(`\0${relative(root, path)}\0`).update(readFileSync(path));
  }
  return hash.digest('hex').slice(0, 16);
}
