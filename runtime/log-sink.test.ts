import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLogSink } from './log-sink.ts';

const full = (): never => {
  throw Object.assign(new Error('full'), { code: 'EAGAIN' });
};

describe('the log sink', () => {
  it('keeps order and bytes over partial writes and a full pipe', () => {
    let open = false;
    let out = '';
    const sink = createLogSink(1, (_fd, bytes) => {
      if (!open) return full();
      const part = bytes.subarray(0, 3);
      out += Buffer.from(part).toString('latin1');
      return part.length;
    });
    sink.write('first line\n');
    sink.write('second line\n');
    expect(out).toBe('');
    open = true;
    sink.flush(1_000);
    expect(out).toBe('first line\nsecond line\n');
  });

  it('loses lines past its bound, says how many, and never blocks', () => {
    let open = false;
    let out = '';
    const sink = createLogSink(1, (_fd, bytes) => {
      if (!open) return full();
      out += Buffer.from(bytes).toString('utf8');
      return bytes.length;
    });
    const line = `${'x'.repeat(99_999)}\n`;
    for (let i = 0; i < 15; i++) sink.write(line);
    open = true;
    sink.write('last\n');
    expect(out.match(/x\n/g)).toHaveLength(10);
    expect(out).toContain('"lost":5');
    expect(out.endsWith('last\n')).toBe(true);
  });

  it.each(['closed', 'standing still'])(
    'lets a process log fatally and end when its reader is %s',
    async (reader) => {
      const script = `
      import { createLogger } from ${JSON.stringify(join(import.meta.dirname, 'logger.ts'))};
      const logger = createLogger('t', 'info');
      process.stdin.resume();
      process.stdin.once('end', () => {
        for (let i = 0; i < 5_000; i++) logger.info({ text: 'x'.repeat(1_000) }, 'line');
        logger.fatal('last words');
        process.exit(7);
      });`;
      const child = spawn(
        process.execPath,
        ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', script],
        {
          stdio: ['pipe', 'pipe', 'ignore'],
        },
      );
      const exited = once(child, 'exit', { signal: AbortSignal.timeout(20_000) });
      if (reader === 'closed') child.stdout.destroy();
      child.stdin.end();
      expect(await exited).toEqual([7, null]);
    },
    25_000,
  );
});
