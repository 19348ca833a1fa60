/** A dry run of `SessionModule.execute` as the wallet that would send it, which is its gas estimate as well. */
import { type Address, BaseError, type Hex, type PublicClient, RpcRequestError } from 'viem';
import { revertDataOf } from '../../contracts-abi/revert.ts';

export type Simulation = { tag: 'passed'; gas: bigint } | { tag: 'reverted'; data: Hex | null };

/** JSON-RPC's "execution reverted" (geth and everything after it). */
const REVERTED = 3;

/**
 * @param call `execute` calldata to the session module, `from` the submitting wallet.
 * @throws viem's error when the node cannot say whether the call passes.
 */
export async function simulate(
  client: PublicClient,
  call: { from: Address; to: Address; data: Hex },
): Promise<Simulation> {
  try {
    const gas = await client.request({ method: 'eth_estimateGas', params: [call] });
    return { tag: 'passed', gas: BigInt(gas) };
  } catch (error) {
    const revert = revertOf(error);
    if (revert !== null && revert.data !== null) return { tag: 'reverted', data: revert.data };
    if (revert === null && rpcErrorOf(error) === null) throw error;
    return await callForReason(client, call, error);
  }
}

/** Some nodes leave the revert data out of an estimate, or answer with a code of their own: a plain call knows. */
async function callForReason(
  client: PublicClient,
  call: { from: Address; to: Address; data: Hex },
  estimateError: unknown,
): Promise<Simulation> {
  try {
    await client.request({ method: 'eth_call', params: [call, 'latest'] });
  } catch (error) {
    const revert = revertOf(error);
    if (revert !== null) return { tag: 'reverted', data: revert.data };
    throw error;
  }
  // The call passes and the estimate does not: the node's fault, or more gas than a block has.
  throw estimateError;
}

/** The JSON-RPC error inside viem's, or null when no node answered. */
function rpcErrorOf(error: unknown): RpcRequestError | null {
  if (!(error instanceof BaseError)) return null;
  const found = error.walk((cause) => cause instanceof RpcRequestError);
  return found instanceof RpcRequestError ? found : null;
}

/** Known by structure: the code, or revert data in the JSON-RPC error; never by words. */
function revertOf(error: unknown): { data: Hex | null } | null {
  const rpc = rpcErrorOf(error);
  if (rpc === null) return null;
  const data = revertDataOf(rpc);
  if (rpc.code !== REVERTED && data === null) return null;
  return { data };
}
