/** Plans that cannot stand are refused by the dry run and before the first step: nothing of them is paid for. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Hex } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nonceOf, runUnbroken, type Site, type UnbrokenRun } from './deploy-process.ts';

type Part = {
  token: Hex;
  genesisUnits: string;
  pool: Hex;
  minLiquidity: string;
  statedPrice: string;
};
type Basket = {
  ticker: string;
  name: string;
  managementFeeBps: number;
  seedShares: string;
  targetWeights: Record<string, number>;
  constituents: [Part, Part, ...Part[]];
};
type Plan = {
  externals: { usdg: Hex };
  wethUsdgPool: Hex;
  wethMinLiquidity: string;
  growth: { pool: Hex; from: number; to: number }[];
  baskets: [Basket, Basket];
};

let run: UnbrokenRun;
let here: Site;

beforeAll(async () => {
  run = await runUnbroken();
  here = await run.another();
}, 300_000);

afterAll(() => run?.stop());

/** What the command says to the plan, changed: the same to both of its forms. Fails when anything was sent. */
async function refusalOf(change: (plan: Plan, last: Basket) => void): Promise<string> {
  const plan = JSON.parse(readFileSync(run.planFile, 'utf8')) as Plan;
  change(plan, plan.baskets[1]);
  const planFile = `${here.deploymentFile}.changed`;
  writeFileSync(planFile, JSON.stringify(plan));
  const dry = await here.call({ DEPLOY_PLAN_FILE: planFile }, '--dry-run');
  const real = await here.call({ DEPLOY_PLAN_FILE: planFile });
  expect({ dry: dry.code, real: real.code }).toEqual({ dry: 1, real: 1 });
  expect(real.err).toBe(dry.err);
  expect(existsSync(`${here.deploymentFile}.journal`)).toBe(false);
  expect(await nonceOf(here)).toBe(0);
  return real.err;
}

const weightsOf = ({ targetWeights }: Basket): [string, string] =>
  Object.keys(targetWeights) as [string, string];

test.each<[string, RegExp, (plan: Plan, last: Basket) => void]>([
  [
    'two baskets of one ticker',
    /ADS: two baskets of one ticker/,
    ({ baskets }, last) => (last.ticker = baskets[0].ticker),
  ],
  ['a high fee', /CORE: managementFeeBps: 50 to 95/, (_, last) => (last.managementFeeBps = 96)],
  ['a low fee', /managementFeeBps/, (_, last) => (last.managementFeeBps = 49)],
  ['less than a share', /seedShares/, (_, last) => (last.seedShares = `${10n ** 18n - 1n}`)],
  [
    'a token twice',
    /a token stands twice/,
    (_, last) => last.constituents.push(last.constituents[0]),
  ],
  ['no units', /genesisUnits of 0x/, (_, last) => (last.constituents[1].genesisUnits = '0')],
  [
    'too many',
    /genesisUnits of/,
    (_, last) => (last.constituents[0].genesisUnits = `${2n ** 128n}`),
  ],
  ['no floor', /minLiquidity of 0x/, (_, last) => (last.constituents[0].minLiquidity = '0')],
  ['no price', /statedPrice of 0x/, (_, last) => (last.constituents[0].statedPrice = '0')],
  ['no floor of WETH', /wethMinLiquidity/, (plan) => (plan.wethMinLiquidity = '0')],
  ['a long name', /name: 1 to 31 bytes/, (_, last) => (last.name = 'é'.repeat(16))],
  ['no name', /name: 1 to 31 bytes/, (_, last) => (last.name = ' ')],
  ['an odd ticker', /ticker: 1 to 31 capital/, (_, last) => (last.ticker = 'é /\n x')],
  [
    'its own quote',
    /what the pool would quote/,
    ({ externals }, { constituents: [part] }) => (part.token = externals.usdg),
  ],
  [
    'half of the weights',
    /targetWeights: .* 1 in all/,
    (_, last) => {
      for (const symbol of weightsOf(last)) last.targetWeights[symbol] = 0.25;
    },
  ],
  [
    'a negative weight',
    /targetWeights: each from 0 to 1/,
    (_, last) => {
      const [first, second] = weightsOf(last);
      Object.assign(last.targetWeights, { [first]: -0.5, [second]: 1.5 });
    },
  ],
  [
    'a lacking weight',
    /one of each/,
    (_, last) => (last.targetWeights = { [weightsOf(last)[0]]: 1 }),
  ],
  [
    'slots of no pool',
    /growth: 0x/,
    ({ growth, externals: { usdg } }) => growth.push({ pool: usdg, from: 1, to: 9 }),
  ],
  [
    'no more slots',
    /growth: from 9 to 9/,
    (plan) => (plan.growth = [{ pool: plan.wethUsdgPool, from: 9, to: 9 }]),
  ],
])('%s', async (_, words, change) => {
  const refused = await refusalOf(change);
  expect(refused).toMatch(/^deploy: the plan cannot stand, and nothing was sent:\n {2}/);
  expect(refused).toMatch(words);
});

test('pools that are not the factory’s for the pair, and weights of other tokens', async () => {
  const copy: Hex = `0x${'77'.repeat(20)}`;
  await here.client.setCode({
    address: copy,
    bytecode: (await here.client.getCode({ address: run.deployment.wethUsdgPool })) as Hex,
  });
  const differ = /^deploy: the (pools|tokens) of the plan on chain differ:\n {2}/;
  for (const [words, change] of [
    [/ in CORE: "a pool of another token/, (_, { constituents: [a, b] }) => (a.pool = b.pool)],
    [/pool 0x7{40} of WETH: "a pool of another self"/, (plan) => (plan.wethUsdgPool = copy)],
    [
      /of WETH: "a pool of another token/,
      (plan, last) => (plan.wethUsdgPool = last.constituents[0].pool),
    ],
    [/of WETH: "not the code that Uniswap/, (plan) => (plan.wethUsdgPool = plan.externals.usdg)],
    [
      /targetWeights of CORE: \["QQQ","SPY"\], expected \["X","Y"\]/,
      (_, last) => (last.targetWeights = { X: 0.5, Y: 0.5 }),
    ],
  ] as [RegExp, (plan: Plan, last: Basket) => void][]) {
    const refused = await refusalOf(change);
    expect(refused).toMatch(differ);
    expect(refused).toMatch(words);
  }
  // And as it was, it stands.
  expect(await here.call({ DEPLOY_PLAN_FILE: run.planFile }, '--dry-run')).toMatchObject({
    code: 0,
  });
});
