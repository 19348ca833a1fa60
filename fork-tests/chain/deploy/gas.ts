/**
 * What a deployment costs, before it is sent: a bound for each step from its sizes, since no step can be estimated
 * before those that it builds on are mined. A test holds the bounds against what a deployment used.
 */
import {
  type Address,
  formatEther,
  formatGwei,
  type Hex,
  hexToBytes,
  type LocalAccount,
  parseTransaction,
  size,
} from 'viem';
import { estimateGas, type ReadClient } from '../client.ts';
import { creationSizes } from './code.ts';
import type { RecordedStep } from './recording-submitter.ts';

/** A transaction's fee cap over the gas price at its signing: it is signed again by hand alone, so it outlasts a spike. */
const MAX_FEE_FACTOR = 10n;
/** And at least this many wei, ten times what gas costs on this chain when it is calm. */
const LEAST_MAX_FEE = 100_000_000n;

/** What gas costs now, and the fee cap of a transaction signed now; both in wei. */
export async function gasPrice(client: ReadClient): Promise<{ price: bigint; maxFee: bigint }> {
  const [{ baseFeePerGas }, asked] = await Promise.all([client.getBlock(), client.getGasPrice()]);
  // The newest block's base fee is the last one's, what the node asks for the next one's.
  const price = baseFeePerGas !== null && baseFeePerGas > asked ? baseFeePerGas : asked;
  const maxFee = price * MAX_FEE_FACTOR;
  return { price, maxFee: maxFee > LEAST_MAX_FEE ? maxFee : LEAST_MAX_FEE };
}

/** The fee cap of a signed step, in wei, where gas costs more by now; otherwise null. */
export async function passedCap(client: ReadClient, { raw }: { raw: Hex }): Promise<bigint | null> {
  const cap = parseTransaction(raw).maxFeePerGas ?? 0n;
  return (await gasPrice(client)).price > cap ? cap : null;
}

/** Constructor arguments and strings are stored word by word; some words are not, and some bring a call with them. */
const PER_WORD = 16_000;
const PER_CREATION = 150_000;
const PER_CALL = 40_000;
const BURN: Address = '0x000000000000000000000000000000000000dEaD';

/** Gas by step, the chain's charge for publishing calldata included as the node reckons it now. */
export async function boundGas(
  client: ReadClient,
  account: LocalAccount,
  steps: readonly RecordedStep[],
): Promise<bigint[]> {
  const perByte = await publishingGas(client, account, steps);
  return steps.map((step) => executionBound(step) + BigInt(Math.ceil(perByte * size(step.data))));
}

/** On the chain's own gas schedule alone. */
export function executionBound({
  to,
  data,
  gas,
}: Pick<RecordedStep, 'to' | 'data' | 'gas'>): bigint {
  if (gas !== undefined) return gas;
  const bytes = size(data);
  const base = 21_000 + 4 * tokensOf(data);
  if (to === undefined) {
    const { code, creation } = creationSizes(data);
    const words = Math.ceil((bytes - creation) / 32);
    const init = 32_000 + 2 * Math.ceil(bytes / 32);
    return BigInt(base + init + 200 * code + PER_CREATION + PER_WORD * words);
  }
  return BigInt(base + PER_CALL + PER_WORD * Math.ceil(bytes / 32));
}

/**
 * Gas per byte of calldata that the node asks for beyond the schedule: on an Orbit chain the share of publishing to its
 * parent. Asked with the longest data, sent to where no code stands.
 */
async function publishingGas(
  client: ReadClient,
  { address }: LocalAccount,
  steps: readonly RecordedStep[],
): Promise<number> {
  let longest: Hex = '0x';
  for (const { data } of steps) if (size(data) > size(longest)) longest = data;
  if (longest === '0x') return 0;
  const estimated = Number(await estimateGas(client, address, { to: BURN, data: longest })) / 1.25;
  const tokens = tokensOf(longest);
  // EIP-7623 charges data that nothing is executed with ten gas a token instead of four, where it is in force.
  const floor = 21_000 + 10 * tokens;
  const known = estimated >= floor ? floor : 21_000 + 4 * tokens;
  return Math.max(0, estimated - known) / size(longest);
}

/** One for a zero byte, four for any other (EIP-7623). */
function tokensOf(data: Hex): number {
  let tokens = 0;
  for (const byte of hexToBytes(data)) tokens += byte === 0 ? 1 : 4;
  return tokens;
}

/** `gas`: by step. `short`: why the sender's ETH does not do; null when it does. */
export async function funds(
  client: ReadClient,
  { address }: Pick<LocalAccount, 'address'>,
  gas: readonly bigint[],
  sender = 'deployer',
): Promise<{ text: string; short: string | null }> {
  const [{ price, maxFee }, balance] = await Promise.all([
    gasPrice(client),
    client.getBalance({ address }),
  ]);
  const total = gas.reduce((sum, one) => sum + one, 0n);
  const largest = gas.reduce((most, one) => (one > most ? one : most), 0n);
  // A quarter more, and what a node wants to see for one transaction's limit at its fee cap.
  const needed = ((total * price + largest * maxFee) * 5n) / 4n;
  const text = `At most ${grouped(total)} gas at ${formatGwei(price)} gwei: about ${formatEther(total * price)} ETH; ${formatEther(needed)} ETH must be there, ${formatEther(balance)} are.`;
  const short =
    balance >= needed
      ? null
      : `the ${sender} ${address} holds ${formatEther(balance)} ETH and needs ${formatEther(needed)} ETH (${grouped(total)} gas at ${formatGwei(price)} gwei, with a reserve)`;
  return { text, short };
}

export function grouped(value: bigint): string {
  return value.toLocaleString('en-US');
}
