/** Ways through an OpenAPI document, for tests and for whoever checks answers against it. */
import type { oas31 } from 'zod-openapi';

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export type Operation = {
  path: string;
  method: 'get' | 'post';
  operation: oas31.OperationObject;
};

export function operationsOf(document: oas31.OpenAPIObject): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    (['get', 'post'] as const).flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [{ path, method, operation }];
    }),
  );
}

/** What a local reference (`#/components/…`) points to; undefined where it points nowhere. */
export function resolveRef(document: object, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined;
  let at: unknown = document;
  for (const part of ref.slice(2).split('/')) {
    if (!isObject(at)) return undefined;
    at = at[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return at;
}

/** Keywords that say what a value may be. */
const SAYING = ['$ref', 'type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf'];

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = ['items', 'additionalProperties', 'not', 'contains', 'if', 'then', 'else'];
const MANY = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const NAMED = ['properties', 'patternProperties', '$defs'];

function isEmpty(schema: Record<string, unknown>): boolean {
  if (!SAYING.some((keyword) => keyword in schema)) return true;
  // A bare list or object lets anything through.
  if (schema.type === 'array') return !('items' in schema) && !('prefixItems' in schema);
  if (schema.type !== 'object') return false;
  const shaped = ['properties', 'additionalProperties', 'patternProperties', ...MANY];
  return !shaped.some((keyword) => keyword in schema && schema[keyword] !== true);
}

/** JSON pointers of schemas that say nothing: `{}`, `true`, a description alone, an object or array of anything. */
export function emptySchemas(document: object): string[] {
  const found: string[] = [];
  const visitSchema = (schema: unknown, at: string): void => {
    if (schema === false) return;
    if (!isObject(schema) || isEmpty(schema)) {
      found.push(at);
      if (!isObject(schema)) return;
    }
    for (const keyword of ONE) {
      if (keyword in schema) visitSchema(schema[keyword], `${at}/${keyword}`);
    }
    for (const keyword of MANY) {
      const list = schema[keyword];
      if (Array.isArray(list)) {
        list.forEach((each, index) => visitSchema(each, `${at}/${keyword}/${index}`));
      }
    }
    for (const keyword of NAMED) visitNamed(schema[keyword], `${at}/${keyword}`);
  };
  const visitNamed = (schemas: unknown, at: string): void => {
    if (!isObject(schemas)) return;
    for (const [name, schema] of Object.entries(schemas)) visitSchema(schema, `${at}/${name}`);
  };
  // Everywhere else a schema is the value of `schema`, or one of components' `schemas`.
  const visit = (value: unknown, at: string): void => {
    if (Array.isArray(value)) value.forEach((each, index) => visit(each, `${at}/${index}`));
    if (!isObject(value)) return;
    for (const [key, child] of Object.entries(value)) {
      if (key === 'schema') visitSchema(child, `${at}/${key}`);
      else if (key === 'schemas' && at === '/components') visitNamed(child, `${at}/${key}`);
      else visit(child, `${at}/${key}`);
    }
  };
  visit(document, '');
  return found;
}

/**
 * JSON pointers of schemas that say their type twice, by `type` and by `anyOf`: a description that was added to a union
 * instead of replacing it, and which the choices may contradict.
 */
export function typedTwice(document: object): string[] {
  const found: string[] = [];
  const visit = (value: unknown, at: string): void => {
    if (Array.isArray(value)) value.forEach((each, index) => visit(each, `${at}/${index}`));
    if (!isObject(value)) return;
    // Fields may be called so as well: what stands behind those is a schema.
    const { type, anyOf } = value;
    if ((typeof type === 'string' || Array.isArray(type)) && Array.isArray(anyOf)) found.push(at);
    for (const [key, child] of Object.entries(value)) visit(child, `${at}/${key}`);
  };
  visit(document, '');
  return found;
}
