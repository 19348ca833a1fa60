/** Redeem, schedule, and what every build shares: fees, blocks, ends, dry runs, exact numbers, every refusal. */
import { type Hex, parseEventLogs } from 'viem';
import { describe, expect, test } from 'vitest';
import {
  basketVaultAbi,
  exitEscrowAbi,
  scheduleEscrowAbi,
} from '../../contracts-abi/generated/index.ts';
import { useFork } from '../harness/fork.ts';
import { balanceOf, planOf, sendApproval, sendPlan } from './send-plan.ts';
import { expectError, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork, { per: 'file' });

const alice = () => fork.accounts.alice.account.address;
const usdg = () => balanceOf(fork, fork.deployment.usdg, alice());
const build = (route: string) => (body: object) =>
  api.post(`/v1/tx/${route}`, { ticker: 'CORE', address: alice(), ...body });
const buy = build('buy');
const sell = build('sell');
const exit = build('exit');
const limit = build('limit');
const redeem = build('redeem');
const schedule = build('schedule');
const cancel = (body: object) => api.post('/v1/tx/cancel', body);
const held = (ticker = 'CORE') => balanceOf(fork, fork.vault(ticker), alice());

async function hold(ticker = 'CORE', amountUsdg = 100): Promise<bigint> {
  await sendPlan(fork, 'alice', planOf(await buy({ ticker, amountUsdg })));
  return await held(ticker);
}

describe('POST /v1/tx/redeem', () => {
  test('takes the constituents, free of charge and without an approval', async () => {
    const shares = await hold();
    const plan = planOf(await redeem({ shares: shares.toString(), mode: 'inkind' }));
    expect(plan).toMatchObject({
      approval: null,
      tx: { to: fork.vault('CORE'), value: '0' },
      simulation: { ok: true },
      warnings: [],
      mode: 'inkind',
      expiresAt: null,
      fees: { mintUsdg: '0', sellUsdg: '0', executorUsdg: '0' },
    });
    expect(plan.receives.map(({ symbol }) => symbol)).toEqual(['SPY', 'QQQ']);
    const before = await Promise.all(
      plan.receives.map(({ token }) => balanceOf(fork, token, alice())),
    );
    const receipt = await sendPlan(fork, 'alice', plan);
    expect(receipt.gasUsed).toBeLessThanOrEqual(BigInt(plan.simulation.gas ?? 0));
    const [redeemed] = parseEventLogs({
      abi: basketVaultAbi,
      eventName: 'Redeemed',
      logs: receipt.logs,
    });
    for (const [index, { token, amountWei }] of plan.receives.entries()) {
      const arrived = (await balanceOf(fork, token, alice())) - (before[index] ?? 0n);
      expect(arrived).toBe(redeemed?.args.amounts[index]);
      // The fee of the seconds in between.
      expect(arrived).toBeLessThanOrEqual(BigInt(amountWei));
      expect(Number(arrived) / Number(amountWei)).toBeCloseTo(1, 6);
    }
    expect(await held()).toBe(0n);
  });

  test('also where nothing can be sold, and refuses what it must', async () => {
    const treasury = fork.accounts.deployer.account.address;
    const dead = { ticker: 'PREIPO', address: treasury, shares: '1000000000000000000' };
    const plan = planOf(await redeem(dead));
    expect(plan.simulation).toMatchObject({ ok: true });
    expect(planOf(await redeem({ ...dead, simulate: false })).simulation).toEqual({
      ok: null,
      skipped: 'simulate is false',
    });
    expectError(await redeem({ ...dead, mode: 'usdg' }), 400, 'BAD_REQUEST', /mode: .*inkind/);
    expectError(await redeem({ shares: 'max' }), 400, 'BAD_REQUEST', /shares/);
    expectError(await redeem({ shares: 1e18 }), 400, 'BAD_REQUEST', /decimal string/);
    expectError(await redeem({}), 400, 'BAD_REQUEST', /shares/);
    expectError(await redeem({ shares: '0' }), 400, 'BAD_REQUEST', /shares/);
    expectError(await redeem({ shares: '1' }), 400, 'INSUFFICIENT_SHARES', /holds no shares/);
    expectError(await redeem({ ...dead, ticker: 'NONE' }), 400, 'UNKNOWN_BASKET');
  });
});

describe('POST /v1/tx/schedule', () => {
  const terms = { amountUsdg: 20.5, buys: 4, everyHours: 0.5 };

  test('escrows all buys at once, in slots as asked, and cancel takes them back', async () => {
    const before = await usdg();
    const first = planOf(await schedule({ ...terms, slippageBps: 80, kind: 'twap' }));
    expect(first).toMatchObject({
      kind: 'twap',
      totalUsdg: '82000000',
      everySeconds: 1_800,
      expiresAt: null,
      warnings: [],
      simulation: { ok: null, afterApproval: { ok: true } },
    });
    expect(first.deadline).toBe((await fork.now()) + 4 * 1_800);
    await sendApproval(fork, 'alice', first);
    const plan = planOf(await schedule({ ...terms, slippageBps: 80, kind: 'twap' }));
    expect(plan).toMatchObject({ approval: null, simulation: { ok: true } });
    const { logs } = await sendPlan(fork, 'alice', plan);
    const [created] = parseEventLogs({
      abi: scheduleEscrowAbi,
      eventName: 'ScheduleCreated',
      logs,
    });
    expect(created?.args.terms).toMatchObject({
      kind: 1,
      vault: fork.vault('CORE'),
      total: 82_000_000n,
      slots: 4,
      interval: 1_800,
      startAt: await fork.now(),
      slippageBps: 80,
      capBps: 500,
    });
    expect(before - (await usdg())).toBe(82_000_000n);

    const orderId = created?.args.id ?? '0x';
    const escrow = fork.deployment.scheduleEscrow;
    const back = planOf(await cancel({ orderId, escrow, address: alice() }));
    expect(back).toMatchObject({ approval: null, tx: { to: escrow }, simulation: { ok: true } });
    // Found in its escrow by the id alone, and in no other.
    expect(planOf(await cancel({ orderId, address: alice() })).tx).toEqual(back.tx);
    const elsewhere = fork.deployment.limitEscrow;
    expectError(await cancel({ orderId, escrow: elsewhere }), 404, 'NOT_FOUND', /knows no such/);
    await sendPlan(fork, 'alice', back);
    expect(await usdg()).toBe(before);
    for (const body of [{ orderId }, { orderId, escrow }]) {
      expectError(await cancel(body), 409, 'ORDER_NOT_OPEN', /cancelled already/);
    }
  });

  test('splits its fees over all buys, each at least the executor’s least', async () => {
    const plan = planOf(await schedule({ amountUsdg: 100, buys: 3, everyHours: 24 }));
    // Of each 100: 0.25 to whoever fills; the mint fee is 0.20% of what is left for swaps.
    expect(plan.fees.executorUsdg).toBe('750000');
    const gross = (100_000_000n - 250_000n) * 10_000n;
    expect(Number(plan.fees.mintUsdg)).toBeCloseTo((3 * Number(gross)) / 10_020 / 500, -1);
    expect(plan.fees.sellUsdg).toBe('0');
  });

  test('names the shortfall of the whole, and refuses what the escrow would', async () => {
    const plan = planOf(await schedule({ amountUsdg: 50_000.5, buys: 2, everyHours: 1 }));
    expect(plan.warnings).toEqual(['you have 100000 USDG, this needs 100001: 1 short']);
    expect(plan.simulation).toMatchObject({
      ok: null,
      afterApproval: {
        ok: false,
        reason: expect.stringMatching(/ERC20InsufficientBalance|balance/),
      },
    });
    const refused = [
      [{ amountUsdg: 4.999_999 }, /each buy needs at least 5/],
      [{ buys: 0 }, /buys/],
      [{ buys: 1.5 }, /buys/],
      [{ buys: 52_561 }, /buys/],
      [{ everyHours: 0 }, /everyHours/],
      [{ everyHours: 0.16 }, /ten minutes/],
      [{ everyHours: '1' }, /everyHours/],
      [{ buys: 8_761, everyHours: 1 }, /365 days/],
      [{ slippageBps: 0 }, /1 to 500/],
      [{ slippageBps: 501 }, /1 to 500/],
      [{ kind: 'dca' }, /kind/],
    ] as const;
    for (const [body, message] of refused) {
      expectError(await schedule({ ...terms, ...body }), 400, 'BAD_REQUEST', message);
    }
    planOf(await schedule({ ...terms, buys: 8_760, everyHours: 1 }));
    planOf(await schedule({ ...terms, everyHours: 1 / 6 + 1e-9 }));
    expectError(await schedule({ ...terms, ticker: 'FRESH' }), 422, 'NO_REFERENCE');
    expectError(await schedule({ ...terms, ticker: 'NONE' }), 400, 'UNKNOWN_BASKET');
  });
});

describe('every build', () => {
  test('tells its block, its end and its fees', async () => {
    const shares = (await hold('CORE', 1_000)).toString();
    const number = Number(await fork.client.getBlockNumber());
    const now = await fork.now();
    const bought = planOf(await buy({ amountUsdg: 1_000 }));
    const sold = planOf(await sell({ shares }));
    const stopped = planOf(await exit({ shares, stopNav: 90, tpNav: 110.25, expiryDays: 2 }));
    const rested = planOf(await limit({ amountUsdg: 500, triggerNav: 90, expiryDays: 3 }));
    for (const plan of [bought, sold, stopped, rested, planOf(await redeem({ shares }))]) {
      expect(plan.asOfBlock).toBe(number);
    }
    expect(bought.expiresAt).toBe(now + 1_200);
    expect(sold.expiresAt).toBe(now + 1_200);
    // An order that would live less than an hour is not accepted.
    expect(stopped.expiresAt).toBe(now + 2 * 86_400 - 3_600);
    expect(rested.expiresAt).toBe(now + 3 * 86_400 - 3_600);

    const none = { mintUsdg: '0', sellUsdg: '0', executorUsdg: '0' };
    const mint = Number(bought.fees.mintUsdg);
    expect(bought.fees).toEqual({ ...none, mintUsdg: String(mint) });
    expect(mint / (1_000_000_000 - mint)).toBeCloseTo(0.002, 5);
    const sellFee = BigInt(sold.fees.sellUsdg);
    const gross = BigInt(sold.expectedUsdg) + sellFee;
    expect(sellFee).toBe((gross * 20n + 9_999n) / 10_000n);
    const value = (BigInt(shares) * 110_250_000n) / 10n ** 18n;
    expect(stopped.fees).toEqual({
      ...none,
      sellUsdg: ((value * 20n + 9_999n) / 10_000n).toString(),
      executorUsdg: ((value * 15n) / 10_000n).toString(),
    });
    const all = Number(rested.fees.mintUsdg) + Number(rested.fees.executorUsdg);
    expect(all).toBeGreaterThan(500_000_000 * 0.0034);
    expect(all).toBeLessThan(500_000_000 * 0.0035);
  });

  test('shows what would happen after its approval, with gas that suffices', async () => {
    const first = planOf(await buy({ ticker: 'TEN', amountUsdg: 5_000 }));
    expect(first.simulation.afterApproval).toMatchObject({ ok: true });
    const receipt = await sendPlan(fork, 'alice', first);
    expect(receipt.gasUsed).toBeLessThanOrEqual(BigInt(first.simulation.afterApproval?.gas ?? 0));
    const shares = (await held('TEN')).toString();
    const resting = planOf(await exit({ ticker: 'TEN', shares, stopNav: 1 }));
    expect(resting.simulation.afterApproval).toMatchObject({ ok: true });
    expect(planOf(await sell({ ticker: 'TEN', shares })).simulation.afterApproval?.ok).toBe(true);
    const skipped = planOf(await sell({ ticker: 'TEN', shares, simulate: false }));
    expect(skipped.simulation).toEqual({ ok: null, skipped: 'simulate is false' });
  });

  test('asks to approve exactly what it takes, and nothing once the allowance suffices', async () => {
    const shares = await hold('CORE', 300);
    const amountOf = (data: Hex) => BigInt(`0x${data.slice(-64)}`);
    const spenderOf = (data: Hex) => `0x${data.slice(34, 74)}`;
    const cases = [
      [await buy({ amountUsdg: 7.77 }), 7_770_000n, fork.deployment.zapper],
      [
        await sell({ shares: '12345' + '0'.repeat(13) }),
        12_345n * 10n ** 13n,
        fork.deployment.zapper,
      ],
      [await exit({ shares: shares.toString(), stopNav: 1 }), shares, fork.deployment.exitEscrow],
      [await limit({ amountUsdg: 8 }), 8_000_000n, fork.deployment.limitEscrow],
    ] as const;
    for (const [answer, amount, spender] of cases) {
      const { approval } = planOf(answer);
      expect(amountOf(approval?.data ?? '0x0')).toBe(amount);
      expect(spenderOf(approval?.data ?? '0x0')).toBe(spender.toLowerCase());
    }
    await sendApproval(fork, 'alice', planOf(cases[0][0]));
    expect(planOf(await buy({ amountUsdg: 7.77 })).approval).toBeNull();
    expect(planOf(await buy({ amountUsdg: 7.77 - 2.5 })).approval).toBeNull();
    expect(planOf(await buy({ amountUsdg: 7.770_001 })).approval).not.toBeNull();
  });

  test('reads dollars as they were written, not as the nearest double', async () => {
    const raw = (route: string, members: string) =>
      api.post(`/v1/tx/${route}`, `{"ticker":"CORE","address":"${alice()}",${members}}`);
    const amount = async (literal: string) =>
      planOf(await raw('buy', `"amountUsdg":${literal},"simulate":false`)).amountInUsdg;
    expect(await amount('4.9999999999999999999')).toBe('4999999');
    expect(await amount('12345678.1234567')).toBe('12345678123456');
    expect(await amount(String(0.1 + 0.2))).toBe('300000');
    expect(await amount('2.5e1')).toBe('25000000');
    expectError(await raw('buy', '"amountUsdg":1e21'), 400, 'BAD_REQUEST', /at most/);
    expectError(await raw('buy', '"amountUsdg":1e400'), 400, 'BAD_REQUEST', /amountUsdg/);
    expectError(await raw('buy', '"amountUsdg":NaN'), 400, 'BAD_REQUEST', /JSON/);
    const plan = planOf(await raw('limit', '"amountUsdg":5,"triggerNav":90.12345678901234567890'));
    // 90.123456 dollars x 1e18, floored to six decimals.
    const nav = (90_123_456n * 10n ** 12n).toString(16);
    expect(plan.tx.data).toContain(nav);
  });

  test('of an exit below the least order, at its value now: refused', async () => {
    const shares = await hold('CORE', 6);
    expectError(
      await exit({ shares: ((shares * 3n) / 4n).toString(), stopNav: 1 }),
      400,
      'BAD_REQUEST',
      /5 dollars/,
    );
    planOf(await exit({ shares: shares.toString(), stopNav: 1 }));
  });

  test('refuses every missing or malformed field with a sentence that names it', async () => {
    const ok = {
      buy: { amountUsdg: 10 },
      sell: { shares: '1' },
      exit: { shares: '1', stopNav: 1 },
      limit: { amountUsdg: 10 },
      redeem: { shares: '1' },
      schedule: { amountUsdg: 10, buys: 1, everyHours: 1 },
    } as const;
    const wrong: Record<string, unknown[]> = {
      ticker: [undefined, 7, '', 'x'.repeat(33)],
      address: [undefined, '0x12', `0x${'ab'.repeat(32)}`, 5, null],
      amountUsdg: [undefined, '10', 0, -1, 1_000_000_001, null],
      shares: [undefined, 1, '1.5', '-1', '0x10', '', ' 1', `1${'0'.repeat(78)}`],
      stopNav: ['1', 0, -2],
      slippageBps: [-1, 1_001, 1.5, '50'],
      expiryDays: [0, 91, 1.5, '7'],
      simulate: ['false', 0, null],
    };
    const fieldsOf: Record<keyof typeof ok, string[]> = {
      buy: ['ticker', 'address', 'amountUsdg', 'slippageBps', 'simulate'],
      sell: ['ticker', 'address', 'shares', 'slippageBps', 'simulate'],
      exit: ['ticker', 'address', 'shares', 'stopNav', 'expiryDays', 'simulate'],
      limit: ['ticker', 'address', 'amountUsdg', 'expiryDays', 'simulate'],
      redeem: ['ticker', 'address', 'shares', 'simulate'],
      schedule: ['ticker', 'address', 'amountUsdg', 'simulate'],
    };
    for (const [route, body] of Object.entries(ok)) {
      for (const field of fieldsOf[route as keyof typeof ok]) {
        const values = wrong[field] ?? [];
        const answers = await Promise.all(
          values.map((value) => build(route)({ ...body, [field]: value })),
        );
        for (const [index, answer] of answers.entries()) {
          const value = values[index];
          expect({ route, field, value, code: answer.body.code }).toMatchObject({
            code: 'BAD_REQUEST',
          });
          expect(answer.body.error).toMatch(new RegExp(field));
          expect(answer.text).not.toContain('abab');
        }
      }
      expectError(await build(route)({ ...body, ticker: 'NONE' }), 400, 'UNKNOWN_BASKET');
      expectError(await api.post(`/v1/tx/${route}`, '[]'), 400, 'BAD_REQUEST', /JSON object/);
    }
  });

  test('ignores keys that it does not know, on wallet routes', async () => {
    planOf(await buy({ amountUsdg: 10, foo: { bar: 1 } }));
    planOf(await limit({ amountUsdg: 10, foo: 1, stopNav: 'x' }));
  });

  test('decodes why it would revert, by the error of the contract', async () => {
    const shares = await hold('CORE', 50);
    const plan = planOf(await exit({ shares: shares.toString(), stopNav: 1 }));
    const { logs } = await sendPlan(fork, 'alice', plan);
    const [created] = parseEventLogs({ abi: exitEscrowAbi, eventName: 'ExitCreated', logs });
    const bob = fork.accounts.bob.account.address;
    const stranger = planOf(await cancel({ orderId: created?.args.id, address: bob }));
    expect(stranger.simulation).toEqual({ ok: false, reason: `NotOwner(${created?.args.id})` });
    expect(stranger.warnings).toEqual([expect.stringMatching(/only the owner/)]);
    const unsimulated = planOf(await cancel({ orderId: created?.args.id }));
    expect(unsimulated.simulation).toEqual({ ok: null, skipped: expect.stringMatching(/address/) });
    expect(unsimulated).toMatchObject({ expiresAt: null, asOfBlock: expect.any(Number) });
  });
});
