/** JSON Schemas of tools, from the very schemas that validate the routes. */
import { z } from 'zod';
import type { JsonObject } from './tool.ts';

/** What a failed tool answers, as text and as structured content. */
export const toolError = z.object({
  error: z.string(),
  code: z.string(),
  retryable: z.boolean(),
  next: z.enum(['rebuild', 'ask_owner', 'wait']).optional(),
});

type InputSchema = { properties: Record<string, JsonObject>; required: string[] } & JsonObject;

function jsonSchemaOf(schema: z.ZodType): JsonObject {
  // What is sent in, and of answers what is written: nothing here depends on a transform.
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return json;
}

/**
 * The input of a tool: the route's own schema, without what only HTTP knows (`pretty`), and with a description where
 * the schema has none.
 */
export function inputSchemaOf(
  schema: z.ZodType | undefined,
  descriptions: Readonly<Record<string, string>> = {},
): InputSchema {
  if (schema === undefined) throw new Error('this endpoint takes nothing here');
  const { properties, required, ...rest } = jsonSchemaOf(schema) as Partial<InputSchema>;
  const { pretty: _, ...own } = properties ?? {};
  for (const [name, property] of Object.entries(own)) {
    const description = descriptions[name];
    if (description !== undefined) own[name] = { ...property, description };
  }
  const unknown = Object.keys(descriptions).filter((name) => !(name in own));
  if (unknown.length > 0) throw new Error(`no such input: ${unknown.join(', ')}`);
  return { ...rest, type: 'object', properties: own, required: required ?? [] };
}

/** The answer of a tool or its error: clients hold both to the same schema. */
export function outputSchemaOf(...answers: readonly [z.ZodType, ...z.ZodType[]]): JsonObject {
  return { type: 'object', ...jsonSchemaOf(z.union([...answers, toolError])) };
}

/**
 * One flat object for requests that differ by `name`: most hosts show a model the properties of the root alone. Each
 * field says which kinds take it; the kind's own schema still decides.
 */
export function inputSchemaByKind(
  name: string,
  kinds: Readonly<Record<string, InputSchema>>,
): InputSchema {
  const properties: Record<string, JsonObject> = {
    [name]: { type: 'string', enum: Object.keys(kinds) },
  };
  const taking = new Map<string, string[]>();
  for (const [kind, schema] of Object.entries(kinds)) {
    for (const [field, property] of Object.entries(schema.properties)) {
      properties[field] ??= property;
      const takers = taking.get(field) ?? [];
      takers.push(schema.required.includes(field) ? `${kind} (required)` : kind);
      taking.set(field, takers);
    }
  }
  for (const [field, takers] of taking) {
    const own = properties[field]?.description;
    const text = typeof own === 'string' ? `${own} ` : '';
    properties[field] = { ...properties[field], description: `${text}For ${takers.join(', ')}.` };
  }
  return { type: 'object', properties, required: [name] };
}
