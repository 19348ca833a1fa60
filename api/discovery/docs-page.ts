/** The documentation page: Swagger UI over `/openapi.json`, every file from this service and none from elsewhere. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { RouteContext } from '../http/context.ts';
import { mountPage, type PageFile } from '../http/page.ts';

export const DOCS_PATH = '/docs';
export const DOCS_CACHE = 'public, max-age=300';

// Addresses are relative to the page, so that it works under any base path.
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Basket Index Trading Service</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<noscript>The machine description is at <a href="openapi.json">openapi.json</a>, a short guide at <a href="llms.txt">llms.txt</a>.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/initializer.js"></script>
</body>
</html>
`;

// A validator of its own would be asked on another host. Sixty schemas, drawn open, keep a slow machine for a minute.
const INITIALIZER = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  queryConfigEnabled: false,
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
});
`;

/** Runs the page and nothing else; `apiOrigin` is where "Try it out" sends. */
function contentSecurityPolicy(apiOrigin: string): string[] {
  return [
    "default-src 'none'",
    "script-src 'self'",
    // Swagger UI sets styles on its elements.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    `connect-src 'self' ${apiOrigin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
}

function assets(): PageFile[] {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const fromDist = (name: string, contentType: string): PageFile => ({
    path: `${DOCS_PATH}/${name}`,
    contentType,
    bytes: readFileSync(join(folder, name)),
  });
  const script = 'text/javascript; charset=utf-8';
  return [
    { path: DOCS_PATH, contentType: 'text/html; charset=utf-8', bytes: Buffer.from(PAGE) },
    {
      path: `${DOCS_PATH}/initializer.js`,
      contentType: script,
      bytes: Buffer.from(INITIALIZER),
    },
    fromDist('swagger-ui-bundle.js', script),
    fromDist('swagger-ui.css', 'text/css; charset=utf-8'),
    fromDist('favicon-32x32.png', 'image/png'),
  ];
}

/** Registers the page and its files. */
export function docsRoute({ http, service }: Pick<RouteContext, 'http' | 'service'>): void {
  mountPage(http, {
    path: DOCS_PATH,
    files: assets(),
    policy: contentSecurityPolicy(new URL(service.urls.base).origin),
    cache: DOCS_CACHE,
  });
}
