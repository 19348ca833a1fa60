/**
 * A call run as the transaction that it would be: with its gas limit, at the base fee and gas price of now. A plain
 * simulation shows a contract a price of zero, by which it can tell that nobody is paying. Where a node does not take
 * it, nothing is known; and a contract may tell a block apart in other ways still.
 */
import { type Address, type Hex, numberToHex, type PublicClient } from 'viem';
import { within } from '../../runtime/deadline.ts';
import { netTransfers } from '../../runtime/chain/receipt.ts';
import { rpcFaultOf } from './rpc-fault.ts';

export type Rehearsal =
  | { tag: 'passed'; gainUsdg: bigint }
  | { tag: 'reverted' }
  /** The node does not run calls at a price, or the wallet could not pay for it. */
  | { tag: 'unknown' }
  | { tag: 'unavailable'; why: string };

/** `gasPriceWei`: what the sender would pay now. */
export type Rehearse = (
  call: { from: Address; to: Address; data: Hex },
  gasLimit: bigint,
  gasPriceWei: bigint,
) => Promise<Rehearsal>;

type Block = { calls: readonly { status: Hex; logs?: Parameters<typeof netTransfers>[0] }[] };

/** @param options.tipWei what the sender adds to the base fee, wei per gas */
export function createRehearsal(options: {
  client: PublicClient;
  usdg: Address;
  tipWei: bigint;
  timeoutMs: number;
}): Rehearse {
  const { client, usdg, tipWei, timeoutMs } = options;
  return async (call, gasLimit, gasPriceWei) => {
    const transaction = {
      ...call,
      gas: numberToHex(gasLimit),
      // The base fee may have risen since; more than this would ask more of the wallet than it will spend.
      maxFeePerGas: numberToHex(gasPriceWei * 2n),
      maxPriorityFeePerGas: numberToHex(tipWei),
    };
    try {
      const blocks = await within<readonly Block[]>(
        client.request({
          method: 'eth_simulateV1',
          params: [{ blockStateCalls: [{ calls: [transaction] }], validation: true }, 'latest'],
        } as never),
        timeoutMs,
        'eth_simulateV1',
      );
      const ran = blocks[0]?.calls[0];
      if (ran === undefined) return { tag: 'unknown' };
      if (ran.status !== '0x1') return { tag: 'reverted' };
      return { tag: 'passed', gainUsdg: netTransfers(ran.logs ?? [], usdg, call.from) };
    } catch (error) {
      const fault = rpcFaultOf(error);
      const isSilence = fault.tag === 'unavailable' && !fault.answered;
      return isSilence ? { tag: 'unavailable', why: fault.why } : { tag: 'unknown' };
    }
  };
}
