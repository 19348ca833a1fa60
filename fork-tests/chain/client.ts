/**
 * The client that deploys, seeds and plays on test chains: reads, wallet and Anvil methods over one explicit URL.
 */
import {
  type Abi,
  type Address,
  BaseError,
  type Chain,
  type ContractFunctionArgs,
  type ContractFunctionName,
  createTestClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  type LocalAccount,
  type PrepareTransactionRequestParameters,
  type PublicClient,
  publicActions,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  toHex,
  walletActions,
} from 'viem';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { defineBasketChain } from '../../runtime/chain/client.ts';

/** Multicall3's address on this chain and nearly every other. */
export const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11';

/** Gas price that any test chain of ours takes: base fees start at 0.01 gwei and fall. */
const MAX_FEE = 2_000_000_000n;

/**
 * The chain definition for viem wallets on an Anvil of ours. Fees are named before viem asks: told that no tip is
 * needed, Anvil still suggests 1 gwei and a fee cap below it, and viem refuses the pair.
 */
function devChain(url: string) {
  return {
    ...defineBasketChain([url], MULTICALL3),
    prepareTransactionRequest: async (request: PrepareTransactionRequestParameters) => ({
      ...request,
      maxFeePerGas: request.maxFeePerGas ?? MAX_FEE,
      maxPriorityFeePerGas: request.maxPriorityFeePerGas ?? 0n,
    }),
  } as Chain;
}

/** A viem wallet client of a local account on an Anvil of ours. */
export function devWallet(url: string, account: LocalAccount) {
  return createWalletClient({
    account,
    chain: devChain(url),
    transport: http(url, { timeout: 30_000, retryCount: 0 }),
    pollingInterval: 50,
  });
}

/** A viem client with public, wallet and Anvil actions. Writes name their account each time. */
export function connect(url: string) {
  return createTestClient({
    mode: 'anvil',
    chain: devChain(url),
    transport: http(url, { timeout: 60_000, retryCount: 0 }),
    cacheTime: 0,
    pollingInterval: 50,
  })
    .extend(publicActions)
    .extend(walletActions);
}

/** The market sends one transaction every few seconds: losing more often than this is no race. */
const MAX_NONCE_RACES = 5;

export type ChainClient = ReturnType<typeof connect>;

/** What reading any chain takes: no Anvil method, no wallet. */
export type ReadClient = Pick<
  PublicClient,
  | 'call'
  | 'getBalance'
  | 'getBlock'
  | 'getBlockNumber'
  | 'getChainId'
  | 'getCode'
  | 'getGasPrice'
  | 'getTransaction'
  | 'getTransactionCount'
  | 'getTransactionReceipt'
  | 'readContract'
  | 'request'
>;

export type Sendable = { to?: Address; data: Hex; value?: bigint; gas?: bigint };

/**
 * Signs and broadcasts. Every field is named here: viem asks the node for each one that is missing.
 * @returns the hash; nothing is mined yet for certain.
 */
export async function sendSigned(
  client: ChainClient,
  account: LocalAccount,
  request: Sendable & { gas: bigint; nonce: number },
): Promise<Hex> {
  return client.sendRawTransaction({
    serializedTransaction: await account.signTransaction({
      ...request,
      type: 'eip1559',
      chainId: CHAIN_ID,
      maxFeePerGas: MAX_FEE,
      maxPriorityFeePerGas: 0n,
    }),
  });
}

/**
 * The node's estimate and a quarter more. By the bare method: viem's action asks the node for fees first.
 * `at`: on the state after this block, so that a node which does not have it yet refuses; absent: after its newest.
 */
export async function estimateGas(
  client: Pick<ReadClient, 'request'>,
  from: Address,
  { to, data, value }: Sendable,
  at?: bigint,
): Promise<bigint> {
  const call = {
    from,
    data,
    ...(to === undefined ? {} : { to }),
    ...(value === undefined ? {} : { value: toHex(value) }),
  };
  const gas = await client.request({
    method: 'eth_estimateGas',
    params: at === undefined ? [call] : [call, toHex(at)],
  });
  return (BigInt(gas) * 5n) / 4n;
}

/**
 * Sends and waits for the receipt. Throws with the reason when it reverts: by the estimate when `gas` is absent,
 * by a replay of the call when a receipt says so.
 */
export async function transact(
  client: ChainClient,
  account: LocalAccount,
  request: Sendable,
): Promise<TransactionReceipt> {
  const gas = request.gas ?? (await estimateGas(client, account.address, request));
  const hash = await sendNext(client, account, { ...request, gas });
  const receipt = await receiptOf(client, hash, 60_000);
  if (receipt.status !== 'success') {
    await client.call({ account: account.address, ...request });
    throw new Error(`transaction ${hash} reverted (gas used ${receipt.gasUsed})`);
  }
  return receipt;
}

/** Two processes may share a dev key (the market and a push of its prices): who loses the nonce takes the next one. */
async function sendNext(
  client: ChainClient,
  account: LocalAccount,
  request: Sendable & { gas: bigint },
): Promise<Hex> {
  for (let attempt = 1; ; attempt++) {
    const nonce = await client.getTransactionCount({
      address: account.address,
      blockTag: 'pending',
    });
    try {
      return await sendSigned(client, account, { ...request, nonce });
    } catch (error) {
      // expected: the node refused it for its nonce, so nothing of it will ever be mined
      const taken = /nonce too low|underpriced/i.test(reasonOf(error));
      if (!taken || attempt === MAX_NONCE_RACES) throw error;
    }
  }
}

/** Polls for a receipt: with a block per transaction it is there at once. Throws after `timeoutMs`. */
export async function receiptOf(
  client: ChainClient,
  hash: Hex,
  timeoutMs: number,
): Promise<TransactionReceipt> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await client.getTransactionReceipt({ hash });
    } catch (error) {
      // expected until it is mined
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
      if (Date.now() > deadline) throw new Error(`no receipt of ${hash}`, { cause: error });
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Calls a contract's function by transaction and waits. Throws with the reason when it reverts. */
export async function write<
  const abi extends Abi,
  name extends ContractFunctionName<abi, 'nonpayable' | 'payable'>,
>(
  client: ChainClient,
  account: LocalAccount,
  call: {
    address: Address;
    abi: abi;
    functionName: name;
    args: ContractFunctionArgs<abi, 'nonpayable' | 'payable', name>;
    value?: bigint;
    gas?: bigint;
  },
): Promise<TransactionReceipt> {
  const data = encodeFunctionData<Abi, string>({
    abi: call.abi,
    functionName: call.functionName,
    args: call.args as readonly unknown[],
  });
  try {
    return await transact(client, account, {
      to: call.address,
      data,
      ...(call.value === undefined ? {} : { value: call.value }),
      ...(call.gas === undefined ? {} : { gas: call.gas }),
    });
  } catch (cause) {
    const what = `${call.functionName as string} on ${call.address}`;
    throw new Error(`${what} failed: ${reasonOf(cause)}`, { cause });
  }
}

/** The reason without the calldata: viem's messages carry all of it, and creation code is long. */
export function reasonOf(cause: unknown): string {
  const text =
    cause instanceof BaseError
      ? cause.details || cause.shortMessage
      : cause instanceof Error
        ? cause.message
        : String(cause);
  // A contract chooses this text: keep it short and printable.
  return text.slice(0, 300).replaceAll(/[^\x20-\x7e]/g, '');
}
