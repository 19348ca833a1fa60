/**
 * The owner's approval page: where approvalUrl of a session leads unless the operator has a page of his own. Static
 * files alone, each from this service; what it shows it reads in the owner's browser, and it posts nothing here.
 */
import { readFileSync } from 'node:fs';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { CHAIN_NAME } from '../discovery/root-document.ts';
import type { RouteContext } from '../http/context.ts';
import { mountPage, type PageFile } from '../http/page.ts';
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
];

function files(service: Pick<Service, 'urls' | 'deployment'>): PageFile[] {
  const file = (path: string, contentType: string, bytes: PageFile['bytes']): PageFile => ({
    path,
    contentType: `${contentType}; charset=utf-8`,
    bytes,
  });
  const source = (name: string) => readFileSync(new URL(`page/${name}`, import.meta.url));
  const config = Buffer.from(JSON.stringify(pageConfig(service)));
  return [
    file(APPROVE_PATH, 'text/html', source('index.html')),
    file(`${APPROVE_PATH}/page.css`, 'text/css', source('page.css')),
    file(`${APPROVE_PATH}/config.json`, 'application/json', config),
    file(`${APPROVE_PATH}/page.js`, 'text/javascript', bundlePage),
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

/** Registers the page and its files. */
export function approveRoute({ http, service }: Pick<RouteContext, 'http' | 'service'>): void {
  mountPage(http, {
    path: APPROVE_PATH,
    files: files(service),
    policy: CONTENT_SECURITY_POLICY,
    cache: APPROVE_CACHE,
  });
}
