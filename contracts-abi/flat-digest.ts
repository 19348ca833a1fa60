/**
 * EIP-712 digests of flat structs, without what a general hasher does for each of them anew: the hash of a type and of
 * a domain is computed once. A relayer hashes every action that comes, on the thread that answers everybody else.
 */
import {
  type Address,
  domainSeparator,
  type Hex,
  keccak256 as viemKeccak256,
  stringToHex,
} from 'viem';

type Field = { readonly name: string; readonly type: string };
export type FlatType = { readonly name: string; readonly fields: readonly Field[] };
/** Keccak-256 of bytes in hex: viem's, or a faster one where the process has one. */
export type Keccak256 = (bytes: Hex) => Hex;
type Domain = { name: string; version: string; chainId: number; verifyingContract?: Address };

const typeHashes = new WeakMap<FlatType, string>();
const separators = new Map<string, string>();
/** Domains that a process meets: its own modules, and what a test makes up. */
const MOST_DOMAINS = 100;

/**
 * What `hashTypedData` gives for the same.
 * @param type fields of `address`, `uintN`, `bytes32` and `bytes`; the same object each time
 * @throws RangeError for a value that its type cannot hold, TypeError for another kind of field
 */
export function flatDigest(
  domain: Domain,
  type: FlatType,
  message: Readonly<Record<string, unknown>>,
  keccak256: Keccak256 = viemKeccak256,
): Hex {
  let words = '';
  for (const field of type.fields) words += word(field, message[field.name], keccak256);
  const struct = keccak256(`0x${typeHash(type)}${words}`).slice(2);
  return keccak256(`0x1901${separatorOf(domain)}${struct}`);
}

function typeHash(type: FlatType): string {
  const known = typeHashes.get(type);
  if (known !== undefined) return known;
  const members = type.fields.map(({ name, type: of }) => `${of} ${name}`).join(',');
  const hash = viemKeccak256(stringToHex(`${type.name}(${members})`)).slice(2);
  typeHashes.set(type, hash);
  return hash;
}

function separatorOf(domain: Domain): string {
  const key = `${domain.name}:${domain.version}:${domain.chainId}:${domain.verifyingContract}`;
  const known = separators.get(key);
  if (known !== undefined) return known;
  if (separators.size >= MOST_DOMAINS) separators.clear();
  const separator = domainSeparator({ domain }).slice(2);
  separators.set(key, separator);
  return separator;
}

function word({ name, type }: Field, value: unknown, keccak256: Keccak256): string {
  if (type === 'bytes') return keccak256(bytesOf(name, value)).slice(2);
  if (type === 'bytes32') return sized(name, value, 32);
  if (type === 'address') return sized(name, value, 20).padStart(64, '0');
  const bits = bitsOf(name, type);
  if (typeof value !== 'bigint' && typeof value !== 'number') {
    throw new RangeError(`${name}: expected a whole number`);
  }
  const number = BigInt(value);
  if (number < 0n || number >> bits !== 0n) {
    throw new RangeError(`${name}: out of the range of ${type}`);
  }
  return number.toString(16).padStart(64, '0');
}

/** Of the few types that structs are made of. */
const widths = new Map<string, bigint>();

function bitsOf(name: string, type: string): bigint {
  const known = widths.get(type);
  if (known !== undefined) return known;
  const bits = /^uint(\d+)$/.exec(type)?.[1];
  if (bits === undefined) throw new TypeError(`${name}: no flat type: ${type}`);
  const width = BigInt(bits);
  widths.set(type, width);
  return width;
}

function sized(name: string, value: unknown, bytes: number): string {
  const hex = bytesOf(name, value);
  if (hex.length !== 2 + 2 * bytes) throw new RangeError(`${name}: expected ${bytes} bytes`);
  return hex.slice(2).toLowerCase();
}

function bytesOf(name: string, value: unknown): Hex {
  if (typeof value === 'string' && /^0x([0-9a-fA-F]{2})*$/.test(value)) return value as Hex;
  throw new RangeError(`${name}: expected bytes in hex`);
}
