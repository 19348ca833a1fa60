/**
 * How a set-up's many transactions reach a chain. One at a time with a receipt each, which works anywhere; or many to
 * a block, for an Anvil that we just started: it derives the state root of the whole state for every block, so a block
 * per transaction makes a big set-up several times slower.
 */
import {
  type Abi,
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  type LocalAccount,
} from 'viem';
import { type ChainClient, estimateGas, reasonOf, receiptOf, sendSigned } from './client.ts';

type Call<abi extends Abi, name extends ContractFunctionName<abi, 'nonpayable' | 'payable'>> = {
  address: Address;
  abi: abi;
  functionName: name;
  args: ContractFunctionArgs<abi, 'nonpayable' | 'payable', name>;
  value?: bigint;
  /** Needed in blocks when it may exceed the default; ignored otherwise. */
  gas?: bigint;
};

export type Contract = {
  name: string;
  abi: Abi;
  bytecode: Hex;
  args?: readonly unknown[];
  /** Needed in blocks when it may exceed the default; ignored otherwise. */
  gas?: bigint;
};

export interface Submitter {
  /** @returns where the contract stands, or is going to once flushed. */
  deploy(account: LocalAccount, contract: Contract): Promise<Address>;
  write<const abi extends Abi, name extends ContractFunctionName<abi, 'nonpayable' | 'payable'>>(
    account: LocalAccount,
    call: Call<abi, name>,
  ): Promise<void>;
  /** Address of the contract that the account's transaction after `ahead` others deploys. */
  nextAddress(account: LocalAccount, ahead: number): Promise<Address>;
  /**
   * A value that later steps are built from and that is read off the chain or the clock: a submitter that can be
   * broken off and taken up again remembers the first answer. `name` is unique in a deployment; `guess` stands in
   * where nothing is sent and so nothing can be read. `before`: the first answer, where a step that rests on it is signed
   * anew.
   */
  decide<T extends string | number>(
    name: string,
    read: (before?: T) => Promise<T>,
    guess: T,
  ): Promise<T>;
  /** Resolves when everything is mined. Throws an Error that names each transaction which failed. */
  flush(): Promise<void>;
}

type Sent = { what: string; hash: Hex; deployed: Address | null };

/** Default gas limit in blocks, where nothing can be estimated before what it builds on is mined. */
const BLOCK_GAS = 8_000_000n;

/** Estimates, sends and waits for each transaction: a step that would revert is never sent. */
export function submitEach(client: ChainClient): Submitter {
  return createSubmitter(client, false);
}

/** Queues transactions and mines them together on `flush`. The Anvil must be ours alone. */
export async function submitInBlocks(client: ChainClient): Promise<Submitter> {
  await client.setAutomine(false);
  return createSubmitter(client, true);
}

function createSubmitter(client: ChainClient, inBlocks: boolean): Submitter {
  const nonces = new Map<Address, number>();
  let sent: Sent[] = [];

  const nonceOf = async (account: LocalAccount): Promise<number> => {
    const known = nonces.get(account.address);
    if (known !== undefined) return known;
    return client.getTransactionCount({ address: account.address, blockTag: 'pending' });
  };

  const check = async ({ what, hash, deployed }: Sent): Promise<string | null> => {
    const receipt = await receiptOf(client, hash, 60_000);
    if (receipt.status !== 'success') return `${what} (gas used ${receipt.gasUsed})`;
    if (deployed !== null && receipt.contractAddress?.toLowerCase() !== deployed.toLowerCase()) {
      return `${what} stands at ${receipt.contractAddress}, predicted ${deployed}`;
    }
    return null;
  };

  const flush = async (): Promise<void> => {
    const waiting = sent;
    sent = [];
    if (waiting.length === 0) return;
    if (inBlocks) await client.mine({ blocks: 1 });
    const failed = (await Promise.all(waiting.map(check))).filter((line) => line !== null);
    if (failed.length > 0) throw new Error(`transactions failed:\n  ${failed.join('\n  ')}`);
  };

  const submit = async (
    account: LocalAccount,
    what: string,
    request: { to?: Address; data: Hex; value?: bigint; gas?: bigint },
    deploys: boolean,
  ): Promise<Address | null> => {
    const nonce = await nonceOf(account);
    const deployed = deploys
      ? getContractAddress({ from: account.address, nonce: BigInt(nonce) })
      : null;
    try {
      const gas = inBlocks
        ? (request.gas ?? BLOCK_GAS)
        : await estimateGas(client, account.address, request);
      const hash = await sendSigned(client, account, { ...request, gas, nonce });
      sent.push({ what, hash, deployed });
    } catch (cause) {
      throw new Error(`${what} failed: ${reasonOf(cause)}`, { cause });
    }
    // One at a time the node knows better: others may send from the account in between.
    if (inBlocks) nonces.set(account.address, nonce + 1);
    else await flush();
    return deployed;
  };

  return {
    async deploy(account, contract) {
      const data = encodeDeployData({
        abi: contract.abi,
        bytecode: contract.bytecode,
        args: contract.args ?? [],
      });
      const request = contract.gas === undefined ? { data } : { data, gas: contract.gas };
      const address = await submit(account, `deployment of ${contract.name}`, request, true);
      return address as Address;
    },
    async write(account, call) {
      const data = encodeFunctionData<Abi, string>({
        abi: call.abi,
        functionName: call.functionName,
        args: call.args as readonly unknown[],
      });
      const what = `${call.functionName as string} on ${call.address}`;
      const request = {
        to: call.address,
        data,
        ...(call.value === undefined ? {} : { value: call.value }),
        ...(call.gas === undefined ? {} : { gas: call.gas }),
      };
      await submit(account, what, request, false);
    },
    async nextAddress(account, ahead) {
      const nonce = BigInt((await nonceOf(account)) + ahead);
      return getContractAddress({ from: account.address, nonce });
    },
    decide: (_, read) => read(),
    flush,
  };
}
