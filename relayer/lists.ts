/**
 * Whom this relayer serves: lists of accounts and session keys, from the environment and from a file. Who is on a deny
 * list is refused; where an allow list has anybody, who is on none of them is refused as well. Read once, at the start.
 */
import { readFileSync } from 'node:fs';
import type { Address } from 'viem';
import { z } from 'zod';
import { ConfigError } from '../runtime/config.ts';
import { faultLine } from '../runtime/fault-line.ts';
import { addressSchema, firstProblem } from '../runtime/schema.ts';
import type { Refusal } from './refusal.ts';

type Parties = { accounts: readonly Address[]; keys: readonly Address[] };
export type Lists = { allow: Parties; deny: Parties };

/** The refusal of an account or key that is not served, or null. */
export type ListCheck = (action: { account: Address; key: Address }) => Refusal | null;

const parties = z
  .strictObject({
    accounts: z.array(addressSchema).default([]),
    keys: z.array(addressSchema).default([]),
  })
  .default({ accounts: [], keys: [] });

/** `{allow?: {accounts?: [address], keys?: [address]}, deny?: {…}}` */
const listsSchema = z.strictObject({ allow: parties, deny: parties });

/**
 * @param given addresses from the environment, each an account or a key; and the path of a file, if there is one.
 * @throws ConfigError naming the file and what is wrong with it.
 */
export function readLists(given: {
  allow: readonly Address[];
  deny: readonly Address[];
  file: string | undefined;
}): Lists {
  const { allow, deny } = given.file === undefined ? listsSchema.parse({}) : parseFile(given.file);
  const joined = (listed: Parties, more: readonly Address[]): Parties => ({
    accounts: [...listed.accounts, ...more],
    keys: [...listed.keys, ...more],
  });
  return { allow: joined(allow, given.allow), deny: joined(deny, given.deny) };
}

function parseFile(path: string): Lists {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError(`RELAY_LISTS_FILE ${path} cannot be read as JSON: ${faultLine(error)}`);
  }
  const parsed = listsSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ConfigError(`RELAY_LISTS_FILE ${path} is not valid: ${firstProblem(parsed.error)}`);
}

export function createListCheck({ allow, deny }: Lists): ListCheck {
  const sets = (listed: Parties) => ({
    accounts: new Set(listed.accounts),
    keys: new Set(listed.keys),
  });
  const allowed = sets(allow);
  const denied = sets(deny);
  const open = allowed.accounts.size + allowed.keys.size === 0;
  return ({ account, key }) => {
    if (denied.accounts.has(account)) return notServed('this account');
    if (denied.keys.has(key)) return notServed('this key');
    if (open || allowed.accounts.has(account) || allowed.keys.has(key)) return null;
    return notServed('this account and key');
  };
}

function notServed(who: string): Refusal {
  return {
    code: 'SESSION_INACTIVE',
    check: 'list',
    message: `this relayer does not serve ${who}: its operator decides`,
  };
}
