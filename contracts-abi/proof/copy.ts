import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const solidity = join(root, 'contracts-abi', 'solidity');

const LIBRARY = '@openzeppelin/contracts';

/**
 * Copies the Solidity project to `<folder>/contracts-abi/solidity`, where tools may rewrite it, and returns that path.
 * The library's sources come to lie inside the project, since `forge coverage` resolves them nowhere else; artifacts
 * that tests read from node_modules stay where they are, behind a link.
 */
export function copyProject(folder: string): string {
  const project = join(folder, 'contracts-abi', 'solidity');
  for (const part of ['src', 'test', 'tools']) {
    rmSync(join(project, part), { recursive: true, force: true });
    cpSync(join(solidity, part), join(project, part), {
      recursive: true,
      preserveTimestamps: true,
    });
  }
  const library = join(project, 'node_modules', LIBRARY);
  rmSync(library, { recursive: true, force: true });
  cpSync(join(root, 'node_modules', LIBRARY), library, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !path.endsWith('.json'),
  });
  rmSync(join(folder, 'node_modules'), { force: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(project, 'cache', 'handlers'), { recursive: true });
  const config = readFileSync(join(solidity, 'foundry.toml'), 'utf8')
    .replace('libs = ["../../node_modules"]', 'libs = ["node_modules"]')
    .replace('=../../node_modules/@openzeppelin/', '=node_modules/@openzeppelin/');
  writeFileSync(join(project, 'foundry.toml'), config);
  return project;
}

/** The platform's own binary: the package's wrapper takes a second and hides the exit code. */
export function forgeBinary(): string {
  const require = createRequire(import.meta.url);
  const name = `@foundry-rs/forge-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  return join(dirname(require.resolve(`${name}/package.json`)), 'bin', 'forge');
}
