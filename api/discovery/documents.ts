/** The documents that describe the service, made once at boot and served as they are. */
import { type Serialised, serialise } from '../http/json-body.ts';

/** A body in its two spellings. */
type Spelled = { plain: Serialised; pretty: Serialised };

export type Documents = {
  root: Spelled;
  openapi: Spelled;
};

export function spelled(body: unknown): Spelled {
  return { plain: serialise(body, false), pretty: serialise(body, true) };
}

/** The spelling that `pretty=1` asks for. */
export function inSpelling(document: Spelled, pretty: boolean): Serialised {
  return pretty ? document.pretty : document.plain;
}
