/**
 * Many contract reads as one eth_call through Multicall3: one round trip, one block.
 *
 * A read that reverts is an answer; a batch that cannot be asked at all throws UPSTREAM, so no caller can take an
 * unreachable chain for an empty one. Only a batch above `MAX_READS_PER_CALL` is split, and then asked in parallel.
 */
import {
  type Abi,
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  decodeFunctionResult,
  encodeFunctionData,
  getAbiItem,
  type Hex,
  multicall3Abi,
  type PublicClient,
} from 'viem';
import { ApiError } from '../errors.ts';
import { encodeCall, functionOf, functionSet } from './function-set.ts';

/** The latest block, or one by its number. */
export type BlockId = 'latest' | Hex;

export type ReadResult<T> = { ok: true; value: T } | { ok: false; revert: Hex };

/** The result of one read of a batch; throws when the batch was not sent yet. */
export type Pending<T> = () => ReadResult<T>;

type Mutability = 'view' | 'pure' | 'nonpayable';

type ContractRead<
  abi extends Abi | readonly unknown[],
  name extends ContractFunctionName<abi, Mutability>,
  args extends ContractFunctionArgs<abi, Mutability, name>,
> = {
  to: Address;
  abi: abi;
  functionName: name | ContractFunctionName<abi, Mutability>;
  args: args;
};

type Slot = {
  to: Address;
  data: Hex;
  abi: Abi;
  decode: (returned: Hex) => unknown;
  result: ReadResult<unknown> | null;
};

const MAX_READS_PER_CALL = 400;

const aggregateAbi = [getAbiItem({ abi: multicall3Abi, name: 'aggregate3' })] as const;
const aggregate = functionSet(aggregateAbi);

export class ReadBatch {
  readonly #slots: Slot[] = [];
  /** By address and calldata: what several ask for is asked once. */
  readonly #known = new Map<string, Slot>();
  #sent = false;

  get size(): number {
    return this.#slots.length;
  }

  /**
   * Adds a read; the answer is there once {@link send} has resolved. What was added already is asked once, and its
   * answer shared: nobody changes it.
   */
  add<
    const abi extends Abi | readonly unknown[],
    name extends ContractFunctionName<abi, Mutability>,
    const args extends ContractFunctionArgs<abi, Mutability, name>,
  >(
    read: ContractRead<abi, name, args>,
  ): Pending<ContractFunctionReturnType<abi, Mutability, name, args>> {
    type Value = ContractFunctionReturnType<abi, Mutability, name, args>;
    if (this.#sent) throw new Error('the batch was sent already');
    const { abi, functionName, args } = read as {
      abi: Abi;
      functionName: string;
      args: readonly unknown[];
    };
    const slot = this.#slotOf(read.to, abi, functionName, args);
    return () => {
      if (slot.result === null) throw new Error('the batch was not sent yet');
      return slot.result as ReadResult<Value>;
    };
  }

  #slotOf(to: Address, abi: Abi, functionName: string, args: readonly unknown[]): Slot {
    const one = functionOf(abi, functionName);
    const data =
      one === null ? encodeFunctionData({ abi, functionName, args }) : encodeCall(one, args);
    const key = to.toLowerCase() + data;
    const known = this.#known.get(key);
    // The same call under another ABI may be decoded otherwise.
    if (known?.abi === abi) return known;
    const slot: Slot = {
      to,
      data,
      abi,
      decode: (returned) =>
        decodeFunctionResult({
          abi: one === null ? abi : [one.item],
          functionName,
          args,
          data: returned,
        }),
      result: null,
    };
    this.#known.set(key, slot);
    this.#slots.push(slot);
    return slot;
  }

  /** Asks everything at once against one block. @throws ApiError UPSTREAM when the chain gives no answer. */
  async send(client: PublicClient, multicall3: Address, block: BlockId = 'latest'): Promise<void> {
    if (this.#sent) throw new Error('the batch was sent already');
    this.#sent = true;
    const chunks: Slot[][] = [];
    for (let start = 0; start < this.#slots.length; start += MAX_READS_PER_CALL) {
      chunks.push(this.#slots.slice(start, start + MAX_READS_PER_CALL));
    }
    await Promise.all(chunks.map((chunk) => ask(client, multicall3, block, chunk)));
  }
}

async function ask(
  client: PublicClient,
  multicall3: Address,
  block: BlockId,
  slots: Slot[],
): Promise<void> {
  const data = aggregate.encode('aggregate3', [
    slots.map((slot) => ({ target: slot.to, allowFailure: true, callData: slot.data }) as const),
  ]);
  let answers: readonly { success: boolean; returnData: Hex }[];
  try {
    const returned = await client.request({
      method: 'eth_call',
      params: [{ to: multicall3, data }, block],
    });
    answers = decodeFunctionResult({
      abi: aggregateAbi,
      functionName: 'aggregate3',
      data: returned,
    });
  } catch (cause) {
    throw new ApiError('UPSTREAM', 'the chain cannot be read now: retry', { cause });
  }
  slots.forEach((slot, index) => {
    slot.result = resultOf(slot, answers[index]);
  });
}

function resultOf(
  slot: Slot,
  answer: { success: boolean; returnData: Hex } | undefined,
): ReadResult<unknown> {
  if (answer === undefined) throw new ApiError('UPSTREAM', 'the chain gave half an answer: retry');
  if (!answer.success) return { ok: false, revert: answer.returnData };
  try {
    return { ok: true, value: slot.decode(answer.returnData) };
  } catch {
    // expected: an address without code succeeds with nothing
    return { ok: false, revert: '0x' };
  }
}

/** The value of a read that a sound deployment always answers. @throws ApiError UPSTREAM naming what failed. */
export function required<T>(pending: Pending<T>, what: string): T {
  const result = pending();
  if (!result.ok) throw new ApiError('UPSTREAM', `the chain does not answer ${what} now: retry`);
  return result.value;
}

/** The value, or null where the read reverted. */
export function optional<T>(pending: Pending<T>): T | null {
  const result = pending();
  return result.ok ? result.value : null;
}
