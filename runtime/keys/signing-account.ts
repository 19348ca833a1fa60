/**
 * The account of a private key, which signs by libsecp256k1 where that is at hand. Both ways give the same bytes (the
 * nonce of RFC 6979, low s), so that what is signed again after a restart elsewhere is the same transaction.
 */
import { bytesToHex, type Hex, hexToBytes, serializeTransaction } from 'viem';
import { type LocalAccount, privateKeyToAccount, toAccount } from 'viem/accounts';
import { type NativeCurve, nativeCurve } from './curve.ts';
import { keccak256 } from './keccak.ts';

/**
 * @throws for a value that is no key of the curve
 * @param curve null: JavaScript
 */
export function signingAccount(
  privateKey: Hex,
  curve: NativeCurve | null = nativeCurve,
): LocalAccount {
  const account = privateKeyToAccount(privateKey);
  if (curve === null) return account;
  const secret = hexToBytes(privateKey);
  const signed = (hash: Hex) => {
    const { signature, recid } = curve.ecdsaSign(hexToBytes(hash), secret);
    return { bytes: signature, yParity: recid };
  };
  return toAccount({
    address: account.address,
    signMessage: (message) => account.signMessage(message),
    signTypedData: (typedData) => account.signTypedData(typedData),
    sign: async ({ hash }) => {
      const { bytes, yParity } = signed(hash);
      return `${bytesToHex(bytes)}${yParity === 0 ? '1b' : '1c'}`;
    },
    signTransaction: async (transaction, { serializer = serializeTransaction } = {}) => {
      // Blob transactions are signed without their blobs; nothing here sends any.
      if (transaction.type === 'eip4844') return await account.signTransaction(transaction);
      const { bytes, yParity } = signed(keccak256(await serializer(transaction)));
      return await serializer(transaction, {
        r: bytesToHex(bytes.subarray(0, 32)),
        s: bytesToHex(bytes.subarray(32)),
        v: yParity === 0 ? 27n : 28n,
        yParity,
      });
    },
  });
}
