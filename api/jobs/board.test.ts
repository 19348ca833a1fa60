import { describe, expect, it } from 'vitest';
import { ScanBoard } from './board.ts';

/** A board whose scans end when the test says so. */
function boardUnderTest(deadlineMs = 60_000) {
  const scans: {
    signal: AbortSignal;
    resolve: (value: string) => void;
    reject: (error: Error) => void;
  }[] = [];
  const state = { version: '1', outOfReach: false };
  const board = new ScanBoard<string>({
    run: (signal) =>
      new Promise((resolve, reject) => {
        scans.push({ signal, resolve, reject });
      }),
    version: () => state.version,
    outOfReach: () => state.outOfReach,
    deadlineMs,
  });
  return { board, scans, state };
}

describe('a board of scans', () => {
  it('runs one scan for all who ask of one version, and another for the next', async () => {
    const { board, scans, state } = boardUnderTest();
    const asked = [board.current(), board.current()];
    expect(scans).toHaveLength(1);
    scans[0]?.resolve('a');
    expect(await Promise.all(asked)).toEqual(['a', 'a']);
    expect(await board.current()).toBe('a');
    expect(scans).toHaveLength(1);
    state.version = '2';
    const next = board.current();
    expect(scans).toHaveLength(2);
    scans[1]?.resolve('b');
    expect(await next).toBe('b');
  });

  it('never runs two at once: who asks meanwhile joins the one under way', async () => {
    const { board, scans, state } = boardUnderTest();
    const first = board.current();
    state.version = '2';
    const joined = board.current();
    expect(scans).toHaveLength(1);
    scans[0]?.resolve('a');
    expect(await first).toBe('a');
    expect(await joined).toBe('a');
    const fresh = board.current();
    expect(scans).toHaveLength(2);
    scans[1]?.resolve('b');
    expect(await fresh).toBe('b');
  });

  it('answers a failure with an error, not with the scan before, and tries again', async () => {
    const { board, scans, state } = boardUnderTest();
    const good = board.current();
    scans[0]?.resolve('a');
    await good;
    state.version = '2';
    const bad = board.current();
    scans[1]?.reject(new Error('no chain'));
    await expect(bad).rejects.toThrow('no chain');
    const again = board.current();
    expect(scans).toHaveLength(3);
    scans[2]?.resolve('b');
    expect(await again).toBe('b');
  });

  it('answers no scan while the chain is out of reach, and does again afterwards', async () => {
    const { board, scans, state } = boardUnderTest();
    const good = board.current();
    scans[0]?.resolve('a');
    await good;
    state.outOfReach = true;
    await expect(board.current()).rejects.toMatchObject({ code: 'UPSTREAM', retryable: true });
    // One of newer rows would be of the old marks all the same.
    state.version = '2';
    await expect(board.current()).rejects.toMatchObject({ code: 'UPSTREAM' });
    expect(scans).toHaveLength(1);
    state.version = '1';
    state.outOfReach = false;
    expect(await board.current()).toBe('a');
    state.version = '3';
    const next = board.current();
    scans[1]?.resolve('b');
    expect(await next).toBe('b');
  });

  it('gives up at its deadline with UPSTREAM, and tells the scan to stop asking', async () => {
    const { board, scans } = boardUnderTest(5);
    await expect(board.current()).rejects.toMatchObject({ code: 'UPSTREAM' });
    expect(scans[0]?.signal.aborted).toBe(true);
    const again = board.current();
    expect(scans).toHaveLength(2);
    scans[1]?.resolve('b');
    expect(await again).toBe('b');
  });
});
