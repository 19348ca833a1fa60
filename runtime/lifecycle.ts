/** How a process starts and ends: one place for signals, fatal faults and the deadline of a stop. */
import { faultLine } from './fault-line.ts';
import type { Logger } from './logger.ts';
import { operatorLine } from './operator-error.ts';

export type Running = {
  /** Stops accepting, finishes or hands over what is in flight. Must end within the deadline. */
  stop: () => Promise<void>;
};

/** For a fault after which the process must not go on, met where nobody could catch it: `runProcess` stops and exits 1. */
export function endProcess(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

const STOP_DEADLINE_MS = 20_000;

/**
 * Starts a process and keeps it until SIGINT, SIGTERM or a fault nobody caught; exits 0 after a clean stop,
 * 1 after a fault or when the stop misses its deadline. A second signal exits at once.
 */
export async function runProcess(logger: Logger, start: () => Promise<Running>): Promise<void> {
  let running: Running | null = null;
  let stopping = false;

  const shutDown = async (why: string, code: number): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    logger.info({ why }, 'stopping');
    const deadline = setTimeout(() => {
      logger.fatal({ deadlineMs: STOP_DEADLINE_MS }, 'stop missed its deadline');
      process.exit(1);
    }, STOP_DEADLINE_MS);
    deadline.unref();
    try {
      await running?.stop();
      logger.info('stopped');
      process.exit(code);
    } catch (err) {
      logger.fatal({ err }, 'stop failed');
      process.exit(1);
    }
  };

  // A supervisor that dies without a word closes the pipe: its children then stop too.
  if (process.env.STOP_WHEN_STDIN_ENDS === '1') {
    process.stdin.resume();
    process.stdin.once('end', () => void shutDown('supervisor gone', 0));
    process.stdin.once('error', () => void shutDown('supervisor gone', 0));
  }
  process.on('SIGINT', () => void shutDown('SIGINT', 0));
  process.on('SIGTERM', () => void shutDown('SIGTERM', 0));
  process.on('uncaughtException', (err) => {
    logger.fatal({ err }, 'uncaught exception');
    void shutDown('uncaught exception', 1);
  });
  process.on('unhandledRejection', (err) => {
    logger.fatal({ err }, 'unhandled rejection');
    void shutDown('unhandled rejection', 1);
  });

  try {
    running = await start();
  } catch (err) {
    sayFault(err, logger);
    process.exit(1);
  }
}

/** Why a process or a command cannot start: a line for who started it, or a stack where nobody foresaw the fault. */
export function sayFault(error: unknown, logger: Logger): void {
  const line = operatorLine(error);
  if (line !== null) process.stderr.write(`${line}\n`);
  // Node would print it whole: viem's errors with the URL of the RPC and the key in it.
  else logger.fatal({ err: error }, faultLine(error));
}
