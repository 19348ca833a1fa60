/**
 * Encrypted keys in the Web3 Secret Storage format, version 3, as geth, foundry's `cast wallet` and ethers write them.
 * Source: https://ethereum.org/en/developers/docs/data-structures-and-encoding/web3-secret-storage/
 */
import {
  createCipheriv,
  createDecipheriv,
  pbkdf2Sync,
  randomBytes,
  randomUUID,
  scryptSync,
  timingSafeEqual,
} from 'node:crypto';
import { bytesToHex, concat, type Hex, hexToBytes, keccak256 } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { z } from 'zod';

const bytesText = z.string().regex(/^(0x)?([0-9a-fA-F]{2})+$/, 'expected hex bytes');

const scryptParameters = z.object({
  n: z.number().int().min(2).max(1_048_576),
  r: z.number().int().min(1).max(64),
  p: z.number().int().min(1).max(64),
  dklen: z.number().int().min(32).max(64),
  salt: bytesText,
});

const pbkdf2Parameters = z.object({
  c: z.number().int().min(1).max(10_000_000),
  prf: z.literal('hmac-sha256'),
  dklen: z.number().int().min(32).max(64),
  salt: bytesText,
});

const cryptoSchema = z.intersection(
  z.object({
    cipher: z.literal('aes-128-ctr'),
    ciphertext: bytesText,
    cipherparams: z.object({ iv: bytesText }),
    mac: bytesText,
  }),
  z.discriminatedUnion('kdf', [
    z.object({ kdf: z.literal('scrypt'), kdfparams: scryptParameters }),
    z.object({ kdf: z.literal('pbkdf2'), kdfparams: pbkdf2Parameters }),
  ]),
);

const keystoreSchema = z.object({
  version: z.literal(3),
  address: bytesText.optional(),
  crypto: cryptoSchema,
});

export type DecryptedKey = { tag: 'key'; privateKey: Hex } | { tag: 'invalid'; problem: string };

/** Decrypts one keystore file's text. The problem names what is wrong with the file, never a value from it. */
export function decryptKeystore(text: string, passphrase: string): DecryptedKey {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // expected: any file may stand in the folder; the parser's message would quote it
    return { tag: 'invalid', problem: 'not JSON' };
  }
  const parsed = keystoreSchema.safeParse(lowerCaseCrypto(json));
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join('.') ?? '';
    return { tag: 'invalid', problem: `not a version 3 keystore (${path || 'shape'})` };
  }
  const { crypto, address } = parsed.data;
  let derived: Buffer;
  try {
    derived = deriveKey(crypto, passphrase);
  } catch {
    // expected: parameters outside RFC 7914 (N must stay below 2^(16 r)), or more memory than there is
    return { tag: 'invalid', problem: 'its key derivation parameters are not supported' };
  }
  const ciphertext = bytes(crypto.ciphertext);
  const mac = hexToBytes(keccak256(concat([derived.subarray(16, 32), ciphertext])));
  const expected = bytes(crypto.mac);
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) {
    return { tag: 'invalid', problem: 'wrong passphrase, or a damaged file' };
  }
  const iv = bytes(crypto.cipherparams.iv);
  if (iv.length !== 16) return { tag: 'invalid', problem: 'the iv is not 16 bytes' };
  const decipher = createDecipheriv('aes-128-ctr', derived.subarray(0, 16), iv);
  const secret = Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  if (secret.length !== 32) return { tag: 'invalid', problem: 'it does not hold a 32-byte key' };
  const privateKey = bytesToHex(secret);
  if (address !== undefined && addressOf(privateKey) !== address.toLowerCase().replace(/^0x/, '')) {
    return { tag: 'invalid', problem: 'the key does not belong to the address it states' };
  }
  return { tag: 'key', privateKey };
}

/** Encrypts a key as a version 3 keystore with scrypt. `cost` is scrypt's N, a power of two. */
export function encryptKeystore(privateKey: Hex, passphrase: string, cost = 262_144): string {
  const salt = randomBytes(32);
  const iv = randomBytes(16);
  const derived = scrypt(passphrase, salt, cost, 8, 1, 32);
  const cipher = createCipheriv('aes-128-ctr', derived.subarray(0, 16), iv);
  const ciphertext = Buffer.concat([cipher.update(hexToBytes(privateKey)), cipher.final()]);
  return JSON.stringify({
    version: 3,
    id: randomUUID(),
    address: addressOf(privateKey),
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: iv.toString('hex') },
      ciphertext: ciphertext.toString('hex'),
      kdf: 'scrypt',
      kdfparams: { n: cost, r: 8, p: 1, dklen: 32, salt: salt.toString('hex') },
      mac: keccak256(concat([derived.subarray(16, 32), ciphertext])).slice(2),
    },
  });
}

/** The address that a file's text states, lower case with 0x; null where it states none or is no keystore. */
export function statedAddress(text: string): string | null {
  try {
    const { address } = z
      .object({ address: bytesText.length(40).or(bytesText.length(42)) })
      .parse(JSON.parse(text));
    return `0x${address.toLowerCase().replace(/^0x/, '')}`;
  } catch {
    // expected: any file may stand in the folder
    return null;
  }
}

function addressOf(privateKey: Hex): string {
  return privateKeyToAddress(privateKey).slice(2).toLowerCase();
}

function bytes(text: string): Buffer {
  return Buffer.from(text.replace(/^0x/, ''), 'hex');
}

function scrypt(
  passphrase: string,
  salt: Buffer,
  n: number,
  r: number,
  p: number,
  length: number,
): Buffer {
  // Node's default ceiling of 32 MB is below what geth's standard cost needs.
  return scryptSync(Buffer.from(passphrase, 'utf8'), salt, length, {
    N: n,
    r,
    p,
    maxmem: 128 * n * r + 128 * r * p + 1_048_576,
  });
}

function deriveKey(crypto: z.infer<typeof cryptoSchema>, passphrase: string): Buffer {
  if (crypto.kdf === 'scrypt') {
    const { n, r, p, dklen, salt } = crypto.kdfparams;
    return scrypt(passphrase, bytes(salt), n, r, p, dklen);
  }
  const { c, dklen, salt } = crypto.kdfparams;
  return pbkdf2Sync(Buffer.from(passphrase, 'utf8'), bytes(salt), c, dklen, 'sha256');
}

/** Old geth files write `Crypto`. */
function lowerCaseCrypto(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || !('Crypto' in json)) return json;
  const { Crypto: crypto, ...rest } = json;
  return { ...rest, crypto };
}
