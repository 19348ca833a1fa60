/** Programs that come as Debian packages: installed once, before any test, since apt works for one caller at a time. */
import { execFileSync } from 'node:child_process';

/** Each program and the packages that bring it. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  promtool: ['prometheus'],
  prometheus: ['prometheus'],
  chromium: ['chromium', 'fonts-dejavu-core'],
  chromedriver: ['chromium-driver'],
};

/** Waits for whoever else installs, and asks a mirror that fails again. */
const PATIENT = ['-q', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3'];

function isInstalled(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' });
    return true;
  } catch {
    // expected: not there yet
    return false;
  }
}

/** Of the test project: installs what is missing. */
export default function setup(): void {
  const missing = Object.keys(PROGRAMS).filter((program) => !isInstalled(program));
  const packages = new Set(missing.flatMap((program) => PROGRAMS[program] ?? []));
  if (packages.size === 0) return;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', [...PATIENT, 'update'], { stdio: 'inherit', env });
  execFileSync('apt-get', [...PATIENT, 'install', '-y', '--no-install-recommends', ...packages], {
    stdio: 'inherit',
    env,
  });
}
