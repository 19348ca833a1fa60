/**
 * Public-key recovery: by libsecp256k1 where its package has a binary for the machine (0.1 ms), else in JavaScript
 * (3 to 5 ms of the one thread that also answers everybody else).
 */
import { type Address, type Hex, hexToBytes, recoverAddress, toHex } from 'viem';
import { publicKeyToAddress } from 'viem/accounts';
import { type NativeCurve, nativeCurve } from '../../runtime/keys/curve.ts';

type Recover = (digest: Hex, signature: Hex) => Promise<Address>;

const inJavaScript: Recover = (hash, signature) => recoverAddress({ hash, signature });

const native: Recover | null = nativeCurve === null ? null : nativeRecover(nativeCurve);

function nativeRecover(curve: NativeCurve): Recover {
  return async (digest, signature) => {
    const bytes = hexToBytes(signature);
    const recoveryId = (bytes[64] ?? 0) - 27;
    const key = curve.ecdsaRecover(bytes.subarray(0, 64), recoveryId, hexToBytes(digest), false);
    return publicKeyToAddress(toHex(key));
  };
}

/** Told at the start: without it signatures cost a core what the chain costs. */
export const recoversNatively = native !== null;

/** The signer of `digest`, or null when the values recover no key. `signature` is r, s, v: 65 bytes, v 27 or 28. */
export async function recoverSigner(
  digest: Hex,
  signature: Hex,
  recover: Recover = native ?? inJavaScript,
): Promise<Address | null> {
  try {
    return await recover(digest, signature);
  } catch {
    // Expected: r is no point of the curve.
    return null;
  }
}
