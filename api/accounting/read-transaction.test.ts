/** Events as the generated ABIs encode them, read word by word. */
import {
  type Abi,
  type Address,
  encodeAbiParameters,
  encodeEventTopics,
  getAddress,
  type Hex,
} from 'viem';
import { describe, expect, it } from 'vitest';
import {
  basketVaultAbi,
  basketZapperAbi,
  exitEscrowAbi,
  sessionModuleAbi,
} from '../../contracts-abi/generated/index.ts';
import type { IndexedLog } from '../indexer/projection.ts';
import { type Protocol, readTransaction } from './read-transaction.ts';

const address = (digit: string): Address => `0x${digit.repeat(40)}`;
const [ALICE, VAULT, RELAYER] = [address('a'), address('b'), address('c')];
const ZERO = address('0');
const ID: Hex = `0x${'12'.repeat(32)}`;

const protocol: Protocol = {
  zapper: address('1'),
  exitEscrow: address('2'),
  limitEscrow: address('3'),
  scheduleEscrow: address('4'),
  sessionModule: address('5'),
};

let next = 0;
function log(
  emitter: Address,
  abi: Abi,
  eventName: string,
  args: Record<string, unknown>,
): IndexedLog {
  const item = abi.find((each) => each.type === 'event' && each.name === eventName);
  if (item?.type !== 'event') throw new Error(eventName);
  const data = item.inputs.filter(({ indexed }) => indexed !== true);
  next += 1;
  return {
    address: emitter,
    topics: encodeEventTopics({ abi, eventName, args }) as Hex[],
    data: encodeAbiParameters(
      data,
      data.map(({ name }) => args[name ?? '']),
    ),
    block: 7,
    time: 1_000,
    blockHash: ID,
    logIndex: next,
    transactionHash: ID,
  };
}

const transfer = (from: Address, to: Address, value: bigint) =>
  log(VAULT, basketVaultAbi, 'Transfer', { from, to, value });
const swap = (name: 'Bought' | 'Sold', payer: Address, to: Address) =>
  log(protocol.zapper, basketZapperAbi, name, {
    payer,
    to,
    vault: VAULT,
    shares: 50n,
    gross: 1_000n,
    fee: 2n,
  });
const executed = (account: Address, kind: number) =>
  log(protocol.sessionModule, sessionModuleAbi, 'Executed', {
    account,
    key: RELAYER,
    digest: ID,
    nonce: 9n,
    kind,
    vault: VAULT,
    shares: 50n,
    usdg: 1_002n,
    fee: 77n,
    relayer: RELAYER,
  });
const filled = (emitter: Address) =>
  log(emitter, exitEscrowAbi, 'OrderFilled', {
    id: ID,
    owner: ALICE,
    vault: VAULT,
    executor: RELAYER,
    shares: 50n,
    gross: 1_000n,
    protocolFee: 2n,
    executorFee: 10n,
    net: 988n,
  });

const kindsOf = (logs: IndexedLog[]) =>
  readTransaction(logs, protocol).transfers.map(({ kind }) => kind);

describe('a transaction', () => {
  it('with a buy counts for who receives the shares, and its mint is no transfer', () => {
    const { transfers, trades } = readTransaction(
      [transfer(ZERO, ALICE, 50n), swap('Bought', RELAYER, ALICE)],
      protocol,
    );
    expect(transfers).toMatchObject([
      { kind: 'trade', sender: ZERO, receiver: ALICE, shares: '50' },
    ]);
    expect(trades).toMatchObject([
      {
        kind: 'buy',
        via: 'wallet',
        owner: ALICE,
        vault: VAULT,
        order_id: null,
        shares: '50',
        gross: '1000',
        protocol_fee: '2',
        executor_fee: '0',
        network_fee: '0',
      },
    ]);
  });

  it("with a session's trade adds the network fee to the account's own", () => {
    const logs = [transfer(ZERO, ALICE, 50n), swap('Bought', ALICE, ALICE), executed(ALICE, 0)];
    const { trades } = readTransaction(logs, protocol);
    expect(trades).toMatchObject([{ via: 'session', owner: ALICE, network_fee: '77' }]);
  });

  it('in which a module tells of a trade that the zapper does not know makes none', () => {
    expect(readTransaction([executed(ALICE, 0)], protocol).trades).toEqual([]);
    const logs = [swap('Bought', RELAYER, RELAYER), executed(ALICE, 0), executed(RELAYER, 1)];
    const { trades } = readTransaction(logs, protocol);
    expect(trades).toMatchObject([{ owner: RELAYER, via: 'wallet', network_fee: '0' }]);
  });

  it('that fills an order has one trade, of the order and its owner', () => {
    const { limitEscrow, exitEscrow, zapper } = protocol;
    const buy = [
      transfer(ZERO, ALICE, 50n),
      swap('Bought', limitEscrow, ALICE),
      filled(limitEscrow),
    ];
    const sale = [
      transfer(exitEscrow, zapper, 50n),
      transfer(zapper, ZERO, 50n),
      swap('Sold', exitEscrow, exitEscrow),
      filled(exitEscrow),
    ];
    const fees = {
      owner: ALICE,
      gross: '1000',
      protocol_fee: '2',
      executor_fee: '10',
      order_id: ID,
    };
    expect(readTransaction(buy, protocol).trades).toMatchObject([
      { ...fees, kind: 'buy', via: 'limit' },
    ]);
    expect(readTransaction(sale, protocol).trades).toMatchObject([
      { ...fees, kind: 'sell', via: 'exit' },
    ]);
    expect(kindsOf([...buy, ...sale])).toEqual(['trade', 'escrow', 'trade']);
  });

  it('with shares into an order, and out of it, moves none; a gift to the escrow is one', () => {
    const terms = {
      vault: VAULT,
      shares: 50n,
      stopNav: 1n,
      tpNav: 0n,
      hardFloorNav: 0n,
      slippageBps: 100,
      capBps: 500,
      deadline: 9,
    };
    const { exitEscrow } = protocol;
    const created = log(exitEscrow, exitEscrowAbi, 'ExitCreated', {
      id: ID,
      owner: ALICE,
      vault: VAULT,
      terms,
    });
    expect(kindsOf([transfer(ALICE, exitEscrow, 50n), created])).toEqual(['escrow']);
    expect(kindsOf([transfer(exitEscrow, ALICE, 50n)])).toEqual(['escrow']);
    expect(kindsOf([transfer(ALICE, exitEscrow, 50n)])).toEqual(['move']);
  });

  it('with a redemption in kind is told, and the burnt shares left without a price', () => {
    const redeemed = log(VAULT, basketVaultAbi, 'Redeemed', {
      holder: ALICE,
      to: ALICE,
      shares: 50n,
      amounts: [1n, 2n],
    });
    const { transfers, trades } = readTransaction([transfer(ALICE, ZERO, 50n), redeemed], protocol);
    expect(transfers).toMatchObject([{ kind: 'move', sender: ALICE }]);
    expect(trades).toMatchObject([
      { kind: 'redeem', owner: getAddress(ALICE).toLowerCase(), gross: '0' },
    ]);
  });
});
