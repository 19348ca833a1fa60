/**
 * What a revert means to a keeper. Only the selector and arguments of the protocol's own custom errors are read;
 * anything else is opaque. A contract may return 100 kB of it: what is read, logged and stored is capped here.
 */
import type { Hex } from 'viem';
import { decodeRevert, describeRevert } from '../../contracts-abi/revert.ts';
import type { AttemptKind } from '../work.ts';

/** Bytes of revert data that are kept; every error of the protocol is far shorter. */
const MAX_KEPT_BYTES = 1_024;

export type Revert =
  /** The trigger does not hold, or cannot be known, at this moment. */
  | { tag: 'not_due'; text: string }
  /** Filled, cancelled, sent back, or never there: somebody else was first. */
  | {
      tag: 'closed';
      text: string;
      /** The chain has never heard of it. */
      isUnknown?: true;
    }
  | { tag: 'below_floor'; text: string; got: bigint; floor: bigint }
  | { tag: 'expired'; text: string }
  | { tag: 'paused'; text: string }
  | { tag: 'already_armed'; text: string }
  | { tag: 'other'; text: string };

/** The first bytes of revert data, so that nothing downstream carries more. */
export function capRevertData(data: Hex | null | undefined): Hex {
  return (data ?? '0x').slice(0, 2 + 2 * MAX_KEPT_BYTES) as Hex;
}

/** Reads revert data of a call that executes or arms `work`. */
export function readWorkRevert(
  revertData: Hex | null | undefined,
  work: { kind: AttemptKind; id: string },
): Revert {
  const { kind, id } = work;
  const isOrder = kind === 'fill' || kind === 'arm' || kind === 'foreign';
  return isOrder ? readRevert(revertData, id as Hex) : readCoverRevert(revertData);
}

/** Reads revert data of a call of the cover market: its steps name no order, and speak about one market alone. */
function readCoverRevert(revertData: Hex | null | undefined): Revert {
  const data = revertData ?? null;
  const text = describeRevert(data);
  const decoded = data === null ? null : decodeRevert(data);
  if (decoded === null) return { tag: 'other', text };
  switch (decoded.name) {
    case 'WrongOutcome':
    case 'NothingToPay':
      return { tag: 'closed', text };
    case 'NothingSold':
      return { tag: 'closed', text, isUnknown: true };
    case 'TooLate':
      return { tag: 'expired', text };
    case 'TooEarly':
    case 'NoValidWindow':
    case 'NoReference':
      return { tag: 'not_due', text };
    default:
      return { tag: 'other', text };
  }
}

/** Reads revert data of a call about order `id`. An error that names another order says nothing about ours. */
export function readRevert(revertData: Hex | null | undefined, id: Hex): Revert {
  const data = revertData ?? null;
  const text = describeRevert(data);
  const decoded = data === null ? null : decodeRevert(data);
  // Null is expected: an error of a token or router that we do not know.
  if (decoded === null) return { tag: 'other', text };
  const { name, args } = decoded;
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
      return { tag: 'closed', text };
    case 'UnknownOrder':
      return { tag: 'closed', text, isUnknown: true };
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
