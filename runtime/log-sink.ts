/**
 * Where log lines go: a file descriptor, without ever holding the process up.
 *
 * pino's own destination waits in a blocking loop while a pipe is full, and for ever (at exit and on `fatal`) once its
 * reader is gone: a supervisor that dies or stands still would leave processes that neither work nor end.
 */
import { writeSync } from 'node:fs';

export type LogSink = { write(line: string): void; flush(deadlineMs: number): void };

/** What a reader that stands still may be behind before lines are lost, in bytes. */
const MAX_PENDING = 1_000_000;
const RETRY_MS = 50;

/** @param write as `fs.writeSync`: returns the bytes taken, throws with a `code`. */
export function createLogSink(
  fd: number,
  write: (fd: number, bytes: Uint8Array) => number = writeSync,
): LogSink {
  let pending: Buffer[] = [];
  let bytes = 0;
  let lost = 0;
  let retry: NodeJS.Timeout | null = null;

  /** Writes what the descriptor takes now; true when nothing is left. */
  const drain = (): boolean => {
    try {
      for (let line = pending[0]; line !== undefined; line = pending[0]) {
        const taken = write(fd, line);
        bytes -= taken;
        if (taken < line.length) pending[0] = line.subarray(taken);
        else pending.shift();
      }
      return true;
    } catch (error) {
      const { code } = error as { code?: string };
      // expected: the reader is slow
      if (code === 'EAGAIN' || code === 'EBUSY') return false;
      // expected: the reader is gone, or the disk is full; there is no better place to say so
      pending = [];
      bytes = 0;
      return true;
    }
  };

  const push = (text: string): void => {
    const line = Buffer.from(text);
    pending.push(line);
    bytes += line.length;
  };

  const drainLater = (): void => {
    if (retry !== null) return;
    retry = setTimeout(() => {
      retry = null;
      if (!drain()) drainLater();
    }, RETRY_MS);
    retry.unref();
  };

  return {
    write: (line) => {
      if (bytes + line.length > MAX_PENDING && !drain()) {
        lost += 1;
        return;
      }
      if (lost > 0) {
        push(`${JSON.stringify({ level: 'warn', lost, msg: 'log lines were lost' })}\n`);
        lost = 0;
      }
      push(line);
      if (!drain()) drainLater();
    },
    flush: (deadlineMs) => {
      const deadline = Date.now() + deadlineMs;
      const clock = new Int32Array(new SharedArrayBuffer(4));
      while (!drain() && Date.now() < deadline) Atomics.wait(clock, 0, 0, 10);
    },
  };
}
