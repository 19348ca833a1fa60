import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ENDPOINTS } from '../endpoints/index.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { healthBody } from '../schemas/responses/discovery.ts';
import { openApiDocument } from './document.ts';
import { emptySchemas, isObject, operationsOf, resolveRef, typedTwice } from './walk.ts';

const BASE_URL = 'https://api.basket.test/some/base';
const document = openApiDocument(ENDPOINTS, BASE_URL);

describe('the OpenAPI document', () => {
  it('says version, dialect and where the service is, base path included', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { version: '1.0.0' },
      servers: [{ url: BASE_URL }],
    });
  });

  it('lists every endpoint and alias once, under a name of its own', () => {
    const operations = operationsOf(document);
    const listed = operations.map(({ method, path }) => `${method} ${path}`);
    const known = ENDPOINTS.flatMap((endpoint) => {
      const aliases: Record<string, string> = 'aliases' in endpoint ? (endpoint.aliases ?? {}) : {};
      return [endpoint.path, ...Object.values(aliases)].map((path) => `${endpoint.method} ${path}`);
    });
    expect(listed.toSorted()).toEqual(known.toSorted());
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has no empty schema, and finds one where there is one', () => {
    expect(emptySchemas(document)).toEqual([]);
    const broken = structuredClone(document);
    broken.components = {
      ...broken.components,
      schemas: {
        ...broken.components?.schemas,
        Bare: {
          type: 'object',
          properties: { a: {}, b: { type: 'array' }, c: { type: 'object' } },
        },
        Words: { description: 'anything' },
        Open: { type: 'object', properties: { d: { type: 'string' } }, additionalProperties: {} },
      },
    };
    expect(emptySchemas(broken)).toEqual([
      '/components/schemas/Bare/properties/a',
      '/components/schemas/Bare/properties/b',
      '/components/schemas/Bare/properties/c',
      '/components/schemas/Words',
      '/components/schemas/Open/additionalProperties',
    ]);
  });

  it('says no type twice, and finds where one is', () => {
    expect(typedTwice(document)).toEqual([]);
    const days = { type: 'integer', anyOf: [{ type: 'string' }, { type: 'number' }] };
    const fields = { type: { type: 'string' }, anyOf: { type: 'array', items: {} }, days };
    expect(typedTwice({ schema: { type: 'object', properties: fields } })).toEqual([
      '/schema/properties/days',
    ]);
  });

  it('describes days as the plain integer that they are', () => {
    const history = operationsOf(document).find(({ path }) => path.endsWith('/history'));
    const days = history?.operation.parameters?.find(
      (each) => 'name' in each && each.name === 'days',
    );
    expect(days).toMatchObject({ in: 'query' });
    expect(days !== undefined && 'schema' in days ? days.schema : undefined).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 365,
      description: 'Days back from now.',
    });
  });

  it('refers only to what it holds, and holds nothing that is not referred to', () => {
    const text = JSON.stringify(document);
    const refs = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref ?? ''));
    for (const ref of refs) expect(isObject(resolveRef(document, ref)), ref).toBe(true);
    for (const [kind, entries] of Object.entries(document.components ?? {})) {
      for (const name of Object.keys(entries as object)) {
        expect(refs, name).toContain(`#/components/${kind}/${name}`);
      }
    }
  });

  it('says each refusal with its status and codes', () => {
    const trade = operationsOf(document).find(({ path }) => path === '/v1/agent/trade');
    const codes = (status: number) => {
      const response = trade?.operation.responses?.[status];
      const found = JSON.stringify(
        response !== undefined && '$ref' in response
          ? resolveRef(document, String(response.$ref))
          : response,
      ).match(/"code":\{"type":"string","enum":(\[[^\]]*\])/)?.[1];
      return JSON.parse(found ?? '[]') as string[];
    };
    expect(codes(400)).toEqual(['BAD_REQUEST', 'UNKNOWN_BASKET']);
    expect(codes(403)).toEqual(['SESSION_INACTIVE', 'SESSION_LIMIT']);
    expect(codes(422).toSorted()).toEqual([
      'INSUFFICIENT_FUNDS',
      'INSUFFICIENT_SHARES',
      'NO_REFERENCE',
      'NO_ROUTE',
    ]);
    expect(codes(429)).toEqual(['PAUSED']);
    expect(codes(503)).toEqual(['PAUSED']);
  });

  it('names on each answer the headers that it carries', () => {
    const headers = (path: string, method: string, status: number) => {
      const found = operationsOf(document).find(
        (each) => each.path === path && each.method === method,
      );
      const response = found?.operation.responses?.[status];
      const resolved =
        response !== undefined && '$ref' in response
          ? resolveRef(document, String(response.$ref))
          : response;
      return Object.keys((resolved as { headers?: object } | undefined)?.headers ?? {}).toSorted();
    };
    expect(headers('/v1/markets', 'get', 200)).toEqual(['Cache-Control', 'ETag', 'X-Request-Id']);
    expect(headers('/v1/markets', 'get', 304)).toContain('ETag');
    expect(headers('/v1/agent/session', 'get', 200)).toEqual(['Cache-Control', 'X-Request-Id']);
    expect(headers('/v1/tx/buy', 'post', 405)).toContain('Allow');
    expect(headers('/v1/tx/buy', 'post', 429)).toContain('Retry-After');
  });

  it('shows units: every field of a request and every parameter has a description', () => {
    const silent: string[] = [];
    for (const { path, method, operation } of operationsOf(document)) {
      for (const parameter of operation.parameters ?? []) {
        const known = '$ref' in parameter ? resolveRef(document, parameter.$ref) : parameter;
        if ((known as { description?: string }).description === undefined) {
          silent.push(`${method} ${path} ${JSON.stringify(parameter)}`);
        }
      }
      const body = operation.requestBody;
      if (body === undefined || '$ref' in body) continue;
      const schema = body.content['application/json']?.schema;
      const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
      for (const [name, field] of Object.entries(properties)) {
        if (!isObject(field) || field.description === undefined) {
          silent.push(`${method} ${path} ${name}`);
        }
      }
    }
    expect(silent).toEqual([]);
  });

  it('passes the recommended rules of redocly lint', async () => {
    const { errors, warnings, problems } = await lint(document);
    expect({ errors, warnings, problems }).toEqual({ errors: 0, warnings: 0, problems: [] });
    const broken = openApiDocument(
      [
        defineEndpoint({
          method: 'get',
          path: '/v1/broken/{missing}',
          id: 'broken',
          tag: 'Reads',
          summary: 'A parameter of the path that nobody declares.',
          response: healthBody,
          refusals: [],
          cache: 'no-store',
          answer: () => ({ ok: true as const }),
        }),
      ],
      BASE_URL,
    );
    expect((await lint(broken)).errors).toBeGreaterThan(0);
  }, 60_000);
});

type LintReport = { errors: number; warnings: number; problems: { message: string }[] };

/** The real command line, told to keep to this machine. */
async function lint(openapi: object): Promise<LintReport> {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-lint-'));
  try {
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(openapi));
    writeFileSync(join(folder, 'redocly.yaml'), 'extends: [recommended]\ntelemetry: off\n');
    const cli = join(
      dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')),
      'bin/cli.js',
    );
    const run = promisify(execFile);
    const { stdout } = await run(
      process.execPath,
      [cli, 'lint', 'openapi.json', '--config', 'redocly.yaml', '--format', 'json'],
      {
        cwd: folder,
        env: {
          PATH: process.env.PATH,
          CI: 'true',
          NO_COLOR: '1',
          REDOCLY_TELEMETRY: 'off',
          REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
        },
      },
    ).catch((error: unknown) => {
      // A finding is an exit code of its own; what was found is on stdout.
      if (error instanceof Error && 'stdout' in error) return { stdout: String(error.stdout) };
      throw error;
    });
    const report = JSON.parse(stdout.slice(stdout.indexOf('{'))) as {
      totals: { errors: number; warnings: number };
      problems: { message: string }[];
    };
    return { ...report.totals, problems: report.problems };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
