/** Bodies made once for all who ask the same, and their conditional requests. */

export type SharedBody = {
  /** JSON text in UTF-8. */
  bytes: Buffer;
  /** Strong, in its quotes. */
  etag: string;
};

/** A GET whose body is shared: answered without Express where the request is an ordinary one. */
export type SharedRoute = {
  /** No parameters: compared as it stands. */
  path: string;
  cacheControl: string;
  /** Throws what the route refuses; Express's way then answers the same request again. */
  bodyFor: (query: Record<string, unknown>) => SharedBody;
};

/** Whether the client says that it has this body already (RFC 9110, If-None-Match: tags compare weakly). */
export function hasAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === etag) return true;
  return ifNoneMatch.split(',').some((tag) => {
    const known = tag.trim().replace(/^W\//, '');
    return known === '*' || known === etag;
  });
}

/** Bodies from this size are sent compressed to clients that accept it; a smaller one gains less than it costs. */
export const COMPRESS_FROM_BYTES = 8_192;
