/**
 * The relayer's signed word that it accepted an action: from then on it sends it, or says why it did not. A host keeps
 * it with its journal; who runs the relayer cannot deny it later. For Node and the browser.
 *
 * EIP-712, domain {name "basket relayer", version "1", chainId 4663}, primary type
 * `Acceptance(address module,address account,uint256 nonce,bytes32 digest,uint64 acceptedAt)`, signed by the
 * relayer's first wallet.
 */
import { type Address, type Hex, recoverAddress } from 'viem';
import { z } from 'zod';
import { CHAIN_ID } from '../contracts-abi/constants.ts';
import { type FlatType, flatDigest, type Keccak256 } from '../contracts-abi/flat-digest.ts';
import {
  addressSchema,
  bytesSchema,
  firstProblem,
  hash32Schema,
  uintStringSchema,
} from '../runtime/schema.ts';

const DOMAIN = { name: 'basket relayer', version: '1', chainId: CHAIN_ID };
const ACCEPTANCE: FlatType = {
  name: 'Acceptance',
  fields: [
    { name: 'module', type: 'address' },
    { name: 'account', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'digest', type: 'bytes32' },
    { name: 'acceptedAt', type: 'uint64' },
  ],
};

export type Acceptance = {
  /** `nonce`: uint256 as decimal text. */
  slot: { module: Address; account: Address; nonce: string };
  /** EIP-712 digest of the action that was accepted. */
  digest: Hex;
  /** Unix seconds by the relayer's clock. */
  acceptedAt: number;
};

export type Receipt = Acceptance & { signer: Address; signature: Hex };

const SIGNATURE_BYTES = 65;

export const receiptSchema = z.object({
  slot: z.object({ module: addressSchema, account: addressSchema, nonce: uintStringSchema }),
  digest: hash32Schema,
  acceptedAt: z.int().nonnegative(),
  signer: addressSchema,
  signature: bytesSchema(SIGNATURE_BYTES),
});

/** What is signed. */
export function acceptanceHash({ slot, digest, acceptedAt }: Acceptance, hash?: Keccak256): Hex {
  const { module, account, nonce } = slot;
  const message = { module, account, nonce: BigInt(nonce), digest, acceptedAt };
  return flatDigest(DOMAIN, ACCEPTANCE, message, hash);
}

export type ReceiptVerdict = { ok: true; receipt: Receipt } | { ok: false; why: string };

/**
 * Judges a receipt as it came in an answer's `receipt`. Never throws.
 *
 * @param expected.digest of the action that the host signed; a receipt for another one proves nothing about it.
 * @param expected.signer the relayer's address where the host knows it (its first wallet); without it the receipt
 * only shows that whoever it names signed it.
 * @example
 * const verdict = await verifyReceipt(body.receipt, { digest, signer: relayerWallet });
 * if (!verdict.ok) throw new Error(verdict.why);
 */
export async function verifyReceipt(
  given: unknown,
  expected: { digest: Hex; signer?: Address },
): Promise<ReceiptVerdict> {
  const parsed = receiptSchema.safeParse(given);
  if (!parsed.success) return { ok: false, why: `no receipt: ${firstProblem(parsed.error)}` };
  const receipt = parsed.data;
  if (receipt.digest !== expected.digest.toLowerCase()) {
    return { ok: false, why: 'the receipt is of another action' };
  }
  if (
    expected.signer !== undefined &&
    receipt.signer.toLowerCase() !== expected.signer.toLowerCase()
  ) {
    return { ok: false, why: 'the receipt names another signer than the relayer' };
  }
  try {
    const hash = acceptanceHash(receipt);
    const signer = await recoverAddress({ hash, signature: receipt.signature });
    if (signer === receipt.signer) return { ok: true, receipt };
  } catch {
    // Expected: the bytes recover no key.
  }
  return { ok: false, why: 'the signature is not of the signer that the receipt names' };
}
