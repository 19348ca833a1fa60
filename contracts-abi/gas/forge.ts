import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { forgeBinary, solidity } from '../proof/copy.ts';

/** Where forge puts its artifacts. */
export const artifacts = process.env['FOUNDRY_OUT'] ?? join(solidity, 'out');

/**
 * Runs the gas suites, each call a transaction of its own, on the optimised build; returns forge's own account of
 * them. In text, not JSON: with JSON come the logs of the fixture, tens of megabytes of them.
 */
export async function runGasSuites(): Promise<string> {
  const { status, text } = await run(['test', '--isolate', '-vvvv', '--match-path', 'test/gas/*']);
  const failures = text.split('\n').filter((line) => line.startsWith('[FAIL'));
  if (failures.length > 0) throw new Error([...new Set(failures)].join('\n'));
  if (status !== 0) throw new Error(`forge: ${text.slice(-2_000)}`);
  return text;
}

function run(args: string[]): Promise<{ status: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(forgeBinary(), args, {
      cwd: solidity,
      env: { ...process.env, FOUNDRY_OPTIMIZER: 'true', FOUNDRY_TEST: 'test/gas', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    const collect = (part: string) => {
      text += part;
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, text }));
  });
}
