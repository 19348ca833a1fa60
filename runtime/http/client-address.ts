/**
 * Whose request this is: the address that the rate limit counts. X-Forwarded-For is believed as far as it was written
 * by trusted proxies and no further, by Express's own rule for `trust proxy`, so that `request.ip` says the same.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import express from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import { z } from 'zod';

/** A number of proxies, or their addresses and CIDRs. */
export type TrustProxy = number | readonly string[];

type Trusts = (address: string, hop: number) => boolean;

/** Express's compiled rule. @throws TypeError for what is no address, CIDR or known name. */
function trustRule(setting: TrustProxy): Trusts {
  const app = express();
  app.set('trust proxy', typeof setting === 'number' ? setting : [...setting]);
  return app.get('trust proxy fn') as Trusts;
}

const TRUST_ERROR =
  'expected a number of proxies from 0 to 10, or addresses and CIDRs, comma-separated';

/** `1`, or `10.0.0.0/8, fd00::/8, loopback`. */
export const trustOption = z.string().transform((text, context): TrustProxy => {
  const parts = text.split(',').map((part) => part.trim());
  if (/^\d+$/.test(text)) {
    if (Number(text) <= 10) return Number(text);
  } else {
    try {
      trustRule(parts);
      return parts;
    } catch {
      // expected: told below
    }
  }
  context.addIssue({ code: 'custom', message: TRUST_ERROR });
  return z.NEVER;
});

/** `1.2.3.4`, `1.2.3.4:56`, `[::1]:56` (some proxies add the port) to the bare address; null for anything else. */
function addressIn(text: string): string | null {
  if (isIP(text) !== 0) return text;
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1];
  return bare !== undefined && isIP(bare) !== 0 ? bare : null;
}

/**
 * The client's address. What a trusted proxy wrote that is no address (`unknown`) counts as the proxy itself.
 * `unknown` when the connection is gone already.
 */
export function clientAddress(setting: TrustProxy): (request: IncomingMessage) => string {
  if (setting === 0) return (request) => request.socket.remoteAddress ?? 'unknown';
  const trusts = trustRule(setting);
  return (request) => {
    let address = request.socket.remoteAddress ?? 'unknown';
    const forwarded = request.headers['x-forwarded-for'];
    if (forwarded === undefined) return address;
    // Each proxy appends the address it saw: the nearest one's word is last.
    const hops = String(forwarded).split(',').toReversed();
    for (const [hop, text] of hops.entries()) {
      if (!trusts(address, hop)) break;
      const next = addressIn(text.trim());
      if (next === null) break;
      address = next;
    }
    return address;
  };
}

const IPV6_SUBNET = 64;
/** Reading an IPv6 address costs more than the rest of the limit: the last ones are remembered. */
const MAX_REMEMBERED = 10_000;

/** What a client is counted by: an IPv4 address (mapped ones too), or the /64 that an IPv6 client owns. */
export function clientKeys(): (address: string) => string {
  const known = new Map<string, string>();
  return (address) => {
    if (!address.includes(':')) return address;
    const before = known.get(address);
    if (before !== undefined) return before;
    const key = ipKeyGenerator(address, IPV6_SUBNET);
    if (known.size >= MAX_REMEMBERED) known.clear();
    known.set(address, key);
    return key;
  };
}
