/** A key whose actions pass the simulation and revert in blocks costs the relayer gas: it is kept out for a while. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { useFork } from '../harness/fork.ts';
import { type Agent, buyAction, openAgent, signedBody } from './agent.ts';
import {
  type DataFolder,
  dataFolder,
  inPool,
  startTestRelayer,
  type TestRelayer,
  until,
} from './relayer.ts';

const fork = useFork();
const FEE = 400_000n;
const ENV = {
  RELAY_WAIT_MS: '200',
  RELAY_FEE_STEP_USDG: '0.4',
  RELAY_LOSS_LIMIT_USDG: '0',
  RELAY_QUARANTINE_SECONDS: '6',
};
let data: DataFolder;
let agent: Agent;
let relayer: TestRelayer;

beforeEach(async () => {
  data = dataFolder();
  agent = await openAgent(fork, 'alice');
  relayer = await startTestRelayer(fork, data, ENV);
});
afterEach(async () => {
  await fork.client.setAutomine(true);
  await relayer?.stop();
  data.remove();
});

const post = async (from: Agent, fee = FEE) =>
  await relayer.post(await signedBody(fork, from, await buyAction(fork, from, 20n * USD, { fee })));

/** An action that is sent and reverts: the chain's clock passes its deadline before the block that holds it. */
async function sentToRevert(): Promise<unknown> {
  const body = await signedBody(fork, agent, await buyAction(fork, agent, 20n * USD, { fee: FEE }));
  await fork.client.setAutomine(false);
  const sent = await relayer.post(body);
  expect(sent.status).toBe(202);
  await inPool(fork, sent.body.hash);
  await fork.client.increaseTime({ seconds: 400 });
  await fork.client.mine({ blocks: 1 });
  await fork.client.setAutomine(true);
  await until('told as reverted', async () =>
    (await relayer.post(body)).status === 422 ? true : null,
  );
  return body;
}

describe('a key whose action reverted in a block', () => {
  it('is answered 429 with a time, other keys are served, and it comes back by itself', async () => {
    const other = await openAgent(fork, 'bob');
    const reverted = await sentToRevert();
    const kept = await until('kept out', async () => {
      const reply = await post(agent);
      return reply.status === 429 ? reply : null;
    });
    expect(kept.body).toMatchObject({
      ok: false,
      code: 'RATE_LIMITED',
      check: 'quarantine',
      retryable: true,
      next: 'wait',
    });
    const seconds = Number(kept.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(6);
    expect((await post(other)).status).toBeLessThanOrEqual(202);
    // What was sent before is answered as it was.
    expect((await relayer.post(reverted)).body).toMatchObject({ code: 'SIMULATION_FAILED' });

    // A restart forgives nothing.
    await relayer.stop();
    relayer = await startTestRelayer(fork, data, ENV);
    expect((await post(agent)).body).toMatchObject({ check: 'quarantine' });
    await until('back', async () => ((await post(agent)).status <= 202 ? true : null));
  });

  it('is not kept out for what it pays for: the books say what each action cost and brought', async () => {
    await relayer.stop();
    relayer = await startTestRelayer(fork, data, { ...ENV, RELAY_LOSS_LIMIT_USDG: '5' });
    await sentToRevert();
    expect((await post(agent)).status).toBeLessThanOrEqual(202);
    expect((await post(agent)).status).toBeLessThanOrEqual(202);
  });
});
