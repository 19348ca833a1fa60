/** The key of a built state: a hash of everything that it was built from. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COVER_CUTOFF } from '../../../contracts-abi/constants.ts';
import { coverWeeks } from '../../../contracts-abi/cover-calendar.ts';
import { artifactPaths } from '../deploy/artifacts.ts';

const chain = join(dirname(fileURLToPath(import.meta.url)), '..');
const root = join(chain, '..', '..');
/** Raised when the format of the cache file changes. */
const FORMAT = '1';

/** Source files whose change makes a built state stale: bytecode, seed, deploy, prices; not how it all is sent. */
function sources(): string[] {
  const folders = [join(chain, 'seed')];
  const deploy = ['artifacts', 'externals', 'plan', 'protocol', 'cover-steps', 'vault-steps'];
  const files = [
    'price.ts',
    join('market', 'moves.ts'),
    ...deploy.map((name) => join('deploy', `${name}.ts`)),
  ].map((name) => join(chain, name));
  folders.push(join(root, 'contracts-abi', 'generated'));
  for (const name of ['deployment.ts', 'constants.ts', 'cover-calendar.ts']) {
    files.push(join(root, 'contracts-abi', name));
  }
  return [
    ...files,
    ...folders.flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
        .map((name) => join(folder, name)),
    ),
  ].sort();
}

/**
 * 16 hex characters. The Anvil version counts too: the format of its state is its own. So does the cover week that
 * trades at `now` (unix seconds): offers stand for that week and the next two.
 */
export function stateKey(now = Date.now() / 1_000): string {
  const [week] = coverWeeks(now + Number(COVER_CUTOFF), 1);
  const hash = createHash('sha256').update(FORMAT);
  const anvil = createRequire(import.meta.url)('@foundry-rs/anvil/package.json') as {
    version: string;
  };
  hash.update(`${anvil.version} ${week?.id ?? 0}`);
  for (const path of [...sources(), ...artifactPaths()]) {
    hash.update(`\0${relative(root, path)}\0`).update(readFileSync(path));
  }
  return hash.digest('hex').slice(0, 16);
}
