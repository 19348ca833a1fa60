/**
 * The signature as SessionModule.sol judges it: 65 bytes, v 27 or 28, s in the lower half, recovering to the key.
 * One action has exactly one accepted (r, s, v) per signing nonce: no high-s twin, no other encoding.
 */
import { type Address, getAddress, type Hex, hexToBigInt, size, slice } from 'viem';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { type Check, PASSED, refuse } from '../refusal.ts';
import { recoverSigner } from './recover.ts';

/** Order of secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The form alone; says which rule is broken. */
function checkSignatureForm(signature: Hex): Check {
  const length = size(signature);
  if (length !== 65)
    return refuse('BAD_SIGNATURE', `the signature has ${length} bytes: expected 65 (r, s, v)`);
  const r = hexToBigInt(slice(signature, 0, 32));
  const s = hexToBigInt(slice(signature, 32, 64));
  const v = hexToBigInt(slice(signature, 64, 65));
  if (v !== 27n && v !== 28n)
    return refuse('BAD_SIGNATURE', `the signature's v is ${v}: expected 27 or 28`);
  if (r === 0n || r >= ORDER) return refuse('BAD_SIGNATURE', "the signature's r is out of range");
  if (s === 0n || s >= ORDER) return refuse('BAD_SIGNATURE', "the signature's s is out of range");
  if (s > ORDER / 2n) {
    return refuse(
      'BAD_SIGNATURE',
      "the signature's s is in the upper half: only low-s signatures are taken",
    );
  }
  return PASSED;
}

/**
 * Form and signer. The digest is of the relayer's own domain, so that a signature for another chain, module, name or
 * version recovers a stranger.
 */
export async function checkSignature(input: {
  digest: Hex;
  signature: Hex;
  key: Address;
  /** The domain that the digest is of. */
  domain: { name: string; verifyingContract: Address };
}): Promise<Check> {
  const form = checkSignatureForm(input.signature);
  if (!form.ok) return form;
  const signer = await recoverSigner(input.digest, input.signature);
  if (signer !== null && signer === getAddress(input.key)) return PASSED;
  return refuse(
    'BAD_SIGNATURE',
    `the signature is not of action.key for this action: sign exactly these fields under the domain "${input.domain.name}", version "1", chain ${CHAIN_ID}, verifying contract ${input.domain.verifyingContract}`,
  );
}
