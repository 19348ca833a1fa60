/**
 * The built chain as a file: manifest and Anvil state together, checked by a hash, written to a temporary name and
 * renamed. So a reader sees a whole file or none, and of two builders at once the later rename wins with equal content.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { manifestSchema } from '../seed/manifest.ts';

const unzip = promisify(gunzip);
const zip = promisify(gzip);

const cachedSchema = z.object({
  manifest: manifestSchema,
  /** Unix seconds of the newest block. */
  timestamp: z.int().positive(),
  /** What `anvil_loadState` takes. */
  state: z.string().refine(isHex),
});

/** Of megabytes: an expression that could go back in them has run out of stack, now and then. */
function isHex(text: string): boolean {
  return text.length > 2 && text.startsWith('0x') && !/[^0-9a-f]/.test(text.slice(2));
}

export type CachedChain = z.infer<typeof cachedSchema>;

export type CacheRead = { tag: 'hit'; chain: CachedChain } | { tag: 'miss' } | { tag: 'corrupt' };

/** How many built states stay on disk: the present one and those of a branch or two. */
const KEPT = 3;

function pathOf(folder: string, key: string): string {
  return join(folder, `chain-${key}.json`);
}

export async function readCache(folder: string, key: string): Promise<CacheRead> {
  let text: string;
  try {
    text = await readFile(pathOf(folder, key), 'utf8');
  } catch (error) {
    // expected: not built yet
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { tag: 'miss' };
    throw error;
  }
  const split = text.indexOf('\n');
  const body = text.slice(split + 1);
  if (split < 0 || digest(body) !== text.slice(0, split)) return { tag: 'corrupt' };
  const parsed = cachedSchema.safeParse(JSON.parse(body));
  return parsed.success ? { tag: 'hit', chain: parsed.data } : { tag: 'corrupt' };
}

export async function writeCache(folder: string, key: string, chain: CachedChain): Promise<void> {
  await mkdir(folder, { recursive: true });
  const body = JSON.stringify(chain);
  const temporary = join(folder, `.chain-${key}-${process.pid}-${randomBytes(4).toString('hex')}`);
  try {
    await writeFile(temporary, `${digest(body)}\n${body}`);
    await rename(temporary, pathOf(folder, key));
  } finally {
    await rm(temporary, { force: true });
  }
  await removeOld(folder);
}

/**
 * Takes the call traces out of an Anvil state: they are nine tenths of it, and only `trace_*` methods of past
 * transactions read them.
 */
export async function slimState(state: `0x${string}`): Promise<`0x${string}`> {
  const json = JSON.parse((await unzip(Buffer.from(state.slice(2), 'hex'))).toString('utf8')) as {
    transactions?: { info: { traces: unknown[] } }[];
  };
  for (const { info } of json.transactions ?? []) info.traces = [];
  return `0x${(await zip(JSON.stringify(json))).toString('hex')}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function removeOld(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /^chain-[0-9a-f]+\.json$/.test(name));
  const aged: { path: string; at: number }[] = [];
  for (const name of names) {
    const path = join(folder, name);
    try {
      aged.push({ path, at: (await stat(path)).mtimeMs });
    } catch {
      // expected: another process removed it first
    }
  }
  aged.sort((a, b) => b.at - a.at);
  for (const { path } of aged.slice(KEPT)) await rm(path, { force: true });
}
