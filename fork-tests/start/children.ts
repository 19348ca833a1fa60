/**
 * Child processes of `npm start`: each in its own process group, so that Ctrl-C reaches the supervisor alone and the
 * order of the end is its decision. A child whose supervisor dies sees its stdin close and stops by itself.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export type Child = {
  name: string;
  /** Zero when it could not be started. */
  pid: number;
  /** Resolves with the exit code (null after a signal) however it ended. */
  exited: Promise<number | null>;
  stop: (deadlineMs: number) => Promise<void>;
  /** SIGKILL now, for the tests that want it. */
  kill: () => void;
};

export type ChildOptions = {
  name: string;
  /** A TypeScript entry point. */
  entry: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  onLine: (line: string) => void;
};

export function startChild(options: ChildOptions): Child {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), '--enable-source-maps', options.entry],
    {
      cwd: options.cwd,
      env: { ...options.env, STOP_WHEN_STDIN_ENDS: '1' },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    },
  );
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', options.onLine);
  }
  // EPIPE on a child that ended first is expected.
  child.stdin?.on('error', () => undefined);
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.once('error', () => resolve(1));
  });
  const signal = (name: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, name);
    } catch {
      // expected: the group is gone already
    }
  };
  return {
    name: options.name,
    pid: child.pid ?? 0,
    exited,
    kill: () => signal('SIGKILL'),
    stop: async (deadlineMs) => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
        const timer = setTimeout(() => signal('SIGKILL'), deadlineMs);
        await exited;
        clearTimeout(timer);
      }
      // Whatever the child left behind in its group goes too.
      signal('SIGKILL');
    },
  };
}
