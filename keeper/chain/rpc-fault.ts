/** Tells what a failed RPC call was, by its structure: JSON-RPC code and revert data, never by its words. */
import { type Hex, RpcRequestError } from 'viem';
import { capRevertData } from './revert.ts';

export type RpcFault =
  /** The node ran the call and it reverted. */
  | { tag: 'reverted'; data: Hex }
  /** The node does not offer the method. */
  | { tag: 'no_such_method' }
  /**
   * No answer, or one that says nothing about the call: connection, time-out, rate limit, fault of the node.
   * `answered`: the node read this very call and could not run it, which may be the call's own doing.
   */
  | { tag: 'unavailable'; why: string; answered: boolean };

const EXECUTION_REVERTED = 3;
const METHOD_NOT_FOUND = -32601;
const METHOD_NOT_SUPPORTED = -32004;
const LIMIT_EXCEEDED = -32005;

/** Classifies anything thrown by an RPC call. */
export function rpcFaultOf(error: unknown): RpcFault {
  const answer = findRpcRequestError(error);
  if (answer !== null) {
    if (answer.code === METHOD_NOT_FOUND || answer.code === METHOD_NOT_SUPPORTED)
      return { tag: 'no_such_method' };
    const data = hexIn(answer.data);
    if (answer.code === EXECUTION_REVERTED || data !== null) {
      return { tag: 'reverted', data: capRevertData(data) };
    }
    const answered = answer.code !== LIMIT_EXCEEDED;
    return { tag: 'unavailable', why: `RPC error ${answer.code}`, answered };
  }
  const why = error instanceof Error ? error.name : 'unknown fault';
  return { tag: 'unavailable', why, answered: false };
}

function findRpcRequestError(error: unknown): RpcRequestError | null {
  let current = error;
  // A bound: a cause that points at itself must not hang the loop.
  for (let depth = 0; depth < 10 && current instanceof Error; depth += 1) {
    if (current instanceof RpcRequestError) return current;
    current = current.cause;
  }
  return null;
}

/** Nodes put revert data either as hex or inside an object. */
function hexIn(data: unknown): Hex | null {
  if (typeof data === 'string' && data.startsWith('0x')) return data as Hex;
  if (typeof data === 'object' && data !== null && 'data' in data) return hexIn(data.data);
  return null;
}
