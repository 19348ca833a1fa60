/** Pages for people: files that are the same for everybody, under a security policy of the page's own. */
import { createHash } from 'node:crypto';
import { holdsSecret } from '../../runtime/http/access-log.ts';
import type { SharedBody } from '../../runtime/http/shared-body.ts';
import type { RouteContext } from './context.ts';
import { sendSerialised } from './json-body.ts';

export type PageFile = {
  path: string;
  contentType: string;
  /** A function is asked when the first one wants the file, and again after a failure. */
  bytes: Buffer | (() => Promise<Buffer>);
};

export type Page = {
  /** Where the page itself is; one of the files. Addresses within the page are relative to it. */
  path: string;
  files: readonly PageFile[];
  /** Content-Security-Policy of every file. */
  policy: readonly string[];
  /** Cache-Control of every file. */
  cache: string;
};

/** Registers the page and its files. */
export function mountPage(http: RouteContext['http'], page: Page): void {
  const policy = page.policy.join('; ');
  for (const { path, contentType, bytes } of page.files) {
    const file = madeOnce(bytes);
    http.route('get', path, async (request, response) => {
      // Express also answers the path with a slash at its end, under which the page's addresses would not hold.
      if (path === page.path && request.path.endsWith('/')) {
        const query = request.originalUrl.split('?')[1];
        // A key that was pasted into the address is not sent back.
        const kept = query === undefined || holdsSecret(query) ? '' : `?${query}`;
        response.redirect(308, `..${path}${kept}`);
        return;
      }
      const body = await file();
      response.set('Content-Security-Policy', policy);
      sendSerialised(request, response, body, page.cache, contentType);
    });
  }
}

function madeOnce(bytes: PageFile['bytes']): () => Promise<SharedBody> {
  if (Buffer.isBuffer(bytes)) {
    const body = Promise.resolve(bodyOf(bytes));
    return () => body;
  }
  let made: Promise<SharedBody> | null = null;
  return () => {
    made ??= bytes()
      .then(bodyOf)
      .catch((error: unknown) => {
        made = null;
        throw error;
      });
    return made;
  };
}

function bodyOf(bytes: Buffer): SharedBody {
  return { bytes, etag: `"${createHash('sha1').update(bytes).digest('base64url')}"` };
}
