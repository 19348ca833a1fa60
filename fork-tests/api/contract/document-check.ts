/**
 * Holds answers against the OpenAPI document of the running service: status, media type, headers and body. Bodies are
 * checked closed (a field that the document does not know is a fault) and, where no `fields` was asked, whole.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { oas31 } from 'zod-openapi';
import { isObject, type Operation, operationsOf, resolveRef } from '../../../api/openapi/walk.ts';

export type Exchange = {
  method: string;
  /** With its query. */
  path: string;
  status: number;
  headers: Headers;
  text: string;
};

export type Schema = Record<string, unknown>;

/** A response of an operation, with references resolved. */
export type Documented = {
  headers: Record<string, { schema: Schema }>;
  mediaType: string | null;
  schema: Schema | null;
};

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const SCHEMAS = '#/components/schemas/';

export class DocumentCheck {
  readonly document: oas31.OpenAPIObject;
  readonly operations: readonly Operation[];
  readonly #strict: Ajv2020;
  readonly #whole: Ajv2020;
  readonly #compiled = new Map<Ajv2020, Map<Schema, ValidateFunction>>();

  constructor(document: oas31.OpenAPIObject) {
    this.document = document;
    this.operations = operationsOf(document);
    const schemas = (document.components?.schemas ?? {}) as Record<string, Schema>;
    this.#strict = ajvWith(schemas);
    this.#whole = ajvWith(
      Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, wholeOf(schema)])),
    );
  }

  /** The operation that answers there: an exact path before one with parameters. */
  operationAt(method: string, path: string): Operation | null {
    const bare = path.split('?')[0] ?? path;
    const there = this.operations.filter((each) => matches(each.path, bare));
    const [best] = there.toSorted((a, b) => holes(a.path) - holes(b.path));
    const same = there.filter((each) => each.path === best?.path);
    return same.find((each) => each.method === method.toLowerCase()) ?? same[0] ?? null;
  }

  /** What the document says of this status there; null where it says nothing. */
  documented(operation: Operation, status: number): Documented | null {
    const response = this.#resolve(operation.operation.responses?.[status]);
    if (response === null) return null;
    const headers = Object.entries((response.headers ?? {}) as Schema).map(([name, header]) => [
      name,
      this.#resolve(header),
    ]);
    const [content] = Object.entries((response.content ?? {}) as Schema);
    return {
      headers: Object.fromEntries(headers) as Documented['headers'],
      mediaType: content?.[0] ?? null,
      schema: content === undefined ? null : ((content[1] as { schema: Schema }).schema ?? null),
    };
  }

  /** What is wrong with an answer; empty when it is as documented. */
  faultsOf(exchange: Exchange): string[] {
    const { method, path, status, headers, text } = exchange;
    const operation = this.operationAt(method, path);
    if (operation === null) return this.#strangePath(exchange);
    const documented = this.documented(operation, status);
    if (documented === null) return [`status ${status} is not documented: ${text.slice(0, 200)}`];
    return [...headerFaults(documented, headers), ...this.#bodyFaults(documented, exchange)];
  }

  /** Whether a value is what the schema says, closed. */
  validates(schema: Schema, value: unknown, whole = false): ValidateFunction {
    const ajv = whole ? this.#whole : this.#strict;
    const known = this.#compiled.get(ajv) ?? new Map<Schema, ValidateFunction>();
    this.#compiled.set(ajv, known);
    let validate = known.get(schema);
    if (validate === undefined) {
      validate = ajv.compile(closed(whole ? wholeOf(schema) : schema));
      known.set(schema, validate);
    }
    validate(value);
    return validate;
  }

  #bodyFaults({ mediaType, schema }: Documented, exchange: Exchange): string[] {
    const { headers, path, text } = exchange;
    if (schema === null || mediaType === null) {
      return text === '' ? [] : ['a body where none is documented'];
    }
    const type = headers.get('content-type') ?? '';
    if (type.split(';')[0] !== mediaType.split(';')[0]) return [`media type ${type}`];
    if (!mediaType.startsWith('application/json')) return text === '' ? ['no text'] : [];
    const whole = !path.includes('fields=');
    const { errors } = this.validates(schema, JSON.parse(text), whole);
    return (errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath, message, JSON.stringify(params)].join(' '),
    );
  }

  /** No path of the document: the one answer is 404 NOT_FOUND in the one shape. */
  #strangePath({ status, text }: Exchange): string[] {
    const { errors } = this.validates({ $ref: `${SCHEMAS}Error` }, JSON.parse(text));
    if (status !== 404 || errors) return [`${status} ${text} at a path that is not documented`];
    return [];
  }

  #resolve(value: unknown): Schema | null {
    if (!isObject(value)) return null;
    if (typeof value.$ref !== 'string') return value;
    return this.#resolve(resolveRef(this.document, value.$ref));
  }
}

function holes(template: string): number {
  return template.split('{').length - 1;
}

function matches(template: string, path: string): boolean {
  const [wanted, given] = [template.split('/'), path.split('/')];
  return (
    wanted.length === given.length &&
    wanted.every((part, at) => part.startsWith('{') || part === given[at])
  );
}

function headerFaults({ headers: documented }: Documented, headers: Headers): string[] {
  return Object.entries(documented).flatMap(([name, { schema }]) => {
    const value = headers.get(name);
    // A rate limit shows on every answer while there is one, and tests turn it off.
    if (value === null) return [`no header ${name}`];
    const { pattern } = schema;
    const fits = typeof pattern !== 'string' || new RegExp(pattern).test(value);
    return fits ? [] : [`header ${name}: ${value}`];
  });
}

function ajvWith(schemas: Record<string, Schema>): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    allowUnionTypes: true,
    allErrors: true,
    formats: {
      uri: (text: string) => URL.canParse(text),
      'date-time': (text: string) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)),
    },
  });
  const defs = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, closed(schema)]),
  );
  ajv.addSchema({ $id: 'components', $defs: defs });
  return ajv;
}

/** Refuses fields that are not described, and points references to where ajv holds them. */
function closed(schema: unknown): Schema {
  const visit = (value: unknown, isPart = false): unknown => {
    if (Array.isArray(value)) return value.map((each) => visit(each, isPart));
    if (!isObject(value)) return value;
    const copy = Object.fromEntries(
      // Each part of an allOf describes some of the fields.
      Object.entries(value).map(([key, child]) => [key, visit(child, key === 'allOf')]),
    );
    if (typeof copy.$ref === 'string') {
      copy.$ref = copy.$ref.replace(SCHEMAS, 'components#/$defs/');
    }
    const describes = copy.type === 'object' && isObject(copy.properties);
    if (!isPart && describes && copy.additionalProperties === undefined)
      copy.unevaluatedProperties = false;
    return copy;
  };
  return visit(schema) as Schema;
}

/** Rows that `fields` may trim have no required field; without it they have all of them. */
function wholeOf(schema: Schema): Schema {
  const trims = isObject(schema.properties) && schema.required === undefined;
  return trims ? { ...schema, required: Object.keys(schema.properties as Schema) } : schema;
}
