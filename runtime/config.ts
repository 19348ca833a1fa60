/**
 * The one config parser: environment variables, parsed once by zod into a frozen object per process.
 * An option carries its description and example in zod's `.meta()`, from which the error text and `.env.example` come.
 */
import { existsSync } from 'node:fs';
import { getAddress, isAddress } from 'viem';
import { z } from 'zod';
import { decimalTextOf, parseDecimal } from '../contracts-abi/rounding.ts';
import { OperatorError } from './operator-error.ts';

export type OptionMeta = {
  description: string;
  /** An example value, as it would stand in the environment. */
  example: string;
  /** A secret's value never appears in an error or a log. */
  secret?: boolean;
};

/** Attaches description and example to an option's schema. */
export function option<T extends z.ZodType>(schema: T, meta: OptionMeta): T {
  return schema.meta({ ...meta, secret: meta.secret ?? false });
}

/** Whole number from text within [min, max]. */
export function intOption(min: number, max: number) {
  return z
    .string()
    .regex(/^-?\d+$/, `expected a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(
      z
        .number()
        .min(min, `expected a whole number from ${min} to ${max}`)
        .max(max, `expected a whole number from ${min} to ${max}`),
    );
}

/** A decimal number from text within [min, max]. */
export function decimalOption(min: number, max: number) {
  return z
    .string()
    .regex(/^-?\d+(\.\d+)?$/, `expected a number from ${min} to ${max}`)
    .transform(Number)
    .pipe(
      z
        .number()
        .min(min, `expected a number from ${min} to ${max}`)
        .max(max, `expected a number from ${min} to ${max}`),
    );
}

export const portOption = intOption(0, 65_535);

export const urlOption = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    message: 'expected an http:// or https:// URL',
  })
  .transform((text) => text.replace(/\/+$/, ''));

/** A name or a password in a URL would be told to whoever is told the URL; and fetch refuses to ask there. */
const withoutUserinfo = z.string().refine((text) => {
  if (!URL.canParse(text)) return true;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}, 'expected a URL without name and password before the host');

/** An address that clients are told. */
export const publicUrlOption = withoutUserinfo.pipe(urlOption);

/** An address that paths are put behind: without query and fragment, which would swallow them. */
export const baseUrlOption = withoutUserinfo
  .refine((text) => !/[?#]/.test(text), 'expected a URL without query (?) and fragment (#)')
  .pipe(urlOption);

/** Comma-separated values, trimmed; empty ones are none. */
export function listOption<T extends z.ZodType<unknown, string>>(item: T) {
  return z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .pipe(z.array(item));
}

const AT_LEAST_ONE = [(urls: string[]) => urls.length > 0, 'expected at least one URL'] as const;

/** Comma-separated URLs, at least one. */
export const urlListOption = listOption(urlOption).refine(...AT_LEAST_ONE);

/** Comma-separated addresses that paths are put behind, at least one. */
export const baseUrlListOption = listOption(baseUrlOption).refine(...AT_LEAST_ONE);

export const addressOption = z
  .string()
  .refine((text) => isAddress(text, { strict: false }), 'expected 0x and 40 hex characters')
  .transform((text) => getAddress(text.toLowerCase()));

export const booleanOption = z
  .enum(['true', 'false', '1', '0'], { error: 'expected true or false' })
  .transform((text) => text === 'true' || text === '1');

/** A wrong setting: the message names each variable, what was wrong and an example. */
export class ConfigError extends OperatorError {
  constructor(message: string) {
    super(message);
    this.name = 'ConfigError';
  }
}

function metaOf(schema: z.ZodType): Partial<OptionMeta> {
  return (z.globalRegistry.get(schema) ?? {}) as Partial<OptionMeta>;
}

/**
 * Parses `env` against the option groups merged into one object schema. An empty variable counts as absent.
 * @throws ConfigError listing every wrong or missing variable.
 */
export function loadConfig<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  env: NodeJS.ProcessEnv = process.env,
): Readonly<z.infer<z.ZodObject<Shape>>> {
  const given: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = env[name];
    if (value !== undefined && value !== '') given[name] = value;
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const lines = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0] ?? '?');
    const meta = metaOf((schema.shape as unknown as Record<string, z.ZodType>)[name] ?? z.never());
    const value = given[name];
    const seen =
      value === undefined
        ? 'is not set'
        : meta.secret === true || value.includes('@') // behind a name and a password
          ? 'is set'
          : `is ${JSON.stringify(value)}`;
    const example = meta.example === undefined ? '' : ` For example: ${name}=${meta.example}`;
    return `  ${name} ${seen}: ${issue.message}.${example}`;
  });
  throw new ConfigError(`Configuration is not valid:\n${lines.join('\n')}`);
}

/** Of the environment each setting by itself that can be used, the default where it cannot: for a diagnosis. */
export function usablePart<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  env: NodeJS.ProcessEnv,
): Partial<z.infer<z.ZodObject<Shape>>> {
  const found: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(schema.shape)) {
    const given = env[name] === '' ? undefined : env[name];
    const parsed = (option as z.ZodType).safeParse(given);
    const kept = parsed.success ? parsed : (option as z.ZodType).safeParse(undefined);
    if (kept.success) found[name] = kept.data;
  }
  return found as Partial<z.infer<z.ZodObject<Shape>>>;
}

/** Dollars from the configuration to USDG base units, floored. */
export function usdgOf(dollars: number): bigint {
  return parseDecimal(decimalTextOf(dollars), 6) ?? 0n;
}

/** ETH from the configuration to wei, floored. */
export function weiOf(eth: number): bigint {
  return parseDecimal(decimalTextOf(eth), 18) ?? 0n;
}

/** Reads `.env` of the working folder into the environment when it exists; set variables win. */
export function loadEnvFile(path = '.env'): void {
  if (existsSync(path)) process.loadEnvFile(path);
}

/** One group of `.env.example`: a comment per option, then `NAME=default-or-example`, commented out. */
export function renderEnvExample(title: string, schema: z.ZodObject<z.ZodRawShape>): string {
  const lines = [`# --- ${title}`];
  for (const [name, option] of Object.entries(schema.shape)) {
    const meta = metaOf(option as z.ZodType);
    lines.push(`# ${meta.description ?? ''}`, `#${name}=${meta.example ?? ''}`);
  }
  return `${lines.join('\n')}\n`;
}

export const logOptions = z.object({
  LOG_LEVEL: option(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).default('info'), {
    description: 'Least level that is logged: trace, debug, info, warn, error, fatal.',
    example: 'info',
  }),
});

export const chainOptions = z.object({
  RPC_URLS: option(urlListOption, {
    description: 'RPC endpoints of chain 4663, comma-separated, best first.',
    example: 'http://127.0.0.1:8545',
    // A provider's key stands in the path or the query.
    secret: true,
  }),
  RPC_TIMEOUT_MS: option(intOption(100, 120_000).default(10_000), {
    description: 'Deadline of one RPC request, in milliseconds.',
    example: '10000',
  }),
  DEPLOYMENT_FILE: option(z.string().min(1).default('.data/deployment.json'), {
    description: 'The deployment file (addresses, start block, tickers).',
    example: '.data/deployment.json',
  }),
});

export const storeOptions = z.object({
  DATABASE_URL: option(
    z
      .string()
      .regex(/^(file:|postgres(ql)?:\/\/)/, 'expected file:… or postgres://…')
      .optional(),
    {
      description: 'Where this process keeps its rows; absent: a SQLite file in .data.',
      example: 'file:.data/api.sqlite',
      secret: true,
    },
  ),
});
