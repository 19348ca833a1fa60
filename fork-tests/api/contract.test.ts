/**
 * The OpenAPI document of a running api against its answers: every operation's 200 with something in every list, every
 * refusal that can be provoked, every field of every response.
 */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OpenApiDocument } from '../../api/openapi/document.ts';
import { isObject } from '../../api/openapi/walk.ts';
import { type Fork, startFork } from '../harness/fork.ts';
import { DocumentCheck, type Exchange, type Schema } from './contract/document-check.ts';
import { askEach, live, look, refuseLate, refuseWrong, untilClose } from './contract/exercise.ts';
import { fieldsOf, spoilt, walkFields } from './contract/field-walk.ts';
import { Recorder } from './contract/recorder.ts';
import { type ApiUnderTest, launchApi } from './use-api.ts';

let fork: Fork;
let api: ApiUnderTest & { folder: string };
let check: DocumentCheck;
let ask: Recorder;

beforeAll(async () => {
  fork = await startFork();
  api = await launchApi(fork.url, fork.deployment, { PUBLIC_BASE_URL: 'https://api.test/base' });
  await api.settled();
  check = new DocumentCheck((await api.get('/openapi.json')).body as unknown as OpenApiDocument);
  ask = new Recorder(api.url);
  const scene = await live(fork, ask);
  await api.settled();
  await look(scene);
  const { headers } = await ask.get('/v1/baskets');
  await ask.get('/v1/baskets', { 'if-none-match': headers.get('etag') ?? '' });
  await ask.get('/ready');
  await refuseWrong(scene, check);
  await untilClose(scene);
  await refuseLate(scene);

  const strict = await launchApi(fork.url, fork.deployment, { HTTP_REQUESTS_PER_MINUTE: '1' });
  const limited = new Recorder(strict.url);
  await limited.get('/');
  await askEach(scene, limited, check);
  await strict.stop();
  rmSync(strict.folder, { recursive: true, force: true });
  await fork.anvil.stop();
  const cutOff = await launchApi(fork.url, fork.deployment);
  const unserved = new Recorder(cutOff.url);
  await askEach(scene, unserved, check);
  await cutOff.stop();
  rmSync(cutOff.folder, { recursive: true, force: true });
  ask.answers.push(...limited.answers, ...unserved.answers);
}, 300_000);

afterAll(async () => {
  await api?.stop();
  await fork?.anvil.stop();
  if (api !== undefined) rmSync(api.folder, { recursive: true, force: true });
});

const nameOf = ({ method, path }: Exchange): string => {
  const found = check.operationAt(method, path);
  return found === null ? path : `${found.method} ${found.path}`;
};

/** JSON that is no refusal of the one shape, with what the document says of it. */
function* bodies(): Generator<{ exchange: Exchange; schema: Schema; body: unknown }> {
  for (const exchange of ask.answers) {
    const { method, path, status } = exchange;
    const operation = check.operationAt(method, path);
    if (operation === null) continue;
    const { schema, mediaType } = check.documented(operation, status) ?? {};
    if (!schema || 'allOf' in schema || mediaType !== 'application/json') continue;
    yield { exchange, schema, body: JSON.parse(exchange.text) };
  }
}

describe('the document of a running api', () => {
  test('is one that a client under the base path can use', () => {
    expect(check.document.servers).toEqual([{ url: 'https://api.test/base' }]);
  });

  test('describes every answer: status, headers, body, nothing missing and nothing beside it', () => {
    const wrong = ask.answers.flatMap((exchange) => {
      const { method, path, status, text } = exchange;
      return check
        .faultsOf(exchange)
        .map((fault) => `${method} ${path} ${status}: ${fault}: ${text.slice(0, 300)}`);
    });
    expect(wrong).toEqual([]);
  });

  test('has no operation whose 200 was not seen', () => {
    const seen = new Set(ask.answers.filter(({ status }) => status === 200).map(nameOf));
    const all = check.operations.map(({ method, path }) => `${method} ${path}`);
    expect(all.filter((name) => !seen.has(name))).toEqual([]);
  });

  test('names no refusal that nothing provokes, but for faults of ours', () => {
    const seen = new Set(
      ask.answers.map((exchange) => {
        const { status, text } = exchange;
        const code = status >= 400 ? codeIn(text) : undefined;
        return [nameOf(exchange), status, code].join(' ');
      }),
    );
    const unseen = check.operations.flatMap(({ operation, method, path }) =>
      Object.keys(operation.responses ?? {}).flatMap((status) => {
        const documented = check.documented({ operation, method, path }, Number(status));
        return codesOf(documented?.schema ?? null)
          .map((code) => `${method} ${path} ${status} ${code}`)
          .filter((name) => !seen.has(name) && !name.endsWith('500 SERVER'));
      }),
    );
    expect(unseen).toEqual(UNPROVOKED);
  });

  test('describes no field that no answer carries', () => {
    const declared = new Set<string>();
    const seen = new Set<string>();
    for (const { schema, body } of bodies()) {
      for (const name of fieldsOf(check, schema)) declared.add(name);
      walkFields(check, schema, body, ({ name }) => seen.add(name));
    }
    expect([...declared].filter((name) => !seen.has(name)).toSorted()).toEqual(UNSEEN_FIELDS);
  });

  test('refuses a body with a field missing, of another type, or unknown', () => {
    let tried = 0;
    const passed: string[] = [];
    const done = new Set<string>();
    for (const { exchange, schema, body } of bodies()) {
      const whole = !exchange.path.includes('fields=');
      const valid = (changed: unknown) =>
        (check.validates(schema, changed, whole).errors ?? []).length === 0;
      walkFields(check, schema, body, ({ name, schema: field, required, at }) => {
        const once = `${nameOf(exchange)} ${name}`;
        if (done.has(once) || anyJson(field)) return;
        done.add(once);
        const original = at.reduce<unknown>((inner, key) => (inner as Schema)[key], body);
        const changes = [
          ...(required ? [spoilt(body, at)] : []),
          // An object in place of anything else, and a number in place of an object.
          spoilt(body, at, isObject(original) ? 1e21 : { notDocumented: 1 }),
          spoilt(body, [...at.slice(0, -1), 'notDocumented'], 1),
        ];
        tried += changes.length;
        if (changes.some(valid)) passed.push(once);
      });
    }
    expect(passed).toEqual([]);
    expect(tried).toBeGreaterThan(500);
  });
});

function anyJson(schema: Schema): boolean {
  return JSON.stringify(schema).includes('JsonValue');
}

function codeIn(text: string): unknown {
  const body: unknown = JSON.parse(text);
  if (!isObject(body)) return undefined;
  const refusal = isObject(body.error) ? body.error.data : body;
  return isObject(refusal) ? refusal.code : undefined;
}

function codesOf(schema: Schema | null): string[] {
  const [, narrowed] = (schema?.allOf ?? []) as { properties: { code: { enum: string[] } } }[];
  return narrowed?.properties.code.enum ?? [];
}

/** Refusals that need what no wallet or account here can have. */
const UNPROVOKED = [
  // Shares of a basket that cannot be traded.
  'post /v1/tx/sell 422 NO_ROUTE',
  // A valid 10-minute average without a route.
  'post /v1/agent/trade 422 NO_ROUTE',
];

const UNSEEN_FIELDS = [
  // Plans of one form; these two never need an approval.
  'CancelPlan.approval.data',
  'CancelPlan.approval.to',
  // Only what fails at one basket and not at another is skipped.
  'CoverPayouts.skipped[].id',
  'CoverPayouts.skipped[].reason',
  'CoverPayouts.skipped[].type',
  // Of an account with more than 500 of them.
  'CoverPositions.note',
  // Of several processes on one PostgreSQL, which one leads.
  'Readiness.checks[].note',
  'RedeemPlan.approval.data',
  'RedeemPlan.approval.to',
  // Anvil offers eth_simulateV1.
  'Simulation.afterApproval.skipped',
];
