/** The signature of a version: made in time, and by the key that the action names. */
import { type Hex, isAddressEqual, recoverAddress } from 'viem';
import { type Signable, type Signer, sign } from './signable.ts';
import { within } from './waits.ts';

/** The signer failed; nothing of this signature was posted. */
export class SignerError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'SignerError';
  }
}

/** A signature that the module takes: by the key itself, over our own digest. */
export async function signed(
  signer: Signer,
  signable: Signable,
  digest: Hex,
  timeoutMs: number,
): Promise<Hex> {
  let signature: Hex;
  try {
    signature = await within('the signer', timeoutMs, sign(signer, signable));
    const by = await recoverAddress({ hash: digest, signature });
    if (isAddressEqual(by, signer.address)) return signature;
  } catch (cause) {
    throw new SignerError('the signer gave no signature', { cause });
  }
  throw new SignerError('the signature is not of the signer’s key over this action');
}
