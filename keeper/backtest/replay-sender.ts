/** The sender of a replay: hands each intent to the scratch Anvil, which mines it at once. Nothing is signed here. */
import { type Address, type Hex, numberToHex, type PublicClient } from 'viem';
import type { Intent, IntentState, Sender, StoredIntent } from '../../runtime/sender/types.ts';
import { anvilRequest } from './scratch-anvil.ts';

const RECEIPT_MS = 10_000;
const POLL_MS = 20;

export function createReplaySender(options: {
  client: PublicClient;
  executor: Address;
  /** What the keeper's sender adds to the base fee, wei per gas. */
  tipWei: bigint;
  now: () => number;
}): Sender {
  const { client, executor, tipWei, now } = options;
  const stored = new Map<string, StoredIntent>();

  async function execute(intent: Intent): Promise<IntentState> {
    const head = await client.getBlock({ blockTag: 'latest', includeTransactions: false });
    const price = (head.baseFeePerGas ?? 0n) + tipWei;
    const most = intent.maxFeePerGas ?? price * 2n;
    if (most < price) return refused('fee_cap', 'the gas price is above what the fee allows');
    let hash: Hex;
    try {
      await anvilRequest(client, 'evm_setNextBlockTimestamp', [Number(head.timestamp) + 1]);
      hash = (await anvilRequest(client, 'eth_sendTransaction', [
        {
          from: intent.from ?? executor,
          to: intent.to,
          data: intent.data,
          value: numberToHex(intent.value),
          ...(intent.gas === undefined ? {} : { gas: numberToHex(intent.gas) }),
          maxFeePerGas: numberToHex(most),
          maxPriorityFeePerGas: numberToHex(tipWei),
        },
      ])) as Hex;
    } catch (error) {
      return refused('rejected_by_node', error instanceof Error ? error.name : 'unknown');
    }
    const receipt = await client.waitForTransactionReceipt({
      hash,
      timeout: RECEIPT_MS,
      pollingInterval: POLL_MS,
    });
    return {
      tag: receipt.status === 'success' ? 'mined' : 'reverted',
      wallet: receipt.from,
      nonce: 0,
      hash,
      blockNumber: receipt.blockNumber,
      blockHash: receipt.blockHash,
      gasUsed: receipt.gasUsed,
      effectiveGasPrice: receipt.effectiveGasPrice,
      confirmed: true,
    };
  }

  return {
    start: async () => undefined,
    freshen: async () => undefined,
    submit: async (intent) => {
      const known = stored.get(intent.key);
      if (known !== undefined) return known.state;
      const createdAt = now();
      const state = await execute(intent);
      stored.set(intent.key, { intent, state, createdAt, updatedAt: now() });
      return state;
    },
    wait: async (key) => stored.get(key)?.state ?? null,
    get: async (key) => stored.get(key) ?? null,
    recent: async (limit) => [...stored.values()].reverse().slice(0, limit),
    status: () => ({
      wallets: [{ address: executor, balanceWei: null, inFlight: 0, usable: true, reason: null }],
      queued: 0,
      inFlight: 0,
      oldestUnsettledMs: 0,
    }),
    onChange: () => () => undefined,
    stop: async () => undefined,
  };
}

function refused(reason: 'fee_cap' | 'rejected_by_node', message: string): IntentState {
  return { tag: 'refused', reason, message, revertData: null };
}
