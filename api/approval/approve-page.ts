/**
 * The owner's approval page: where approvalUrl of a session leads unless the operator has a page of his own. Static
 * files alone, each from this service; what it shows it reads in the owner's browser, and it posts nothing here.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { CHAIN_NAME } from '../discovery/root-document.ts';
import type { RouteContext } from '../http/context.ts';
import { sendSerialised } from '../http/json-body.ts';
import type { Service } from '../service.ts';
import { bundlePage } from './bundle.ts';
import type { PageConfig } from './page-config.ts';

export const APPROVE_PATH = '/approve';
/** Always asked for again: who approves money should see the page as it is now. */
export const APPROVE_CACHE = 'no-cache';

/** `data:` is for the icons of wallets. Nothing else may load, run, be sent to, or frame the page. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

type File = { path: string; contentType: string; bytes: () => Promise<Buffer> };

function files(service: Pick<Service, 'urls' | 'deployment'>): File[] {
  const fixed = (path: string, contentType: string, bytes: Buffer): File => ({
    path,
    contentType: `${contentType}; charset=utf-8`,
    bytes: () => Promise.resolve(bytes),
  });
  const source = (name: string) => readFileSync(new URL(`page/${name}`, import.meta.url));
  return [
    fixed(APPROVE_PATH, 'text/html', source('index.html')),
    fixed(`${APPROVE_PATH}/page.css`, 'text/css', source('page.css')),
    fixed(
      `${APPROVE_PATH}/config.json`,
      'application/json',
      Buffer.from(JSON.stringify(pageConfig(service))),
    ),
    {
      path: `${APPROVE_PATH}/page.js`,
      contentType: 'text/javascript; charset=utf-8',
      bytes: once(bundlePage),
    },
  ];
}

function pageConfig({ urls, deployment }: Pick<Service, 'urls' | 'deployment'>): PageConfig {
  const { usdg, accountFactory, sessionModule, coverModule } = deployment;
  return {
    chain: { id: CHAIN_ID, name: CHAIN_NAME, rpc: urls.rpc, explorer: urls.explorer },
    usdg,
    addresses: { accountFactory, sessionModule, coverModule },
  };
}

/** The first success for all; after a failure the next who asks tries again. */
function once(make: () => Promise<Buffer>): () => Promise<Buffer> {
  let made: Promise<Buffer> | null = null;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}

/** Registers the page and its files. */
export function approveRoute({ http, service }: Pick<RouteContext, 'http' | 'service'>): void {
  for (const { path, contentType, bytes } of files(service)) {
    http.route('get', path, async (request, response) => {
      // Express also answers the path with a slash at its end, under which the page's addresses would not hold.
      if (path === APPROVE_PATH && request.path.endsWith('/')) {
        const query = request.originalUrl.split('?')[1];
        response.redirect(308, `../approve${query === undefined ? '' : `?${query}`}`);
        return;
      }
      const body = await bytes();
      const etag = `"${createHash('sha1').update(body).digest('base64url')}"`;
      response.set('Content-Security-Policy', CONTENT_SECURITY_POLICY);
      sendSerialised(request, response, { bytes: body, etag }, APPROVE_CACHE, contentType);
    });
  }
}
