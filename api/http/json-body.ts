/** JSON bodies: numbers rounded where they are written, text made once where it can be shared, ETags. */
import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { round8 } from '../../contracts-abi/rounding.ts';

/** Fractional numbers to 8 significant digits (interface.md section 1); integers and strings untouched. */
export function jsonText(body: unknown, pretty: boolean): string {
  return JSON.stringify(
    body,
    (_key, value: unknown) => (typeof value === 'number' ? round8(value) : value),
    pretty ? 2 : undefined,
  );
}

/** `pretty=1` asks for indented JSON. */
export function wantsPretty(request: Request): boolean {
  return request.query.pretty === '1';
}

export type Serialised = { text: string; etag: string };

export function serialise(body: unknown, pretty: boolean): Serialised {
  const text = jsonText(body, pretty);
  return { text, etag: `"${createHash('sha1').update(text).digest('base64url')}"` };
}

/** Whether the client says that it has this body already (RFC 9110, If-None-Match). */
function hasAlready(request: Request, etag: string): boolean {
  const given = request.headers['if-none-match'];
  if (given === undefined) return false;
  return given.split(',').some((tag) => {
    const known = tag.trim().replace(/^W\//, '');
    return known === '*' || known === etag;
  });
}

/**
 * Sends a body that was serialised before; 304 where the client has it already. Express would not: fetch() adds
 * `Cache-Control: no-cache` to a conditional request, which it reads as a wish for the whole body.
 */
export function sendSerialised(
  request: Request,
  response: Response,
  body: Serialised,
  cacheControl: string,
): void {
  response.set({ 'Cache-Control': cacheControl, ETag: body.etag });
  if (hasAlready(request, body.etag)) {
    response.status(304).end();
    return;
  }
  response.type('application/json').send(body.text);
}

/** Sends a body that belongs to this request alone: never cached. */
export function sendFresh(request: Request, response: Response, body: unknown): void {
  response
    .set('Cache-Control', 'no-store')
    .type('application/json')
    .send(jsonText(body, wantsPretty(request)));
}
