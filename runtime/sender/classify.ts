/**
 * What an error of a node means, decided by structure first: revert data and code 3 are a contract speaking, and a
 * contract can choose its words, so after them no text is read. Only the node's own messages, from the start of the
 * line, tell the kinds of a rejected transaction apart; and no kind is believed about a nonce before the chain's
 * count was read.
 */
import type { Hex } from 'viem';
import type { RpcAnswer } from './rpc.ts';

/** Longest revert data that is kept: 4 kB tell any custom error; a callback may return megabytes. */
const MOST_REVERT_CHARACTERS = 2 + 2 * 4_096;
const MOST_MESSAGE_CHARACTERS = 300;

export type Revert = { message: string; revertData: Hex | null };

type NodeError = Extract<RpcAnswer, { tag: 'error' }>;

/** The revert that an error answer carries, or null when the error is the node's own. */
export function revertOf(error: NodeError): Revert | null {
  const found = hexIn(error.data);
  const said = /^(execution reverted|VM Exception|EVM error|out of gas|gas required exceeds)/i;
  if (error.code !== 3 && found === null && !said.test(error.message)) return null;
  const revertData = found === null ? null : (found.slice(0, MOST_REVERT_CHARACTERS) as Hex);
  return { message: shortMessage(error.message), revertData };
}

/** Nodes put revert data into `data`, `data.data`, `data.result` or `data.originalError.data`. */
function hexIn(data: unknown, depth = 0): Hex | null {
  if (typeof data === 'string') return /^0x([0-9a-fA-F]{2})*$/.test(data) ? (data as Hex) : null;
  if (typeof data !== 'object' || data === null || depth > 2) return null;
  const { data: inner, result, originalError } = data as Record<string, unknown>;
  return hexIn(inner, depth + 1) ?? hexIn(result, depth + 1) ?? hexIn(originalError, depth + 1);
}

/** One line, printable, of bounded length. */
export function shortMessage(text: string): string {
  // Control characters can forge log lines.
  return text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, MOST_MESSAGE_CHARACTERS);
}

export type EstimateVerdict =
  | { tag: 'gas'; gas: bigint }
  | ({ tag: 'reverted' } & Revert)
  | { tag: 'insufficient_funds'; message: string }
  | { tag: 'rejected'; message: string }
  | { tag: 'retry'; message: string };

export function classifyEstimate(answer: RpcAnswer): EstimateVerdict {
  if (answer.tag === 'result') {
    const gas = quantity(answer.result);
    return gas === null
      ? { tag: 'retry', message: 'the gas estimate is not a number' }
      : { tag: 'gas', gas };
  }
  if (answer.tag !== 'error') return { tag: 'retry', message: answer.message };
  const revert = revertOf(answer);
  if (revert) return { tag: 'reverted', ...revert };
  const message = shortMessage(answer.message);
  if (/^insufficient funds/i.test(answer.message)) return { tag: 'insufficient_funds', message };
  // -32603 and -32000 without more also stand for "missing trie node", "header not found" and other faults that pass.
  return answer.code === -32_602 || answer.code === -32_601
    ? { tag: 'rejected', message }
    : { tag: 'retry', message };
}

export type SendVerdict =
  /** A node has it. */
  | { tag: 'accepted' }
  /** Nobody processed the request. */
  | { tag: 'not_delivered'; message: string }
  /** It may be out. */
  | { tag: 'unknown'; message: string }
  /** The node says that the nonce is consumed: to be checked against the chain. */
  | { tag: 'nonce_consumed'; message: string }
  /** The fee is below the base fee or the replacement bump. */
  | { tag: 'underpriced'; message: string }
  | { tag: 'insufficient_funds'; message: string }
  /** The node would not take it, for a reason of its own or because it reverts there. */
  | { tag: 'rejected'; message: string };

/** One verdict from the answers of every endpoint that was asked; the strongest claim that it may be out wins. */
export function classifySend(answers: readonly RpcAnswer[]): SendVerdict {
  const verdicts = answers.map(sendVerdict);
  const order: SendVerdict['tag'][] = [
    'accepted',
    'unknown',
    'nonce_consumed',
    'underpriced',
    'insufficient_funds',
    'rejected',
    'not_delivered',
  ];
  for (const tag of order) {
    const verdict = verdicts.find((candidate) => candidate.tag === tag);
    if (verdict) return verdict;
  }
  return { tag: 'not_delivered', message: 'no endpoint was asked' };
}

function sendVerdict(answer: RpcAnswer): SendVerdict {
  if (answer.tag === 'result') return { tag: 'accepted' };
  if (answer.tag !== 'error') return { tag: answer.tag, message: answer.message };
  const message = shortMessage(answer.message);
  if (revertOf(answer)) return { tag: 'rejected', message };
  const text = answer.message;
  if (/^(already known|known transaction|transaction already imported)/i.test(text)) {
    return { tag: 'accepted' };
  }
  if (/^nonce too low/i.test(text)) return { tag: 'nonce_consumed', message };
  if (
    /^(replacement transaction underpriced|transaction underpriced|max fee per gas less than block base fee|fee cap|future transaction tries to replace)/i.test(
      text,
    )
  ) {
    return { tag: 'underpriced', message };
  }
  if (/^insufficient funds/i.test(text)) return { tag: 'insufficient_funds', message };
  // An internal fault says nothing about whether the bytes went on.
  if (answer.code === -32_603) return { tag: 'unknown', message };
  return { tag: 'rejected', message };
}

/** A JSON-RPC quantity ("0x1b4") as bigint, or null. */
export function quantity(value: unknown): bigint | null {
  return typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value) ? BigInt(value) : null;
}
