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

/** Sends a body that was serialised before; 304 where the client has it already (express compares the ETag). */
export function sendSerialised(response: Response, body: Serialised, cacheControl: string): void {
  response
    .set({ 'Cache-Control': cacheControl, ETag: body.etag })
    .type('application/json')
    .send(body.text);
}

/** Sends a body that belongs to this request alone: never cached. */
export function sendFresh(request: Request, response: Response, body: unknown): void {
  response
    .set('Cache-Control', 'no-store')
    .type('application/json')
    .send(jsonText(body, wantsPretty(request)));
}
