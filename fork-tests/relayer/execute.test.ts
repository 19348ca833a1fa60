import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { actionDigest } from '../../contracts-abi/typed-data.ts';
import { useFork } from '../harness/fork.ts';
import {
  type Agent,
  buyAction,
  executions,
  openAgent,
  sharesOf,
  signedBody,
  usdgOf,
} from './agent.ts';
import { type DataFolder, dataFolder, startTestRelayer, type TestRelayer } from './relayer.ts';

const fork = useFork();
let data: DataFolder;
let relayer: TestRelayer;
let agent: Agent;

beforeEach(async () => {
  data = dataFolder();
  agent = await openAgent(fork, 'alice');
  relayer = await startTestRelayer(fork, data);
});
afterEach(async () => {
  await relayer?.stop();
  data.remove();
});

describe('the main path', () => {
  it('fee 0 → 402 → the same action with the fee → 200, and the same body again → the same answer', async () => {
    const action = await buyAction(fork, agent, 50n * USD);
    const unpaid = await relayer.post(await signedBody(fork, agent, action));
    expect(unpaid.body).toEqual({
      ok: false,
      error: expect.any(String),
      code: 'FEE_REQUIRED',
      retryable: false,
      requiredFee: expect.stringMatching(/^\d+$/),
      quoteExpiresAt: expect.any(Number),
      check: 'fee',
      next: 'resign_fee',
    });
    expect(unpaid.status).toBe(402);

    const fee = BigInt(String(unpaid.body.requiredFee));
    const before = await usdgOf(fork, fork.accounts.relayer.account.address);
    const ethBefore = await fork.client.getBalance({
      address: fork.accounts.relayer.account.address,
    });
    const paid = { ...action, fee };
    const body = await signedBody(fork, agent, paid);
    const mined = await relayer.post(body);
    expect(mined.body).toMatchObject({ ok: true, hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
    expect(mined.status).toBe(200);
    expect(mined.headers.get('cache-control')).toBe('no-store');

    expect(await sharesOf(fork, agent.account)).toBe(action.amount);
    expect(await usdgOf(fork, fork.accounts.relayer.account.address)).toBe(before + fee);
    const [execution, ...more] = await executions(fork, agent.account);
    expect(more).toEqual([]);
    expect(execution?.args.digest).toBe(actionDigest(paid, fork.deployment.sessionModule));
    expect(execution?.transactionHash).toBe(mined.body.hash);
    expect(Number(execution?.blockNumber)).toBe(mined.body.blockNumber);
    // The fee pays for the gas: ETH at its seeded price of a few thousand dollars.
    const ethAfter = await fork.client.getBalance({
      address: fork.accounts.relayer.account.address,
    });
    expect(Number(fee) / 1e6).toBeGreaterThan((Number(ethBefore - ethAfter) / 1e18) * 1_000);

    const again = await relayer.post(body);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(mined.body);
    expect(await executions(fork, agent.account)).toHaveLength(1);

    const next = await buyAction(fork, agent, 50n * USD, {
      fee: BigInt(String(mined.body.requiredFee)),
    });
    expect((await relayer.post(await signedBody(fork, agent, next))).status).toBe(200);
  });
});
