/** Buys and sales: what is built is executed for real, and does what its plan said. */
import { erc20Abi } from 'viem';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tradeGasWei } from '../../api/wallet/read-wallet.ts';
import { useFork } from '../harness/fork.ts';
import { mined, pauseProtocol } from '../harness/mined.ts';
import { balanceOf, planOf, sendApproval, sendPlan } from './send-plan.ts';
import { expectError, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork, { per: 'file' });

const alice = () => fork.accounts.alice.account.address;
const usdg = () => balanceOf(fork, fork.deployment.usdg, alice());
const buy = (body: object = {}) =>
  api.post('/v1/tx/buy', { ticker: 'MAG7', amountUsdg: 1_000, address: alice(), ...body });
const sell = (body: object = {}) =>
  api.post('/v1/tx/sell', { ticker: 'MAG7', shares: 'max', address: alice(), ...body });

describe('POST /v1/tx/buy', () => {
  test('asks for an exact approval first and says why nothing was simulated', async () => {
    const plan = planOf(await buy());
    expect(plan.approval?.to).toBe(fork.deployment.usdg);
    expect(plan.tx).toMatchObject({ to: fork.deployment.zapper, value: '0' });
    expect(plan.simulation).toEqual({
      ok: null,
      skipped: expect.stringContaining('approval'),
      afterApproval: { ok: true, gas: expect.stringMatching(/^\d+$/) },
    });
    expect(plan).toMatchObject({ amountInUsdg: '1000000000', legs: 7, warnings: [] });
  });

  test.for([
    ['MAG7', 1_000],
    ['CRYP', 250.5],
    ['CORE', 5],
    ['TEN', 20_000],
    ['FRESH', 100],
  ] as const)('of %s for $%d mints what it promised', async ([ticker, amountUsdg]) => {
    const first = planOf(await buy({ ticker, amountUsdg }));
    await sendApproval(fork, 'alice', first);
    const plan = planOf(await buy({ ticker, amountUsdg }));
    expect(plan.approval).toBeNull();
    expect(plan.simulation).toMatchObject({ ok: true, gas: expect.stringMatching(/^\d+$/) });
    const before = await usdg();
    const { gasUsed } = await sendPlan(fork, 'alice', plan);
    // What /v1/wallet asks for covers the trade, before its headroom for the price.
    expect(gasUsed * 2n).toBeLessThan(tradeGasWei(1n, plan.legs));
    expect(gasUsed).toBeLessThanOrEqual(BigInt(plan.simulation.gas ?? 0));
    const minted = await balanceOf(fork, fork.vault(ticker), alice());
    const spent = before - (await usdg());
    expect(minted).toBeGreaterThanOrEqual(BigInt(plan.minShares));
    // The estimate (8 digits of it) is a lower bound, and a tight one: what lies between goes to rounding and to
    // interpolation.
    expect(Number(minted) / 1e18).toBeGreaterThanOrEqual(plan.estShares * (1 - 5e-8));
    expect(Number(minted) / 1e18).toBeLessThan(plan.estShares * 1.002);
    expect(spent).toBeLessThanOrEqual(BigInt(plan.amountInUsdg));
    expect(Number(spent)).toBeGreaterThan(Number(plan.amountInUsdg) * 0.9999);
    expect(await balanceOf(fork, fork.deployment.usdg, fork.deployment.zapper)).toBe(0n);
  });

  // Constituents with 8 decimals, whose units are coarse; legs that share a pool; both.
  test.for([
    ['CRYP', 5],
    ['CRYP', 20_000],
    ['FRESH', 5_000],
    ['HARD', 7.77],
    ['RETAIL', 3_000],
  ] as const)(
    'of %s for $%d needs no slippage at all in the state that was quoted',
    async ([ticker, amountUsdg]) => {
      // The management fee of a second is a base unit of a large sale: no time passes between plan and block.
      await fork.client.setBlockTimestampInterval({ interval: 0 });
      onTestFinished(() => fork.client.removeBlockTimestampInterval());
      await sendApproval(fork, 'alice', planOf(await buy({ ticker, amountUsdg })));
      const plan = planOf(await buy({ ticker, amountUsdg, slippageBps: 0 }));
      expect(plan.simulation).toMatchObject({ ok: true });
      await sendPlan(fork, 'alice', plan);
      const minted = await balanceOf(fork, fork.vault(ticker), alice());
      expect(minted).toBeGreaterThanOrEqual(BigInt(plan.minShares));
      // Two units of a coarse constituent at most.
      expect(Number(minted)).toBeLessThan(Number(plan.minShares) * 1.003);
      const sale = { ticker, shares: 'max', address: alice(), slippageBps: 0 };
      await sendApproval(fork, 'alice', planOf(await sell(sale)));
      const back = planOf(await sell(sale));
      expect(back.simulation).toMatchObject({ ok: true });
      await sendPlan(fork, 'alice', back);
      expect(await balanceOf(fork, fork.vault(ticker), alice())).toBe(0n);
    },
  );

  test('keeps the slippage asked between estimate and least shares', async () => {
    const wide = planOf(await buy({ slippageBps: 1_000 }));
    const none = planOf(await buy({ slippageBps: 0 }));
    expect(Number(wide.minShares) / Number(none.minShares)).toBeCloseTo(0.9, 3);
  });

  test('names the shortfall in a warning on a 200', async () => {
    const plan = planOf(await buy({ amountUsdg: 100_000.25 }));
    expect(plan.warnings).toEqual(['you have 100000 USDG, this needs 100000.25: 0.25 short']);
  });

  test('says that a price is far from NAV: the tolerance does not, being of the quote', async () => {
    const warningOf = async (amountUsdg: number): Promise<string[]> => {
      const { warnings } = planOf(await buy({ amountUsdg, simulate: false }));
      return warnings.filter((text) => text.includes('NAV'));
    };
    expect(await warningOf(1_000)).toEqual([]);
    const [said = ''] = await warningOf(50_000_000);
    const percent = Number(/^this costs ([\d.]+)% more than the shares are worth/.exec(said)?.[1]);
    const { estShares } = planOf(await buy({ amountUsdg: 50_000_000, simulate: false }));
    const answer = await api.get('/v1/markets?fields=ticker,nav&prices=0');
    const { markets } = answer.body as unknown as { markets: { ticker: string; nav: number }[] };
    const nav = markets.find(({ ticker }) => ticker === 'MAG7')?.nav ?? 0;
    expect(percent).toBeCloseTo((50_000_000 / (estShares * nav) - 1) * 100, 1);
    expect(percent).toBeGreaterThan(3);
  });

  test('simulates as the sender and decodes why it would revert', async () => {
    const dave = fork.accounts.dave.account.address;
    const first = planOf(await buy({ address: dave, amountUsdg: 90_000 }));
    await sendApproval(fork, 'dave', first);
    const all = await balanceOf(fork, fork.deployment.usdg, dave);
    await mined(
      fork,
      fork.userClient('dave').writeContract({
        address: fork.deployment.usdg,
        abi: erc20Abi,
        functionName: 'transfer',
        args: [alice(), all - 50_000_000_000n],
      }),
    );
    const plan = planOf(await buy({ address: dave, amountUsdg: 90_000 }));
    expect(plan.approval).toBeNull();
    expect(plan.simulation.ok).toBe(false);
    expect(plan.simulation.reason).toMatch(/ERC20InsufficientBalance|balance/i);
    expect(plan.warnings[0]).toMatch(/this needs 90000: 40000 short/);
  });

  test('skips the dry run when asked to', async () => {
    const plan = planOf(await buy({ simulate: false }));
    expect(plan.simulation).toEqual({ ok: null, skipped: 'simulate is false' });
  });

  test('refuses a basket with a constituent that has no route', async () => {
    expectError(await buy({ ticker: 'PREIPO' }), 422, 'NO_ROUTE', /SPCX/);
  });

  test('floors dollars to six decimals and reads them as the text that was written', async () => {
    expect(planOf(await buy({ amountUsdg: 4.35 })).amountInUsdg).toBe('4350000');
    expect(planOf(await buy({ amountUsdg: 0.1 + 0.2 })).amountInUsdg).toBe('300000');
    expect(planOf(await buy({ amountUsdg: 7.0000019 })).amountInUsdg).toBe('7000001');
    expectError(await buy({ amountUsdg: '1000' }), 400, 'BAD_REQUEST');
    expectError(await buy({ amountUsdg: 0 }), 400, 'BAD_REQUEST');
    expectError(await buy({ amountUsdg: 1e-7 }), 400, 'BAD_REQUEST');
    expectError(await buy({ amountUsdg: 2e9 }), 400, 'BAD_REQUEST');
  });

  test('answers 503 while buying is paused; selling goes on', async () => {
    await sendPlan(fork, 'alice', planOf(await buy()));
    await pauseProtocol(fork);
    expectError(await buy(), 503, 'PAUSED');
    await sendPlan(fork, 'alice', planOf(await sell()));
    expect(await balanceOf(fork, fork.vault('MAG7'), alice())).toBe(0n);
  });

  test('orders are built while the protocol is paused, with a warning that nothing fills', async () => {
    await sendPlan(fork, 'alice', planOf(await buy()));
    const orders = async () => {
      const body = { ticker: 'MAG7', address: alice(), amountUsdg: 20, simulate: false };
      const shares = (await balanceOf(fork, fork.vault('MAG7'), alice())).toString();
      const answers = await Promise.all([
        api.post('/v1/tx/limit', { ...body, triggerNav: 1 }),
        api.post('/v1/tx/exit', { ...body, shares, stopNav: 1 }),
        api.post('/v1/tx/schedule', { ...body, buys: 2, everyHours: 1 }),
      ]);
      return answers.map((answer) => planOf(answer).warnings);
    };
    expect(await orders()).toEqual([[], [], []]);
    await pauseProtocol(fork);
    await api.marksSettled();
    const warned = [expect.stringMatching(/paused.*nothing fills/)];
    expect(await orders()).toEqual([warned, warned, warned]);
  });
});

describe('POST /v1/tx/sell', () => {
  const held = () => balanceOf(fork, fork.vault('MAG7'), alice());

  test('of "max" sells exactly everything for what it expected', async () => {
    await sendPlan(fork, 'alice', planOf(await buy()));
    const shares = await held();
    await sendApproval(fork, 'alice', planOf(await sell()));
    const plan = planOf(await sell());
    expect(plan.sharesWei).toBe(shares.toString());
    expect(plan.simulation).toMatchObject({ ok: true });
    const before = await usdg();
    await sendPlan(fork, 'alice', plan);
    const received = (await usdg()) - before;
    expect(await held()).toBe(0n);
    expect(received).toBeGreaterThanOrEqual(BigInt(plan.minOutUsdg));
    expect(Number(received) / Number(plan.expectedUsdg)).toBeCloseTo(1, 5);
  });

  test('of sharesWei sent back unchanged sells everything; through a float it is refused', async () => {
    await sendPlan(fork, 'alice', planOf(await buy({ amountUsdg: 777.77 })));
    const wallet = await api.get(`/v1/wallet/${alice()}`);
    const [holding] = wallet.body.holdings as unknown as { ticker: string; sharesWei: string }[];
    const sharesWei = holding?.sharesWei ?? '';
    const before = await held();
    expect(sharesWei).toBe(before.toString());
    expectError(await sell({ shares: Number(sharesWei) }), 400, 'BAD_REQUEST', /decimal string/);
    expectError(await sell({ shares: '1e18' }), 400, 'BAD_REQUEST');
    await sendPlan(fork, 'alice', planOf(await sell({ shares: sharesWei })));
    expect(await held()).toBe(0n);
  });

  test('of a fraction floors to whole base units', async () => {
    await sendPlan(fork, 'alice', planOf(await buy()));
    const plan = planOf(await sell({ fraction: 1 / 3 }));
    const third = 333_333_333_333_333_300n;
    expect(plan.sharesWei).toBe((((await held()) * third) / 10n ** 18n).toString());
    expectError(await sell({ fraction: 0.5, shares: '1000000' }), 400, 'BAD_REQUEST', /max/);
    expectError(await sell({ fraction: 0 }), 400, 'BAD_REQUEST');
    expectError(await sell({ fraction: 1.01 }), 400, 'BAD_REQUEST');
    for (const fraction of [1e-19, 1e-18, 1e-17 / 3]) {
      expectError(await sell({ fraction }), 400, 'BAD_REQUEST', /^fraction: /);
    }
  });

  test('refuses more than there is, and nothing at all', async () => {
    expectError(await sell(), 400, 'INSUFFICIENT_SHARES');
    expectError(await sell({ shares: '1000000000000000000' }), 400, 'INSUFFICIENT_SHARES');
    expectError(await sell({ shares: '0' }), 400, 'BAD_REQUEST');
  });

  test('refuses a basket with a constituent that has no route', async () => {
    const treasury = fork.accounts.deployer.account.address;
    const shares = await balanceOf(fork, fork.vault('PREIPO'), treasury);
    expect(shares).toBeGreaterThan(0n);
    const answer = await sell({
      ticker: 'PREIPO',
      address: treasury,
      shares: '1000000000000000000',
    });
    expectError(answer, 422, 'NO_ROUTE', /SPCX/);
  });
});
