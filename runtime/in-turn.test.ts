import { expect, test } from 'vitest';
import { inTurn, inTurnByKey } from './in-turn.ts';

/** Work that ends when it is told to. */
function held(log: string[], name: string) {
  let resolve: (value: string) => void = () => undefined;
  let reject: (fault: Error) => void = () => undefined;
  const promise = new Promise<string>((onward, back) => {
    resolve = onward;
    reject = back;
  });
  const work = async (): Promise<string> => {
    log.push(`${name} begins`);
    try {
      return await promise;
    } finally {
      log.push(`${name} ends`);
    }
  };
  return { work, resolve, reject };
}

test('one after another in the order of asking, a failure in between too', async () => {
  const log: string[] = [];
  const turn = inTurn();
  const [a, b] = [held(log, 'a'), held(log, 'b')];
  const first = turn(a.work);
  const second = turn(b.work);
  const third = turn(async () => log.push('c'));
  b.resolve('b');
  a.reject(new Error('no'));
  await expect(first).rejects.toThrow('no');
  expect(await second).toBe('b');
  await third;
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c']);
});

test('other keys do not wait', async () => {
  const log: string[] = [];
  const turn = inTurnByKey();
  const a = held(log, 'a');
  const first = turn('one', a.work);
  await turn('other', async () => log.push('b'));
  a.resolve('a');
  expect(await first).toBe('a');
  expect(log).toEqual(['a begins', 'b', 'a ends']);
});
