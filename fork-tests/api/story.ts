/**
 * What people do with baskets, straight at the contracts: every event that the index keeps, without an api between.
 * Each step returns what it did by the receipt's own events.
 */
import { type Address, erc20Abi, type Hex, maxUint256, parseEventLogs, zeroAddress } from 'viem';
import { USD } from '../../contracts-abi/constants.ts';
import {
  basketVaultAbi,
  basketZapperAbi,
  coverMarketAbi,
  exitEscrowAbi,
  limitEscrowAbi,
  scheduleEscrowAbi,
  sessionModuleAbi,
} from '../../contracts-abi/generated/index.ts';
import { actionFromJson } from '../../contracts-abi/typed-data.ts';
import { write } from '../chain/client.ts';
import type { Role } from '../chain/seed/accounts.ts';
import type { Fork } from '../harness/fork.ts';
import { buySwaps, sellSwaps } from '../harness/trade.ts';
import { type Agent, buyAction, openAgent, signedBody } from '../relayer/agent.ts';

/** Two constituents, so that a trade is quick. */
export const TICKER = 'HEALTH';

const NEVER = 4_000_000_000n;

export class Story {
  readonly #fork: Fork;

  constructor(fork: Fork) {
    this.#fork = fork;
  }

  get vault(): Address {
    return this.#fork.vault(TICKER);
  }

  address(role: Role): Address {
    return this.#fork.accounts[role].account.address;
  }

  async #approve(role: Role, token: Address, spender: Address): Promise<void> {
    const { client, accounts } = this.#fork;
    await write(client, accounts[role].account, {
      address: token,
      abi: erc20Abi,
      functionName: 'approve',
      args: [spender, maxUint256],
    });
  }

  /** Exactly `shares`; returns the USDG that left the payer. */
  async buy(role: Role, shares: bigint, to: Address = this.address(role)): Promise<bigint> {
    const { client, deployment, accounts } = this.#fork;
    await this.#approve(role, deployment.usdg, deployment.zapper);
    const { swaps, cost } = await buySwaps(
      client,
      deployment,
      this.vault,
      (shares * 1001n) / 1000n,
    );
    const most = (cost * 102n) / 100n;
    const payer = this.address(role);
    const receipt = await write(client, accounts[role].account, {
      address: deployment.zapper,
      abi: basketZapperAbi,
      functionName: 'buyExact',
      args: [this.vault, shares, most, swaps, to, payer, NEVER],
    });
    const [bought] = parseEventLogs({
      abi: basketZapperAbi,
      eventName: 'Bought',
      logs: receipt.logs,
    });
    if (bought === undefined) throw new Error('no Bought');
    return bought.args.gross + bought.args.fee;
  }

  /** Returns the USDG received. */
  async sell(role: Role, shares: bigint): Promise<bigint> {
    const { client, deployment, accounts } = this.#fork;
    await this.#approve(role, this.vault, deployment.zapper);
    const { swaps } = await sellSwaps(client, deployment, this.vault, shares);
    const seller = this.address(role);
    const receipt = await write(client, accounts[role].account, {
      address: deployment.zapper,
      abi: basketZapperAbi,
      functionName: 'sell',
      args: [this.vault, shares, 0n, swaps, seller, seller, NEVER],
    });
    const [sold] = parseEventLogs({ abi: basketZapperAbi, eventName: 'Sold', logs: receipt.logs });
    if (sold === undefined) throw new Error('no Sold');
    return sold.args.gross - sold.args.fee;
  }

  async transfer(from: Role, to: Address, shares: bigint): Promise<void> {
    await write(this.#fork.client, this.#fork.accounts[from].account, {
      address: this.vault,
      abi: erc20Abi,
      functionName: 'transfer',
      args: [to, shares],
    });
  }

  async redeem(role: Role, shares: bigint): Promise<void> {
    await write(this.#fork.client, this.#fork.accounts[role].account, {
      address: this.vault,
      abi: basketVaultAbi,
      functionName: 'redeem',
      args: [shares, this.address(role)],
    });
  }

  /** A take-profit that holds at once where `due`, or else one that never does. */
  async exit(role: Role, shares: bigint, due: boolean): Promise<Hex> {
    const { client, deployment, accounts } = this.#fork;
    await this.#approve(role, this.vault, deployment.exitEscrow);
    const receipt = await write(client, accounts[role].account, {
      address: deployment.exitEscrow,
      abi: exitEscrowAbi,
      functionName: 'create',
      args: [
        {
          vault: this.vault,
          shares,
          stopNav: 0n,
          tpNav: due ? 1n : maxUint256,
          hardFloorNav: 0n,
          slippageBps: 500,
          capBps: 500,
          deadline: (await this.#fork.now()) + 30 * 86_400,
        },
      ],
    });
    return idOf(
      parseEventLogs({ abi: exitEscrowAbi, eventName: 'ExitCreated', logs: receipt.logs }),
    );
  }

  /** Due at once. */
  async limit(role: Role, dollars: bigint): Promise<Hex> {
    const { client, deployment, accounts } = this.#fork;
    await this.#approve(role, deployment.usdg, deployment.limitEscrow);
    const receipt = await write(client, accounts[role].account, {
      address: deployment.limitEscrow,
      abi: limitEscrowAbi,
      functionName: 'create',
      args: [
        {
          vault: this.vault,
          amount: dollars * USD,
          triggerNav: 0n,
          slippageBps: 500,
          capBps: 500,
          deadline: (await this.#fork.now()) + 30 * 86_400,
        },
      ],
    });
    return idOf(
      parseEventLogs({ abi: limitEscrowAbi, eventName: 'LimitCreated', logs: receipt.logs }),
    );
  }

  /** Hourly slots, the first one now. */
  async schedule(role: Role, dollars: bigint, slots: number): Promise<Hex> {
    const { client, deployment, accounts } = this.#fork;
    await this.#approve(role, deployment.usdg, deployment.scheduleEscrow);
    const receipt = await write(client, accounts[role].account, {
      address: deployment.scheduleEscrow,
      abi: scheduleEscrowAbi,
      functionName: 'create',
      args: [
        {
          kind: 0,
          vault: this.vault,
          total: dollars * USD,
          slots,
          interval: 3_600,
          startAt: 0,
          slippageBps: 500,
          capBps: 500,
        },
      ],
    });
    const logs = parseEventLogs({
      abi: scheduleEscrowAbi,
      eventName: 'ScheduleCreated',
      logs: receipt.logs,
    });
    return idOf(logs);
  }

  async cancel(role: Role, escrow: Address, id: Hex): Promise<void> {
    await write(this.#fork.client, this.#fork.accounts[role].account, {
      address: escrow,
      abi: exitEscrowAbi,
      functionName: 'cancel',
      args: [id],
    });
  }

  /** By the keeper; returns OrderFilled's figures. */
  async fill(escrow: Address, id: Hex, size: { shares: bigint } | { dollars: bigint }) {
    const { client, deployment, accounts } = this.#fork;
    const swaps =
      'shares' in size
        ? (await sellSwaps(client, deployment, this.vault, size.shares)).swaps
        : (await this.#swapsFor(size.dollars)).swaps;
    const receipt = await write(client, accounts.keeper.account, {
      address: escrow,
      abi: exitEscrowAbi,
      functionName: 'fill',
      args: [id, swaps, zeroAddress],
    });
    const [filled] = parseEventLogs({
      abi: exitEscrowAbi,
      eventName: 'OrderFilled',
      logs: receipt.logs,
    });
    if (filled === undefined) throw new Error('no OrderFilled');
    return filled.args;
  }

  /** Swaps that buy as many shares as about 99% of the dollars pay for. */
  async #swapsFor(dollars: bigint) {
    const { client, deployment } = this.#fork;
    const one = await buySwaps(client, deployment, this.vault, 10n ** 18n);
    const shares = (dollars * USD * 10n ** 18n * 99n) / (one.cost * 100n);
    return await buySwaps(client, deployment, this.vault, shares);
  }

  /** A request of $100 of cover for the week trading now, from 3% to 10%, at $20 per $1,000. */
  async requestCover(role: Role): Promise<bigint> {
    const { client, deployment, accounts } = this.#fork;
    await this.#approve(role, deployment.usdg, deployment.coverMarket);
    const [, week] = await client.readContract({
      address: deployment.coverMarket,
      abi: coverMarketAbi,
      functionName: 'currentWeek',
    });
    const [vault = this.vault] = await client.readContract({
      address: deployment.coverMarket,
      abi: coverMarketAbi,
      functionName: 'coverVaults',
    });
    const terms = {
      week,
      vault,
      fromBps: 300,
      toBps: 1_000,
      coverUsd: 100n,
      pricePer1k: 20n * USD,
    };
    const receipt = await write(client, accounts[role].account, {
      address: deployment.coverMarket,
      abi: coverMarketAbi,
      functionName: 'request',
      args: [terms],
    });
    const [listed] = parseEventLogs({
      abi: coverMarketAbi,
      eventName: 'Listed',
      logs: receipt.logs,
    });
    if (listed === undefined) throw new Error('no Listed');
    return listed.args.id;
  }

  async cancelCover(role: Role, id: bigint): Promise<void> {
    await write(this.#fork.client, this.#fork.accounts[role].account, {
      address: this.#fork.deployment.coverMarket,
      abi: coverMarketAbi,
      functionName: 'cancel',
      args: [id],
    });
  }

  /** Underwrites the whole of a request and takes the week to its end: snapshots and payout by the keeper. */
  async settleCover(underwriter: Role, id: bigint): Promise<void> {
    const { client, deployment, accounts } = this.#fork;
    const { coverMarket } = deployment;
    await this.#approve(underwriter, deployment.usdg, coverMarket);
    const read = { address: coverMarket, abi: coverMarketAbi } as const;
    const { terms } = await client.readContract({ ...read, functionName: 'listingOf', args: [id] });
    const call = { ...read, args: [terms.week, terms.vault, zeroAddress] } as const;
    const { keeper } = accounts;
    await write(client, accounts[underwriter].account, {
      ...read,
      functionName: 'fill',
      args: [id, terms.coverUsd],
    });
    const times = await client.readContract({
      ...read,
      functionName: 'weekOf',
      args: [terms.week],
    });
    await this.#fork.warp(times.close - (await this.#fork.now()) + 1);
    await write(client, keeper.account, { ...call, functionName: 'snapshot' });
    await this.#fork.warp(times.settle - (await this.#fork.now()) + 1);
    await write(client, keeper.account, { ...call, functionName: 'settle' });
    const position = await client.readContract({ ...read, functionName: 'positionCount' });
    await write(client, keeper.account, {
      ...read,
      functionName: 'payout',
      args: [[position], zeroAddress],
    });
  }

  async agent(owner: Role): Promise<Agent> {
    return await openAgent(this.#fork, owner);
  }

  /** A session buy for about so many dollars, with a network fee; returns shares and everything it cost. */
  async sessionBuy(agent: Agent, dollars: bigint, fee: bigint) {
    const { client, deployment, accounts } = this.#fork;
    const action = await buyAction(this.#fork, agent, dollars * USD, { fee });
    const { action: json, signature } = await signedBody(this.#fork, agent, action);
    const receipt = await write(client, accounts.relayer.account, {
      address: deployment.sessionModule,
      abi: sessionModuleAbi,
      functionName: 'execute',
      args: [actionFromJson(json), signature],
    });
    const [executed] = parseEventLogs({
      abi: sessionModuleAbi,
      eventName: 'Executed',
      logs: receipt.logs,
    });
    if (executed === undefined) throw new Error('no Executed');
    return { shares: executed.args.shares, paid: executed.args.usdg + executed.args.fee };
  }
}

function idOf(logs: readonly { args: { id: Hex } }[]): Hex {
  const [created] = logs;
  if (created === undefined) throw new Error('nothing was created');
  return created.args.id;
}
