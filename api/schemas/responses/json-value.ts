/** Any JSON, for what another specification describes: never an empty schema. */
import { z } from 'zod';

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | JsonValue[]
  | { [key: string]: JsonValue };

export const jsonValue: z.ZodType<JsonValue> = z
  .union([
    z.null(),
    z.boolean(),
    z.number(),
    z.string(),
    z.array(z.lazy(() => jsonValue)),
    z.record(
      z.string(),
      z.lazy(() => jsonValue),
    ),
  ])
  .meta({ id: 'JsonValue', description: 'Any JSON value.' });

export const jsonObject = z.record(z.string(), jsonValue);
