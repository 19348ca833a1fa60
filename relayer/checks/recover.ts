/**
 * Public-key recovery: by libsecp256k1 where its package has a binary for the machine (0.1 ms), else in JavaScript
 * (3 to 5 ms of the one thread that also answers everybody else).
 */
import { type Address, type Hex, hexToBytes, recoverAddress, toHex } from 'viem';
import { publicKeyToAddress } from 'viem/accounts';

type Recover = (digest: Hex, signature: Hex) => Promise<Address>;

const inJavaScript: Recover = (hash, signature) => recoverAddress({ hash, signature });

async function nativeRecover(): Promise<Recover | null> {
  try {
    const { default: binding } = await import('secp256k1/bindings.js');
    return async (digest, signature) => {
      const bytes = hexToBytes(signature);
      const recoveryId = (bytes[64] ?? 0) - 27;
      const key = binding.ecdsaRecover(
        bytes.subarray(0, 64),
        recoveryId,
        hexToBytes(digest),
        false,
      );
      return publicKeyToAddress(toHex(key));
    };
  } catch {
    // Expected: the package has no binary for this machine.
    return null;
  }
}

const native = await nativeRecover();

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
