/** Dry runs of a module's `execute` as the wallet that would send it: by estimate, or in a simulated block behind others. */
import {
  type Address,
  BaseError,
  type Hex,
  numberToHex,
  type PublicClient,
  RpcRequestError,
} from 'viem';
import { z } from 'zod';
import { revertDataOf } from '../../contracts-abi/revert.ts';
import { mulDivUp } from '../../contracts-abi/rounding.ts';
import { within } from '../../runtime/deadline.ts';

export type Call = { from: Address; to: Address; data: Hex };

export type Simulation = { tag: 'passed'; gas: bigint } | { tag: 'reverted'; data: Hex | null };

/** JSON-RPC's "execution reverted" (geth and everything after it). */
const REVERTED = 3;

/**
 * @param call `execute` calldata to the session module, `from` the submitting wallet.
 * @throws viem's error when the node cannot say whether the call passes.
 */
export async function simulate(client: PublicClient, call: Call): Promise<Simulation> {
  try {
    // Named: left out, some nodes take the newest block and some add what waits in their own pool.
    const gas = await client.request({ method: 'eth_estimateGas', params: [call, 'latest'] });
    return { tag: 'passed', gas: BigInt(gas) };
  } catch (error) {
    const revert = revertOf(error);
    if (revert !== null && revert.data !== null) return { tag: 'reverted', data: revert.data };
    if (revert === null && rpcErrorOf(error) === null) throw error;
    return await callForReason(client, call, error);
  }
}

/** One transaction of a simulated block; `gas` is its limit. */
export type SimulatedCall = Call & { gas: bigint };

/** `used`: gas after refunds. `unavailable`: the node has no such simulation, or none of so much. */
export type SimulationInBlock =
  | { tag: 'passed'; used: bigint }
  | { tag: 'reverted'; data: Hex | null }
  | { tag: 'unavailable' };

/** One block of a few actions takes a node some milliseconds. */
const SIMULATED_MS = 3_000;

/** Blocks of the chain hold more than any node simulates at once. */
const SIMULATED_BLOCK_GAS = 10n ** 12n;

/**
 * The dry run of the last call behind all others in one block on top of the newest (eth_simulateV1). What the others
 * come to is not looked at: one that is in the chain already reverts here, and its effect is there.
 */
export async function simulateAfter(
  client: PublicClient,
  before: readonly SimulatedCall[],
  call: SimulatedCall,
): Promise<SimulationInBlock> {
  const calls = [...before, call].map((one) => ({ ...one, gas: numberToHex(one.gas) }));
  const blockOverrides = { gasLimit: numberToHex(SIMULATED_BLOCK_GAS) };
  let blocks: unknown;
  try {
    const asked = client.request<SimulateV1>({
      method: 'eth_simulateV1',
      params: [{ blockStateCalls: [{ blockOverrides, calls }], validation: false }, 'latest'],
    });
    blocks = await within(asked, SIMULATED_MS, 'a simulated block');
  } catch {
    // Expected: of a node without it by an error, of a gateway that lets only some methods through by an HTTP status,
    // a broken connection or silence. Whether the chain is in reach at all the estimate says.
    return { tag: 'unavailable' };
  }
  const parsed = simulatedBlocks.safeParse(blocks);
  const last = parsed.success ? parsed.data[0]?.calls.at(-1) : undefined;
  if (last === undefined || parsed.data?.[0]?.calls.length !== calls.length) {
    return { tag: 'unavailable' };
  }
  if (last.status === '0x1') return { tag: 'passed', used: BigInt(last.gasUsed) };
  return { tag: 'reverted', data: revertDataOf(last.error) ?? (last.returnData as Hex) };
}

type SimulateV1 = {
  Method: 'eth_simulateV1';
  Parameters: [unknown, 'latest'];
  ReturnType: unknown;
};

const simulatedBlocks = z.array(
  z.object({
    calls: z.array(
      z.object({
        status: z.string(),
        gasUsed: z.string().regex(/^0x[0-9a-f]+$/),
        returnData: z.string().regex(/^0x[0-9a-f]*$/),
        error: z.unknown().optional(),
      }),
    ),
  }),
);

/** The gas used is told less the refund, which is at most a fifth (EIP-3529) and comes only at the end. */
export function withRefund(gasUsed: bigint): bigint {
  return mulDivUp(gasUsed, 5n, 4n);
}

/** Some nodes leave the revert data out of an estimate, or answer with a code of their own: a plain call knows. */
async function callForReason(
  client: PublicClient,
  call: Call,
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
