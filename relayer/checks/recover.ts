/** Public-key recovery, alone in its file so that a native implementation can take its place. */
import { type Address, type Hex, recoverAddress } from 'viem';

/** The signer of `digest`, or null when the values recover no key. `signature` is r, s, v: 65 bytes. */
export async function recoverSigner(digest: Hex, signature: Hex): Promise<Address | null> {
  try {
    return await recoverAddress({ hash: digest, signature });
  } catch {
    // Expected: r is no point of the curve.
    return null;
  }
}
