/** The part of the package's native binding that is used here; throws on import where it has no binary. */
declare module 'secp256k1/bindings.js' {
  const binding: {
    /**
     * The public key in 65 bytes, `compressed` false. @param signature r and s: 64 bytes
     * @throws Error when the values recover no key
     */
    ecdsaRecover(
      signature: Uint8Array,
      recoveryId: number,
      digest: Uint8Array,
      compressed: boolean,
    ): Uint8Array;
    /** r and s, the latter low, by the nonce of RFC 6979. */
    ecdsaSign(digest: Uint8Array, privateKey: Uint8Array): { signature: Uint8Array; recid: number };
  };
  export default binding;
}
