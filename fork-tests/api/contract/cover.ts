/** The cover routes of the walk: with something in every list, and with every refusal that they have. */
import type { Hex } from 'viem';
import { type CoverPlanBody, execute, hold } from '../cover-agent.ts';
import { bodyOf, type Scene } from './scene.ts';

/** What the agent's account holds; alice has cover of another basket. */
const TICKER = 'CORE';
const RANGE = { fromBps: 300, toBps: 1_000 };
const BOOK = `/v1/cover/book/${TICKER}`;

const plan = { action: 'request', ticker: TICKER, ...RANGE, coverUsd: 100, pricePer1k: 12.5 };
const taking = { action: 'take', ticker: TICKER, ...RANGE, coverUsd: 520 };

export const coverRequest = ({ agent }: Scene, change: object = {}) => ({
  ...agent,
  ...plan,
  ...change,
});

const askCover = (scene: Scene, body: object) =>
  scene.ask.post('/v1/agent/cover', { ...scene.agent, ...body });

/** Every read, a position, listings of both sides, and each action of an agent, one of them executed. */
export async function lookAtCover(scene: Scene): Promise<void> {
  const { fork, ask, signer } = scene;
  const address = (role: 'alice' | 'frank'): Hex => fork.accounts[role].account.address;
  await hold(fork, signer.account, TICKER, 60n);
  await ask.get('/v1/cover/weeks');
  await ask.get(`${BOOK}?account=${address('frank')}&coverUsd=700`);
  await ask.get(`/v1/cover/positions/${address('frank')}`);
  await ask.until(
    `/v1/cover/positions/${address('alice')}`,
    ({ positions }) => (positions as unknown as unknown[]).length === 1,
  );
  await askCover(scene, taking);
  const answer = await askCover(scene, plan);
  await execute(fork, signer, bodyOf(answer) as CoverPlanBody);
  const own = await ask.until(
    `/v1/cover/positions/${signer.account}`,
    ({ listings }) => (listings as unknown as unknown[]).length === 1,
  );
  const { listings } = bodyOf(own) as { listings: { id: string }[] };
  await askCover(scene, { action: 'cancel', listingId: listings[0]?.id });
}

/** The key may lock $200 of cover a day, and the account has about half of that. */
export async function refuseCover(scene: Scene): Promise<void> {
  const { fork, ask } = scene;
  await ask.get(`${BOOK}?week=1`);
  for (const change of [
    { ticker: 'NONE' },
    { key: fork.accounts.carol.account.address },
    { ticker: 'ADS' },
    { week: 1 },
    { coverUsd: 10_000, pricePer1k: 30 },
    { coverUsd: 6_000, pricePer1k: 30 },
  ]) {
    await askCover(scene, { ...plan, ...change });
  }
  await askCover(scene, { ...taking, maxPricePer1k: 1 });
  await askCover(scene, { action: 'cancel', listingId: '0' });
}

/** While the protocol is paused. */
export async function refusePausedCover(scene: Scene): Promise<void> {
  await scene.ask.until(BOOK, ({ note }) => note !== undefined);
  await askCover(scene, plan);
}
