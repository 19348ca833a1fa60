/** Whether the typed data of a plan is that of its action under our own domain. */
import type { Violation } from './outcome.ts';
import { type Signable, typedDataOf } from './signable.ts';

/**
 * The first field of `actual` that is not ours, or null. Nobody signs `actual`: a difference says that the service
 * speaks of another chain, module or action than the host, and such a plan is not to be trusted in the rest either.
 */
export function typedDataDifference(signable: Signable, actual: unknown): Violation | null {
  const ours = typedDataOf(signable);
  // Signers that derive it leave it out.
  const derives = isRecord(actual) && isRecord(actual.types) && !('EIP712Domain' in actual.types);
  const { EIP712Domain: _, ...types } = ours.types;
  const field = difference(derives ? { ...ours, types } : ours, actual, 'typedData');
  return field === null ? null : { field, reason: 'is not that of the action under our domain' };
}

function difference(ours: unknown, theirs: unknown, path: string): string | null {
  if (isRecord(ours)) {
    if (!isRecord(theirs)) return path;
    for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
      const found = difference(ours[key], theirs[key], `${path}.${key}`);
      if (found !== null) return found;
    }
    return null;
  }
  if (Array.isArray(ours)) {
    if (!Array.isArray(theirs) || theirs.length !== ours.length) return path;
    for (const [index, each] of ours.entries()) {
      const found = difference(each, theirs[index], `${path}.${index}`);
      if (found !== null) return found;
    }
    return null;
  }
  return plain(ours) === plain(theirs) ? null : path;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Addresses and bytes are the same in either case. */
function plain(value: unknown): unknown {
  return typeof value === 'string' && value.startsWith('0x') ? value.toLowerCase() : value;
}
