import { afterEach, describe, expect, it } from 'vitest';
import { type Bench, intentFor, openBench, settled } from './bench.ts';
import { executionsOf, setRevert } from './target.ts';

let bench: Bench;
afterEach(async () => {
  await bench.close();
});

describe('the sender', () => {
  it('executes an intent once, confirms it, and answers a repeat with the same outcome', async () => {
    bench = await openBench();
    const { sender, anvil } = bench;
    const first = await sender.submit(intentFor('a'));
    expect(first.tag).toBe('broadcast');
    const mined = await settled(sender, 'a');
    expect(mined).toMatchObject({ tag: 'mined', nonce: 0 });
    const confirmed = await sender.wait('a', 'confirmed', 10_000);
    expect(confirmed).toMatchObject({ tag: 'mined', confirmed: true });
    expect(await sender.submit(intentFor('a'))).toEqual(confirmed);
    expect(await executionsOf(anvil.url, 'a')).toBe(1);
  });

  it('refuses what reverts in simulation with its revert data, and spends no nonce', async () => {
    bench = await openBench();
    const { sender, anvil } = bench;
    await setRevert(anvil.url, 'nonce too low');
    const state = await sender.submit(intentFor('a'));
    expect(state).toMatchObject({
      tag: 'refused',
      reason: 'reverted_in_simulation',
      revertData: expect.stringMatching(/^0x6e6f6e636520746f6f206c6f77/) as unknown,
    });
    await setRevert(anvil.url, null);
    expect(await sender.submit(intentFor('b'))).toMatchObject({ tag: 'broadcast', nonce: 0 });
  });
});
