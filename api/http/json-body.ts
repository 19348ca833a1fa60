/** JSON bodies: numbers rounded where they are written, text made once where it can be shared, ETags. */
import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { round8 } from '../../contracts-abi/rounding.ts';
import { hasAlready, type SharedBody } from '../../runtime/http/shared-body.ts';

/** What a client signs must reach it as it was built, to the last digit (wire.md, Numbers). */
const EXACT: ReadonlySet<string> = new Set(['action', 'typedData']);

/** A copy whose fractional numbers have 8 significant digits. */
function rounded(value: unknown): unknown {
  if (typeof value === 'number') return round8(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(rounded);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, EXACT.has(key) ? item : rounded(item)]),
  );
}

/**
 * Fractional numbers to 8 significant digits (interface.md section 1); integers, strings and whatever stands in an
 * `action` or `typedData` untouched.
 */
export function jsonText(body: unknown, pretty: boolean): string {
  return JSON.stringify(rounded(body), undefined, pretty ? 2 : undefined);
}

/** `pretty=1` asks for indented JSON. */
export function wantsPretty(request: Request): boolean {
  return isPretty(request.query);
}

export function isPretty(query: Readonly<Record<string, unknown>>): boolean {
  return query.pretty === '1';
}

export type Serialised = SharedBody & { text: string };

export function serialise(body: unknown, pretty: boolean): Serialised {
  const text = jsonText(body, pretty);
  const etag = `"${createHash('sha1').update(text).digest('base64url')}"`;
  return { text, bytes: Buffer.from(text), etag };
}

/**
 * Sends a body that was serialised before; 304 where the client has it already. Express would not: fetch() adds
 * `Cache-Control: no-cache` to a conditional request, which it reads as a wish for the whole body.
 */
export function sendSerialised(
  request: Request,
  response: Response,
  body: SharedBody,
  cacheControl: string,
  contentType = 'application/json',
): void {
  response.set({ 'Cache-Control': cacheControl, ETag: body.etag });
  if (hasAlready(request.headers['if-none-match'], body.etag)) {
    response.status(304).end();
    return;
  }
  response.type(contentType).send(body.bytes);
}

/** Sends a body that belongs to this request alone: never cached. */
export function sendFresh(request: Request, response: Response, body: unknown): void {
  response
    .set('Cache-Control', 'no-store')
    .type('application/json')
    .send(jsonText(body, wantsPretty(request)));
}
