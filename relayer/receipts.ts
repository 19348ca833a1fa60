/** Signs receipts of accepted actions. The same claim gives the same bytes, from any process with the same wallet. */
import type { LocalAccount } from 'viem/accounts';
import { keccak256 } from '../runtime/keys/keccak.ts';
import { acceptanceHash, type Receipt } from './receipt.ts';
import type { Slot } from './slots.ts';

type Claimed = Pick<Slot, 'id' | 'state' | 'digest' | 'claimedAt'>;

export type Receipts = {
  /** Null while the slot is open: nothing was accepted. */
  of(slot: Claimed): Promise<Receipt | null>;
};

/** Repeats and status requests of recent actions are not signed anew. */
const MOST_KEPT = 2_000;

export function createReceipts(signer: LocalAccount): Receipts {
  const { sign } = signer;
  if (sign === undefined) throw new Error('the first wallet cannot sign a hash');
  const kept = new Map<string, Promise<Receipt>>();

  const signed = async (slot: Claimed, acceptedAtMs: number): Promise<Receipt> => {
    const { module, account, nonce } = slot.id;
    const acceptance = {
      slot: { module, account, nonce: nonce.toString() },
      digest: slot.digest,
      acceptedAt: Math.floor(acceptedAtMs / 1_000),
    };
    const signature = await sign({ hash: acceptanceHash(acceptance, keccak256) });
    return { ...acceptance, signer: signer.address, signature };
  };

  return {
    of: async (slot) => {
      // A slot that was claimed by an earlier version of the relayer has no time of its own.
      if (slot.state === 'open' || slot.claimedAt === null) return null;
      const key = `${slot.digest}:${slot.claimedAt}`;
      const known = kept.get(key);
      if (known !== undefined) return await known;
      if (kept.size >= MOST_KEPT) {
        for (const oldest of kept.keys()) {
          kept.delete(oldest);
          break;
        }
      }
      const receipt = signed(slot, slot.claimedAt);
      kept.set(key, receipt);
      return await receipt;
    },
  };
}
