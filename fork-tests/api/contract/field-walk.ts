/** Goes through a body along its schema: which documented fields were seen, and what could be spoilt. */
import { isObject, resolveRef } from '../../../api/openapi/walk.ts';
import type { DocumentCheck, Schema } from './document-check.ts';

type Visit = (field: { name: string; schema: Schema; required: boolean; at: string[] }) => void;

/** Calls `visit` for each field of the body that the schema describes; of a list, for each of its items. */
export function walkFields(
  check: DocumentCheck,
  schema: Schema,
  body: unknown,
  visit: Visit,
  place = '',
  at: string[] = [],
): void {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    const target = resolveRef(check.document, schema.$ref);
    // Somebody else's specification: nothing here says more.
    if (name !== 'JsonValue') walkFields(check, target as Schema, body, visit, name, at);
    return;
  }
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  for (const choice of choices ?? []) {
    const fits = (check.validates(choice, body).errors ?? []).length === 0;
    if (fits) walkFields(check, choice, body, visit, place, at);
  }
  if (Array.isArray(body) && isObject(schema.items)) {
    const items = schema.items as Schema;
    body.forEach((item, index) => {
      walkFields(check, items, item, visit, `${place}[]`, [...at, String(index)]);
    });
  }
  if (!isObject(body) || !isObject(schema.properties)) return;
  const required = new Set(schema.required as string[] | undefined);
  for (const [key, child] of Object.entries(schema.properties as Record<string, Schema>)) {
    if (!(key in body)) continue;
    const name = `${place}.${key}`;
    visit({ name, schema: child, required: required.has(key), at: [...at, key] });
    walkFields(check, child, body[key], visit, name, [...at, key]);
  }
}

/** Names of all fields that a schema describes, as `walkFields` names them. */
export function fieldsOf(
  check: DocumentCheck,
  schema: Schema,
  place = '',
  through: readonly string[] = [],
): string[] {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    if (name === 'JsonValue' || through.includes(name)) return [];
    const target = resolveRef(check.document, schema.$ref) as Schema;
    return fieldsOf(check, target, name, [...through, name]);
  }
  const choices = [schema.anyOf, schema.oneOf].flatMap((each) => (each ?? []) as Schema[]);
  const found = choices.flatMap((choice) => fieldsOf(check, choice, place, through));
  if (isObject(schema.items)) {
    found.push(...fieldsOf(check, schema.items, `${place}[]`, through));
  }
  if (isObject(schema.properties)) {
    for (const [key, child] of Object.entries(schema.properties as Record<string, Schema>)) {
      const name = `${place}.${key}`;
      found.push(name, ...fieldsOf(check, child, name, through));
    }
  }
  return found;
}

/** The body with the value at a path replaced, or left out where there is none to put there. */
export function spoilt(body: unknown, at: readonly string[], replacement?: unknown): unknown {
  const copy = structuredClone(body);
  const last = at[at.length - 1] ?? '';
  const holder = at
    .slice(0, -1)
    .reduce((inner, key) => (inner as Record<string, unknown>)[key], copy) as Record<
    string,
    unknown
  >;
  if (replacement === undefined) delete holder[last];
  else holder[last] = replacement;
  return copy;
}
