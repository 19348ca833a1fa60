/** The last fee that the relayer asked for each kind of action, so that the next one is signed right the first time. */
import type { KindName } from './signable.ts';

export type FeeMemory = {
  /** What to sign for this kind, USDG base units: what was asked last, never above `most`; null where nothing is known. */
  recall(kind: KindName, most: bigint): bigint | null;
  note(kind: KindName, fee: bigint): void;
};

export function createFeeMemory(): FeeMemory {
  // Bounded by the number of kinds.
  const fees = new Map<KindName, bigint>();
  return {
    recall: (kind, most) => {
      const fee = fees.get(kind);
      return fee === undefined || fee > most ? null : fee;
    },
    note: (kind, fee) => {
      // The contract takes no fee of a cancel.
      if (kind !== 'cover-cancel') fees.set(kind, fee);
    },
  };
}
