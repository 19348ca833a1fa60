/**
 * What a revert means to a keeper. Only the selector and arguments of the protocol's own custom errors are read;
 * anything else is opaque. A contract may return 100 kB of it: what is read, logged and stored is capped here.
 */
import { type Abi, decodeErrorResult, type Hex } from 'viem';
import {
  basketRegistryAbi,
  basketVaultAbi,
  basketZapperAbi,
  exitEscrowAbi,
  limitEscrowAbi,
  navOracleAbi,
} from '../../contracts-abi/generated/index.ts';

/** Bytes of revert data that are looked at; every error of the protocol is far shorter. */
const MAX_REVERT_BYTES = 1_024;
const MAX_TEXT = 200;

export type Revert =
  /** The trigger does not hold, or cannot be known, at this moment. */
  | { tag: 'not_due'; text: string }
  /** Filled, cancelled, sent back, or never there: somebody else was first. */
  | { tag: 'closed'; text: string }
  | { tag: 'below_floor'; text: string; got: bigint; floor: bigint }
  | { tag: 'expired'; text: string }
  | { tag: 'paused'; text: string }
  | { tag: 'already_armed'; text: string }
  | { tag: 'other'; text: string };

type AbiErrorItem = Extract<Abi[number], { type: 'error' }>;

const signatureOf = (item: AbiErrorItem): string =>
  `${item.name}(${item.inputs.map(({ type }) => type).join(',')})`;

/** Errors of every contract that a fill runs through; several contracts share some. */
const errors: Abi = [
  ...new Map(
    [
      exitEscrowAbi,
      limitEscrowAbi,
      navOracleAbi,
      basketZapperAbi,
      basketVaultAbi,
      basketRegistryAbi,
    ]
      .flatMap((abi): AbiErrorItem[] => (abi as Abi).filter((item) => item.type === 'error'))
      .map((item) => [signatureOf(item), item]),
  ).values(),
];

/** The first bytes of revert data, so that nothing downstream carries more. */
export function capRevertData(data: Hex | null | undefined): Hex {
  return (data ?? '0x').slice(0, 2 + 2 * MAX_REVERT_BYTES) as Hex;
}

/** Reads revert data of a call about order `id`. An error that names another order says nothing about ours. */
export function readRevert(revertData: Hex | null | undefined, id: Hex): Revert {
  const size = revertData === null || revertData === undefined ? 0 : (revertData.length - 2) / 2;
  const data = capRevertData(revertData);
  if (size < 4) return { tag: 'other', text: 'reverted without data' };
  let name: string;
  let args: readonly unknown[];
  try {
    const decoded = decodeErrorResult({ abi: errors, data });
    name = decoded.errorName;
    args = decoded.args ?? [];
  } catch {
    // Expected: an error of a token or router that we do not know, or one cut by the cap.
    return { tag: 'other', text: `unknown error ${data.slice(0, 10)} (${size} bytes)` };
  }
  const text = `${name}(${args.map((arg) => printable(arg)).join(', ')})`.slice(0, MAX_TEXT);
  switch (name) {
    case 'NoReference':
    case 'NoSpot':
      return { tag: 'not_due', text };
    case 'Paused':
      return { tag: 'paused', text };
    default:
      break;
  }
  if (typeof args[0] !== 'string' || args[0].toLowerCase() !== id.toLowerCase())
    return { tag: 'other', text };
  switch (name) {
    case 'NotTriggered':
      return { tag: 'not_due', text };
    case 'NotOpen':
    case 'UnknownOrder':
      return { tag: 'closed', text };
    case 'OrderIsExpired':
      return { tag: 'expired', text };
    case 'AlreadyArmed':
      return { tag: 'already_armed', text };
    case 'BelowFloor':
      if (typeof args[1] === 'bigint' && typeof args[2] === 'bigint') {
        return { tag: 'below_floor', text, got: args[1], floor: args[2] };
      }
      return { tag: 'other', text };
    default:
      return { tag: 'other', text };
  }
}

/** Strings inside an error are somebody else's words: printable ASCII only, short. */
function printable(value: unknown): string {
  return String(value)
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, 80);
}
