/**
 * EIP-712 digests of flat structs, without what a general hasher does for each of them anew: the hash of a type and of
 * a domain is computed once. A relayer hashes every action that comes, on the thread that answers everybody else.
 */
import { type Address, domainSeparator, type Hex, keccak256, size, stringToHex } from 'viem';

type Field = { readonly name: string; readonly type: string };
export type FlatType = { readonly name: string; readonly fields: readonly Field[] };
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
): Hex {
  const words = type.fields.map((field) => word(field, message[field.name]));
  const struct = keccak256(`0x${typeHash(type)}${words.join('')}`).slice(2);
  return keccak256(`0x1901${separatorOf(domain)}${struct}`);
}

function typeHash(type: FlatType): string {
  const known = typeHashes.get(type);
  if (known !== undefined) return known;
  const members = type.fields.map(({ name, type: of }) => `${of} ${name}`).join(',');
  const hash = keccak256(stringToHex(`${type.name}(${members})`)).slice(2);
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

function word({ name, type }: Field, value: unknown): string {
  if (type === 'bytes') return keccak256(bytesOf(name, value)).slice(2);
  if (type === 'bytes32') return sized(name, value, 32);
  if (type === 'address') return sized(name, value, 20).padStart(64, '0');
  const bits = /^uint(\d+)$/.exec(type)?.[1];
  if (bits === undefined) throw new TypeError(`${name}: no flat type: ${type}`);
  if (typeof value !== 'bigint' && typeof value !== 'number') {
    throw new RangeError(`${name}: expected a whole number`);
  }
  const number = BigInt(value);
  if (number < 0n || number >> BigInt(bits) !== 0n) {
    throw new RangeError(`${name}: out of the range of ${type}`);
  }
  return number.toString(16).padStart(64, '0');
}

function sized(name: string, value: unknown, bytes: number): string {
  const hex = bytesOf(name, value);
  if (size(hex) !== bytes) throw new RangeError(`${name}: expected ${bytes} bytes`);
  return hex.slice(2).toLowerCase();
}

function bytesOf(name: string, value: unknown): Hex {
  if (typeof value === 'string' && /^0x([0-9a-fA-F]{2})*$/.test(value)) return value as Hex;
  throw new RangeError(`${name}: expected bytes in hex`);
}
