/**
 * The loops of interface.md as a client walks them: "Typical trading loop" of a plain wallet, the agent flow of section
 * 5, and a stranger who executes a job. Nothing here knows the chain: a wallet sends what it is given.
 */
import type { Hex } from 'viem';
import { type PublicClient, type Relayed, Refused } from './public-client.ts';
import { orders, positions, wallet } from './strict/account.ts';
import { session, type Session, type Trade, trade } from './strict/agent.ts';
import { type Job, jobs } from './strict/jobs.ts';
import { choices } from './strict/marks.ts';
import * as plans from './strict/plans.ts';
import type { Infer, Shape } from './strict/shape.ts';

type Call = { to: Hex; data: Hex; value: bigint };

/** A plain wallet: sends, and resolves when the transaction is mined and has succeeded. */
export type Wallet = { address: Hex; send(call: Call): Promise<void> };

export class Trader {
  readonly client: PublicClient;
  readonly wallet: Wallet;

  constructor(client: PublicClient, its: Wallet) {
    this.client = client;
    this.wallet = its;
  }

  /** The cheapest basket to buy that has a price, a cost and no risk level. */
  async pick(): Promise<string> {
    const { markets: rows } = await this.client.until(
      '/v1/markets?prices=0&fields=ticker,nav,buyCostBps,risk',
      choices,
      (answer) => answer.markets.some(buyable),
    );
    const [best] = rows.filter(buyable).sort((a, b) => cost(a) - cost(b));
    if (best === undefined) throw new Error('nothing to buy');
    return best.ticker;
  }

  async balance(): Promise<Infer<typeof wallet>> {
    return await this.client.read(`/v1/wallet/${this.wallet.address}`, wallet);
  }

  /**
   * Builds, sends the approval and waits for it, builds again so that the transaction is simulated, sends it.
   * @throws where the simulation says that it would revert
   */
  async execute<T extends plans.Plan>(path: string, body: object, shape: Shape<T>): Promise<T> {
    const request = { address: this.wallet.address, ...body };
    let plan = await this.client.build(path, request, shape);
    if (plan.approval !== null) {
      await this.wallet.send({ ...plan.approval, value: 0n });
      plan = await this.client.build(path, request, shape);
      if (plan.approval !== null) throw new Error('an approval was mined and is asked for again');
    }
    if (plan.simulation?.ok === false) throw new Error(`would revert: ${plan.simulation.reason}`);
    await this.wallet.send({ ...plan.tx, value: BigInt(plan.tx.value) });
    return plan;
  }

  async buy(ticker: string, amountUsdg: number) {
    const { gasOk, usdg } = await this.balance();
    if (!gasOk || usdg < amountUsdg) throw new Error('too little to trade with');
    return await this.execute('/v1/tx/buy', { ticker, amountUsdg }, plans.buy);
  }

  /** Everything that the wallet holds of it: the exact shares of its position, or `max`. */
  async sell(ticker: string, shares = 'max') {
    return await this.execute('/v1/tx/sell', { ticker, shares }, plans.sell);
  }

  async position(ticker: string, holds: (position: Position | undefined) => boolean) {
    const of = (answer: Infer<typeof positions>) =>
      answer.positions.find((position) => position.ticker === ticker);
    const path = `/v1/positions/${this.wallet.address}`;
    return of(await this.client.until(path, positions, (answer) => holds(of(answer))));
  }

  async stop(ticker: string, shares: string, stopNav: number) {
    return await this.execute('/v1/tx/exit', { ticker, shares, stopNav }, plans.exit);
  }

  async limit(ticker: string, amountUsdg: number, triggerNav: number) {
    return await this.execute('/v1/tx/limit', { ticker, amountUsdg, triggerNav }, plans.limit);
  }

  async openOrders(count: number) {
    const path = `/v1/orders/${this.wallet.address}`;
    return (await this.client.until(path, orders, (answer) => answer.orders.length === count))
      .orders;
  }

  /** Returns whether it was cancelled; false when it was no longer open. */
  async cancel(orderId: Hex): Promise<boolean> {
    try {
      await this.execute('/v1/tx/cancel', { orderId }, plans.cancel);
      return true;
    } catch (error) {
      if (error instanceof Refused && error.code === 'ORDER_NOT_OPEN') return false;
      throw error;
    }
  }

  /** Executes a listed job; the fee goes to this wallet. */
  async executeJob(id: Hex): Promise<Job> {
    const path = `/v1/jobs?executor=${this.wallet.address}`;
    const listed = await this.client.until(path, jobs, (answer) =>
      answer.jobs.some((job) => job.id === id),
    );
    const job = listed.jobs.find((candidate) => candidate.id === id);
    if (job === undefined) throw new Error('no such job');
    await this.wallet.send({ ...job.tx, value: BigInt(job.tx.value) });
    return job;
  }
}

type Row = Infer<typeof choices>['markets'][number];
type Position = Infer<typeof positions>['positions'][number];

const buyable = ({ nav, buyCostBps, risk }: Row): boolean =>
  nav !== null && buyCostBps !== null && risk === null;
const cost = ({ buyCostBps }: Row): number => buyCostBps ?? Infinity;

/** The host signer of an agent: holds the key, signs typed data, pays fees up to a cap. */
export type Signer = { address: Hex; sign(typedData: Trade['typedData']): Promise<Hex> };

/** What was posted and answered, in order. */
export type Posted = { fee: bigint; nonce: string; deadline: number; answer: Relayed };

export class Agent {
  readonly client: PublicClient;
  readonly owner: Hex;
  readonly signer: Signer;
  readonly feeCap: bigint;
  /** The relayer's last quote, so that the next action carries it at once. */
  private quote = '0';

  constructor(client: PublicClient, owner: Hex, signer: Signer, feeCap: bigint) {
    this.client = client;
    this.owner = owner;
    this.signer = signer;
    this.feeCap = feeCap;
  }

  async session(): Promise<Session> {
    const path = `/v1/agent/session?owner=${this.owner}&key=${this.signer.address}`;
    return await this.client.read(path, session);
  }

  /** Builds and posts; answers what was posted, the last of it mined. */
  async trade(terms: object): Promise<{ plan: Trade; posted: Posted[] }> {
    const request = {
      owner: this.owner,
      key: this.signer.address,
      feeUsdg: this.quote,
      ...terms,
    };
    const plan = await this.client.build('/v1/agent/trade', request, trade);
    const posted = [await this.post(plan, BigInt(plan.action.fee))];
    const [first] = posted;
    if (first !== undefined && 'requiredFee' in first.answer) {
      const { requiredFee } = first.answer;
      if (requiredFee > this.feeCap) throw new Error(`a fee of ${requiredFee} is over the cap`);
      posted.push(await this.post(plan, requiredFee));
    }
    const last = posted.at(-1);
    if (last === undefined || !('mined' in last.answer)) throw new Error('the fee did not do');
    this.quote = last.answer.mined.requiredFee ?? this.quote;
    return { plan, posted };
  }

  /** Only the fee changes between one signature and the next. */
  private async post({ action, typedData, relayerUrl }: Trade, fee: bigint): Promise<Posted> {
    const signed = { ...action, fee: fee.toString() };
    const signature = await this.signer.sign({ ...typedData, message: signed });
    const answer = await this.client.relay(relayerUrl, { action: signed, signature });
    return { fee, nonce: signed.nonce, deadline: signed.deadline, answer };
  }
}
