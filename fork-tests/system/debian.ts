/** Programs that come as Debian packages. */
import { execFileSync } from 'node:child_process';

export function installed(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' });
    return true;
  } catch {
    // expected: not there yet
    return false;
  }
}

export function installPackages(names: readonly string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', ['update', '-q'], { stdio: 'inherit', env });
  execFileSync('apt-get', ['install', '-q', '-y', '--no-install-recommends', ...names], {
    stdio: 'inherit',
    env,
  });
}
