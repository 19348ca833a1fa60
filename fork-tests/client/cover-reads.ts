/** The cover routes in the life of the corpus: every form of each read, and each action of bob's agent. */
import { encodeFunctionData, erc20Abi, type Hex } from 'viem';
import { coverModuleAbi } from '../../contracts-abi/generated/index.ts';
import { coverActionFromJson } from '../../contracts-abi/typed-data.ts';
import { transact } from '../chain/client.ts';
import type { Recorded } from './corpus.ts';
import type { Life } from './scenario.ts';
import type { CoverPlan } from './strict/cover-plan.ts';

type Positions = { positions: { paid: boolean }[]; listings: { id: string }[] };

/** What alice bought and the underwriters sold, once so many of her positions are there and so many of them paid. */
export async function lookAtPositions(life: Life, bought: number, paid: number): Promise<void> {
  const { corpus } = life;
  await corpus.until(
    `/v1/cover/positions/${life.address('alice')}`,
    ({ positions }: Positions) =>
      positions.length === bought && positions.filter((each) => each.paid).length === paid,
  );
  for (const role of ['erin', 'frank', 'carol'] as const) {
    await corpus.get(`/v1/cover/positions/${life.address(role)}`);
  }
}

/** With and without a quote, of one's own offers, and of a range that nobody offers. */
export async function lookAtBook(life: Life): Promise<void> {
  const { corpus } = life;
  const { weeks } = (await corpus.get('/v1/cover/weeks')).body as { weeks: { id: number }[] };
  const frank = life.address('frank');
  for (const query of [
    '',
    '?coverUsd=520&fromBps=300',
    '?coverUsd=9000&toBps=1000&pretty=1',
    `?coverUsd=100&account=${frank}`,
    '?coverUsd=50&fromBps=1000&toBps=1100',
    `?week=${weeks[1]?.id}`,
  ]) {
    await corpus.get(`/v1/cover/book/MAG7${query}`);
  }
}

/** Bob's agent, which has a grant and money: its account gets shares to cover. */
export async function coverAsAgent(life: Life): Promise<void> {
  const { corpus } = life;
  const [owner, key] = [life.address('bob'), life.address('agent')];
  const account = await holdForAgent(life);
  const range = { ticker: 'MAG7', fromBps: 300, toBps: 1_000 };
  const cover = (body: object) => corpus.post('/v1/agent/cover', { owner, key, ...body });
  await cover({ action: 'take', ...range, coverUsd: 5_000, maxPricePer1k: 7, allowPartial: true });
  const take = await cover({ action: 'take', ...range, coverUsd: 520, feeUsdg: '150000' });
  await execute(life, take);
  const request = await cover({ action: 'request', ...range, coverUsd: 150, pricePer1k: 12.34 });
  await execute(life, request);
  const { body } = await corpus.until(
    `/v1/cover/positions/${account}`,
    ({ positions, listings }: Positions) => positions.length === 2 && listings.length === 1,
  );
  const [listing] = (body as Positions).listings;
  await cover({ action: 'cancel', listingId: listing?.id });
}

/** Bob buys shares and hands them to the account. */
async function holdForAgent(life: Life): Promise<Hex> {
  const [owner, key] = [life.address('bob'), life.address('agent')];
  await life.act('bob', '/v1/tx/buy', { ticker: 'MAG7', amountUsdg: 60, slippageBps: 200 });
  const vault = life.fork.vault('MAG7');
  const shares = await life.fork.client.readContract({
    address: vault,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [owner],
  });
  const session = await life.corpus.get(`/v1/agent/session?owner=${owner}&key=${key}`);
  const { account } = session.body as { account: Hex };
  const data = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'transfer',
    args: [account, shares],
  });
  await life.send('bob', { to: vault, data });
  return account;
}

/** Signs the typed data as it stands, and submits it as anybody may. */
async function execute({ fork }: Life, { status, body }: Recorded): Promise<void> {
  if (status !== 200) throw new Error(`no cover: ${status} ${JSON.stringify(body)}`);
  const { typedData, action } = body as CoverPlan;
  const signature = await fork.accounts.agent.account.signTypedData(typedData);
  await transact(fork.client, fork.accounts.relayer.account, {
    to: typedData.domain.verifyingContract,
    data: encodeFunctionData({
      abi: coverModuleAbi,
      functionName: 'execute',
      args: [coverActionFromJson(action), signature],
    }),
  });
}

/** What the reads say of a pause. */
export async function lookWhilePaused({ corpus }: Life): Promise<void> {
  await corpus.until('/v1/cover/weeks', ({ paused }: { paused: boolean }) => paused);
  await corpus.get('/v1/cover/book/CORE?coverUsd=100');
}
