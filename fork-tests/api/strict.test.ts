/**
 * Every answer of the api against the strict parser of the documents (fork-tests/client/strict): parsed whole, and then
 * with each of its fields left out, of another type, and spoilt.
 */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Corpus } from '../client/corpus.ts';
import { coverAsAgent, lookAtBook, lookWhilePaused } from '../client/cover-reads.ts';
import { liveThroughWeekend } from '../client/cover-scene.ts';
import {
  pausedRefusals,
  type Refusal,
  sessionRefusals,
  unreachableRefusals,
  wrongRequests,
} from '../client/refusals.ts';
import { actAsAgent, executeJobs, Life, look, placeOrders, trade } from '../client/scenario.ts';
import { ERRORS } from '../client/strict/errors.ts';
import { mutate, type Outcome } from '../client/strict/mutations.ts';
import { ROUTES, shapeOf } from '../client/strict/routes.ts';
import { notesOf } from '../client/strict/shape.ts';
import { MAY_BE_MISSING, NOT_SEEN } from '../client/strict/tolerated.ts';
import { type Fork, startFork } from '../harness/fork.ts';
import { type ApiUnderTest, launchApi } from './use-api.ts';

let fork: Fork;
let api: ApiUnderTest & { folder: string };
let corpus: Corpus;
/** What was asked to be refused, beside the answer. */
const refused: { wanted: Refusal; status: number; code: unknown }[] = [];

async function refuse(wanted: Refusal): Promise<void> {
  const { status, body } = await corpus.ask(wanted.request, wanted.headers);
  refused.push({ wanted, status, code: (body as { code?: unknown }).code });
}

beforeAll(async () => {
  fork = await startFork();
  api = await launchApi(fork.url, fork.deployment);
  await api.settled();
  corpus = new Corpus(api.url);
  const life = new Life(fork, corpus);
  await look(life);
  await trade(life);
  await placeOrders(life);
  await executeJobs(life);
  await liveThroughWeekend(life);
  await lookAtBook(life);
  await actAsAgent(life);
  await coverAsAgent(life);
  for (const wanted of [...wrongRequests(life), ...sessionRefusals(life)]) await refuse(wanted);
  for (const wanted of await pausedRefusals(life)) await refuse(wanted);
  await lookWhilePaused(life);
  await askTooOften(life);
  await fork.anvil.stop();
  for (const wanted of unreachableRefusals(life)) await refuse(wanted);
});

/** An api that takes a few requests a minute. */
async function askTooOften(life: Life): Promise<void> {
  const few = await launchApi(fork.url, fork.deployment, { HTTP_REQUESTS_PER_MINUTE: '2' });
  const asked = new Corpus(few.url);
  const path = `/v1/wallet/${life.address('alice')}`;
  for (let count = 0; count < 3; count += 1) await asked.get(path);
  await few.stop();
  rmSync(few.folder, { recursive: true, force: true });
  const last = asked.answers.at(-1);
  if (last === undefined) throw new Error('nothing was asked');
  corpus.answers.push(last);
  refused.push({
    wanted: { request: last.request, status: 429, code: 'PAUSED' },
    status: last.status,
    code: (last.body as { code?: unknown }).code,
  });
}

afterAll(async () => {
  await api?.stop();
  await fork?.anvil.stop();
  if (api !== undefined) rmSync(api.folder, { recursive: true, force: true });
});

/** The forms of a simulation are the same on all routes that build: each needs to be seen once. */
function fieldOf(route: string, name: string): string {
  const shared = /^(approval|simulation|warnings)\b/.test(name) && route.includes('/v1/tx/');
  return `${shared ? 'plans' : route} ${name}`;
}

const gathered = (sets: readonly Set<string>[]): string[] =>
  [...new Set(sets.flatMap((set) => [...set]))].sort();

describe('answers of the api', () => {
  test('are what the documents say', () => {
    const wrong = corpus.answers.flatMap(({ request, status, body, faults }) =>
      faults.length === 0 ? [] : [{ request, status, faults, body: JSON.stringify(body) }],
    );
    expect(wrong).toEqual([]);
  });

  test('are refusals with the status and code of the documents where they should be', () => {
    const wrong = refused.filter(
      ({ wanted, status, code }) => status !== wanted.status || code !== wanted.code,
    );
    expect(wrong).toEqual([]);
    for (const { status, headers } of corpus.answers) {
      if (status === 405) expect(headers.get('allow')).toMatch(/^(GET|POST)/);
      if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(headers.get('content-type')).toMatch(/^application\/json/);
    }
    const codes = new Set(refused.map(({ code }) => code));
    // Faults of ours, which nothing here can cause.
    const elsewhere = ['NOT_IMPLEMENTED', 'SERVER'];
    expect(Object.keys(ERRORS).filter((code) => !codes.has(code))).toEqual(elsewhere);
    expect(corpus.answers.map(({ route }) => route)).toContain('refusal 409 ORDER_NOT_OPEN');
  });

  test('cover every route of the documents, and every field of each', () => {
    const seen = new Set<string>();
    const declared = new Set<string>();
    for (const { route, request, status, body } of corpus.answers) {
      const shape = shapeOf(request, status);
      seen.add(route);
      for (const { place } of notesOf(shape, body).seen) seen.add(fieldOf(route, place.name));
      for (const name of shape.names('')) declared.add(fieldOf(route, name));
    }
    expect(ROUTES.filter((route) => !seen.has(route))).toEqual([]);
    const unseen = [...declared].filter((field) => !seen.has(field));
    expect(unseen.sort()).toEqual(NOT_SEEN.toSorted());
  });

  test('are refused with any one field missing, of another type, or spoilt', () => {
    const outcomes = new Map<string, Outcome[]>();
    for (const { request, route, status, body } of corpus.answers) {
      // A document of its own, with tests of its own.
      if (route === 'GET /openapi.json') continue;
      // Each field of a day of minutes is in shorter answers of the same route.
      if (JSON.stringify(body).length > 50_000) continue;
      outcomes.set(route, [...(outcomes.get(route) ?? []), mutate(shapeOf(request, status), body)]);
    }
    let tried = 0;
    const passed: object[] = [];
    const missing: Record<string, string[]> = {};
    for (const [route, all] of outcomes) {
      tried += all.reduce((sum, outcome) => sum + outcome.tried, 0);
      const deletions = gathered(all.map((outcome) => outcome.deletions));
      if (deletions.length > 0) missing[route] = deletions;
      const alternatives = gathered(all.map((outcome) => outcome.alternatives));
      const found = {
        unknown: gathered(all.map((outcome) => outcome.unknown)),
        deformed: gathered(all.map((outcome) => outcome.deformed)),
        // Of another type only where the documents allow two.
        retypes: gathered(all.map((outcome) => outcome.retypes)).filter(
          (name) => !alternatives.includes(name),
        ),
      };
      if (Object.values(found).some((names) => names.length > 0)) passed.push({ route, ...found });
    }
    expect({ passed, missing }).toEqual({ passed: [], missing: MAY_BE_MISSING });
    expect(tried).toBeGreaterThan(10_000);
  });
});
