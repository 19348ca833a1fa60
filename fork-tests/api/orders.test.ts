/** Exits, limit buys, cancels and jobs: built, sent, listed, filled. */
import { encodeFunctionData, type Hex, parseEventLogs, zeroAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import { exitEscrowAbi, limitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { useFork } from '../harness/fork.ts';
import { balanceOf, planOf, sendCall, sendPlan } from './send-plan.ts';
import { expectError, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork);

type OrderRow = { id: Hex; escrow: Hex; kind: string; ticker: string };
type JobRow = {
  type: string;
  contract: Hex;
  id: Hex;
  feeUsdg: string;
  slippageBps: number;
  tx: { to: Hex; data: Hex; value: string };
  armData: Hex;
};

const alice = () => fork.accounts.alice.account.address;
const CHIP = 'CHIP';

async function holdChip(dollars = 1_000): Promise<bigint> {
  const answer = await api.post('/v1/tx/buy', {
    ticker: CHIP,
    amountUsdg: dollars,
    address: alice(),
  });
  await sendPlan(fork, 'alice', planOf(answer));
  return await balanceOf(fork, fork.vault(CHIP), alice());
}

async function navNow(ticker = CHIP): Promise<number> {
  return Number((await api.get(`/v1/baskets/${ticker}`)).body.nav);
}

const exit = (body: object) => api.post('/v1/tx/exit', { ticker: CHIP, address: alice(), ...body });
const limit = (body: object) =>
  api.post('/v1/tx/limit', { ticker: CHIP, address: alice(), amountUsdg: 100, ...body });
const cancel = (body: object) => api.post('/v1/tx/cancel', body);

/** The open orders once there are as many. */
async function ordersOf(count: number): Promise<OrderRow[]> {
  const answer = await api.until(
    `/v1/orders/${alice()}`,
    ({ body }) => (body.orders as unknown[] | undefined)?.length === count,
  );
  return answer.body.orders as unknown as OrderRow[];
}

async function jobsOf(count: number, query = ''): Promise<{ jobs: JobRow[]; skipped: unknown[] }> {
  const answer = await api.until(
    `/v1/jobs${query}`,
    ({ body }) => (body.jobs as unknown[] | undefined)?.length === count,
  );
  return answer.body as unknown as { jobs: JobRow[]; skipped: unknown[] };
}

describe('exits', () => {
  test('a bracket is escrowed, listed and cancelled', async () => {
    const shares = await holdChip();
    const nav = await navNow();
    const answer = await exit({
      shares: shares.toString(),
      stopNav: nav * 0.9,
      tpNav: nav * 1.2,
      expiryDays: 7,
    });
    const plan = planOf(answer);
    expect(plan.kind).toBe('bracket');
    expect(plan.tx.to).toBe(fork.deployment.exitEscrow);
    expect(plan.approval?.to).toBe(fork.vault(CHIP));
    expect(plan.deadline - (await fork.now())).toBe(7 * 86_400);
    await sendPlan(fork, 'alice', plan);
    expect(await balanceOf(fork, fork.vault(CHIP), alice())).toBe(0n);

    const [order] = await ordersOf(1);
    expect(order).toMatchObject({
      escrow: fork.deployment.exitEscrow,
      kind: 'bracket',
      ticker: CHIP,
      deadline: plan.deadline,
    });
    const back = planOf(await cancel({ orderId: order?.id, address: alice() }));
    expect(back).toMatchObject({ approval: null, simulation: { ok: true }, warnings: [] });
    await sendPlan(fork, 'alice', back);
    expect(await balanceOf(fork, fork.vault(CHIP), alice())).toBe(shares);
    await ordersOf(0);
    expectError(await cancel({ orderId: order?.id }), 409, 'ORDER_NOT_OPEN', /cancelled/);
  });

  test('warns that a stop above the average fires at once', async () => {
    const shares = await holdChip();
    const nav = await navNow();
    const plan = planOf(await exit({ shares: shares.toString(), stopNav: nav * 1.01 }));
    expect(plan.kind).toBe('stop_loss');
    expect(plan.warnings).toEqual([expect.stringMatching(/stop would fire at once/)]);
    const rising = planOf(await exit({ shares: shares.toString(), tpNav: nav * 0.9 }));
    expect(rising.warnings).toEqual([expect.stringMatching(/take-profit would fire at once/)]);
  });

  test('refuses what the escrow would refuse, with its code', async () => {
    const shares = (await holdChip()).toString();
    expectError(await exit({ shares }), 400, 'BAD_REQUEST', /stopNav, tpNav or both/);
    expectError(await exit({ shares, stopNav: 5, tpNav: 5 }), 400, 'BAD_REQUEST', /below tpNav/);
    expectError(await exit({ shares, stopNav: 5, expiryDays: 91 }), 400, 'BAD_REQUEST');
    expectError(await exit({ shares, stopNav: 5, expiryDays: 0 }), 400, 'BAD_REQUEST');
    expectError(await exit({ shares: 'max', stopNav: 5 }), 400, 'BAD_REQUEST');
    expectError(await exit({ shares: '1000', stopNav: 5 }), 400, 'BAD_REQUEST', /5 dollars/);
    const more = (BigInt(shares) + 1n).toString();
    expectError(await exit({ shares: more, stopNav: 5 }), 400, 'INSUFFICIENT_SHARES');
    for (const ticker of ['FRESH', 'PREIPO']) {
      expectError(await exit({ ticker, shares, stopNav: 5 }), 422, 'NO_REFERENCE');
    }
  });

  test('where the reference is only invalid at the moment, it is built with a warning', async () => {
    const shares = (await holdChip()).toString();
    await fork.pushPrice('NVDA', 0.8);
    await fork.warp(250);
    await api.settled();
    const plan = planOf(await exit({ shares, stopNav: 5 }));
    expect(plan.warnings).toEqual([expect.stringMatching(/no valid 10-minute average NAV/)]);
    await sendPlan(fork, 'alice', plan);
    await ordersOf(1);
  });
});

describe('limit buys', () => {
  test('USDG is escrowed and comes back on a cancel', async () => {
    const before = await balanceOf(fork, fork.deployment.usdg, alice());
    const plan = planOf(await limit({ triggerNav: (await navNow()) * 0.9, amountUsdg: 50.5 }));
    expect(plan.note).toMatch(/all-in/);
    expect(plan.tx.to).toBe(fork.deployment.limitEscrow);
    await sendPlan(fork, 'alice', plan);
    expect(before - (await balanceOf(fork, fork.deployment.usdg, alice()))).toBe(50_500_000n);
    const [order] = await ordersOf(1);
    expect(order).toMatchObject({
      escrow: fork.deployment.limitEscrow,
      kind: 'limit_buy',
      ticker: CHIP,
      amountUsdg: 50.5,
      triggerBelow: true,
    });
    await sendPlan(fork, 'alice', planOf(await cancel({ orderId: order?.id, address: alice() })));
    expect(await balanceOf(fork, fork.deployment.usdg, alice())).toBe(before);
  });

  test('warns of what is missing and of a fill at once; refuses below $5 and without orders', async () => {
    const nav = await navNow();
    const plan = planOf(await limit({ amountUsdg: 200_000, triggerNav: nav * 1.05 }));
    expect(plan.warnings).toEqual([
      expect.stringMatching(/: 100000 short/),
      expect.stringMatching(/fill at once/),
    ]);
    expectError(await limit({ amountUsdg: 4.99 }), 400, 'BAD_REQUEST', /5 dollars/);
    expectError(await limit({ ticker: 'FRESH' }), 422, 'NO_REFERENCE');
    expectError(await limit({ ticker: 'NONE' }), 400, 'UNKNOWN_BASKET');
  });
});

test('an answer of a block holds the order that it opened', async () => {
  const { blockNumber } = await sendPlan(fork, 'alice', planOf(await limit({ triggerNav: 1 })));
  for (const path of [`/v1/orders/${alice()}`, `/v1/strategies/${alice()}`]) {
    const { body } = await api.until(
      path,
      (answer) => Number(answer.body.asOfBlock) >= blockNumber,
    );
    if (path.includes('orders')) expect(body.orders).toHaveLength(1);
  }
});

describe('POST /v1/tx/cancel', () => {
  test('knows orders by index or by escrow, and refuses anything else', async () => {
    await sendPlan(fork, 'alice', planOf(await limit({ triggerNav: 1 })));
    const [order] = await ordersOf(1);
    const orderId = order?.id ?? '0x';
    const escrow = fork.deployment.limitEscrow;
    const unknown = `0x${'12'.repeat(32)}`;
    expectError(await cancel({ orderId: unknown }), 404, 'NOT_FOUND', /pass its escrow/);
    expectError(await cancel({ orderId: unknown, escrow }), 404, 'NOT_FOUND');
    expectError(await cancel({ orderId, escrow: alice() }), 400, 'BAD_REQUEST', /escrow/);
    expectError(await cancel({ orderId: '0x1234' }), 400, 'BAD_REQUEST');
    expectError(await cancel({}), 400, 'BAD_REQUEST');

    const blind = planOf(await cancel({ orderId, escrow }));
    expect(blind.simulation).toEqual({ ok: null, skipped: expect.stringContaining('address') });
    const stranger = planOf(await cancel({ orderId, address: fork.accounts.bob.account.address }));
    expect(stranger.simulation).toEqual({ ok: false, reason: `NotOwner(${orderId})` });
    expect(stranger.warnings).toHaveLength(1);
  });
});

describe('GET /v1/jobs', () => {
  test('lists a stop once the average has crossed it, and the listed fill pays its executor', async () => {
    const shares = await holdChip();
    const nav = await navNow();
    await sendPlan(
      fork,
      'alice',
      planOf(await exit({ shares: shares.toString(), stopNav: nav * 0.985 })),
    );
    const [order] = await ordersOf(1);
    expect((await jobsOf(0)).jobs).toEqual([]);

    await fork.pushPrice('NVDA', 0.95);
    expect((await jobsOf(0)).jobs).toEqual([]);
    await fork.warp(600);
    const bob = fork.accounts.bob.account.address;
    const { jobs } = await jobsOf(1, `?executor=${bob}`);
    const [job] = jobs;
    expect(job).toMatchObject({
      type: 'sell',
      contract: order?.escrow,
      id: order?.id,
      ticker: CHIP,
      vault: fork.vault(CHIP),
      slippageBps: 100,
      tx: { to: order?.escrow, value: '0' },
    });
    expect(job?.armData).toBe(
      encodeFunctionData({ abi: exitEscrowAbi, functionName: 'arm', args: [order?.id ?? '0x'] }),
    );

    const ownerBefore = await balanceOf(fork, fork.deployment.usdg, alice());
    const bobBefore = await balanceOf(fork, fork.deployment.usdg, bob);
    const receipt = await sendCall(fork, 'keeper', job?.tx.to ?? '0x', job?.tx.data ?? '0x');
    expect(receipt.status).toBe('success');
    const [filled] = parseEventLogs({
      abi: exitEscrowAbi,
      eventName: 'OrderFilled',
      logs: receipt.logs,
    });
    const paid = (await balanceOf(fork, fork.deployment.usdg, bob)) - bobBefore;
    expect(paid).toBe(filled?.args.executorFee);
    expect(Number(paid) / Number(job?.feeUsdg)).toBeCloseTo(1, 3);
    expect((await balanceOf(fork, fork.deployment.usdg, alice())) - ownerBefore).toBe(
      filled?.args.net,
    );
    await jobsOf(0);
    await ordersOf(0);
    expectError(await cancel({ orderId: order?.id }), 409, 'ORDER_NOT_OPEN', /filled/);
  });

  test('without an executor the sender is paid; a limit without a trigger is due at once', async () => {
    await sendPlan(fork, 'alice', planOf(await limit({ amountUsdg: 300 })));
    const [job] = (await jobsOf(1)).jobs;
    expect(job).toMatchObject({ type: 'limit', contract: fork.deployment.limitEscrow });
    const keeper = fork.accounts.keeper.account.address;
    const receipt = await sendCall(fork, 'keeper', job?.tx.to ?? '0x', job?.tx.data ?? '0x');
    expect(receipt.status).toBe('success');
    const [filled] = parseEventLogs({
      abi: limitEscrowAbi,
      eventName: 'OrderFilled',
      logs: receipt.logs,
    });
    expect(filled?.args.executor).toBe(keeper);
    expect(await balanceOf(fork, fork.deployment.usdg, keeper)).toBe(filled?.args.executorFee);
    expect(Number(filled?.args.executorFee) / Number(job?.feeUsdg)).toBeCloseTo(1, 3);
    expect(await balanceOf(fork, fork.vault(CHIP), alice())).toBe(filled?.args.shares);
  });

  test('skips with reasons: expired, no reference', async () => {
    await sendPlan(fork, 'alice', planOf(await limit({ expiryDays: 1 })));
    await ordersOf(1);
    await fork.pushPrice('NVDA', 0.8);
    await fork.warp(250);
    const blind = await api.until('/v1/jobs', ({ body }) =>
      /average NAV/.test(JSON.stringify(body.skipped)),
    );
    expect(blind.body.jobs).toEqual([]);
    await fork.warp(86_400);
    const expired = await api.until('/v1/jobs', ({ body }) =>
      /expired/.test(JSON.stringify(body.skipped)),
    );
    expect(expired.body.jobs).toEqual([]);
    expect(expired.body.asOf).toBe(new Date((await fork.now()) * 1_000).toISOString());
  });

  test('shows the tolerance of an armed order as it widens', async () => {
    await sendPlan(fork, 'alice', planOf(await limit({})));
    const [job] = (await jobsOf(1)).jobs;
    const receipt = await sendCall(fork, 'keeper', job?.contract ?? '0x', job?.armData ?? '0x');
    expect(receipt.status).toBe('success');
    await fork.warp(900);
    await api.until('/v1/jobs', ({ body }) => {
      const [armed] = (body.jobs as unknown as JobRow[] | undefined) ?? [];
      return armed !== undefined && armed.slippageBps >= 299 && armed.slippageBps <= 301;
    });
  });

  test('refuses an executor that is no address', async () => {
    expectError(await api.get('/v1/jobs?executor=me'), 400, 'BAD_REQUEST', /executor/);
    expect((await api.get(`/v1/jobs?executor=${zeroAddress}`)).status).toBe(200);
  });
});
