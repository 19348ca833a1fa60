/**
 * The journal of a deployment under way, or of a run that extends its cover market: what was planned, what was decided
 * on the way, and each transaction before it left. What must hold:
 * - a transaction's line is on disk (fsync) before its bytes are broadcast, so whatever may have left is known;
 * - a step has one line, so one transaction: on doubt the same bytes go out again. Where its bytes can no longer succeed
 *   it may be signed anew, under the same nonce: at most one of the two is ever mined, and both stay on record;
 * - what a step rests on, a plan stated anew and what was decided for it, is on its own line: until that is written the
 *   steps on record rest on what was before, whatever becomes of this run;
 * - the chain says what became of them. That a step was seen mined is noted only to tell another chain (same-chain.ts):
 *   nothing here claims that it still is.
 *
 * One JSON object a line, appended. A line without its end was being written when the process died: nothing of it was
 * broadcast, and it is cut off.
 */
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { type Hex, isHex } from 'viem';
import { z } from 'zod';
import { deploymentSchema } from '../../../contracts-abi/deployment.ts';
import { DeployError } from './errors.ts';

const address = deploymentSchema.shape.usdg;
const hex = z.custom<Hex>((value) => isHex(value), 'expected 0x and hex characters');

const blockSchema = z.object({ number: z.int().nonnegative(), hash: hex });

const ownHeaderSchema = z.object({
  /** Whose key sends. */
  deployer: address,
  /** Nonce of the first step. */
  firstNonce: z.int().nonnegative(),
  /** A block from before the first step: what tells this chain from another with the same id. */
  anchor: blockSchema,
  /** The newest block when it began: one that a fork made for itself is no other chain's. Absent in older journals. */
  head: blockSchema.optional(),
});

const decisionValue = z.union([z.string(), z.number()]);

/** A line of its own in older journals. */
const decisionSchema = z.object({ decision: z.string(), value: decisionValue });

const stepSchema = z.object({
  step: z.int().nonnegative(),
  what: z.string(),
  nonce: z.int().nonnegative(),
  /** Null: a contract is created. */
  to: address.nullable(),
  value: z.string().regex(/^\d+$/),
  dataHash: hex,
  hash: hex,
  raw: hex,
});

/** What a step's line has beside the step. */
type Basis<Plan> = { plan?: Plan; decisions?: Record<string, string | number> };

/** The last step, signed anew under its nonce. */
const resignedSchema = stepSchema.extend({ replaces: hex });

/** The step was seen mined. */
const minedSchema = z.object({ mined: z.int().nonnegative() });

export type JournalHeader<Plan> = z.infer<typeof ownHeaderSchema> & { plan: Plan };
/** `earlier`: hashes of the same step as it was signed before. */
export type JournalStep = z.infer<typeof stepSchema> & { earlier: readonly Hex[] };

/** What a journal says; `path` is where it was found. */
export type JournalContent<Plan> = {
  readonly path: string;
  readonly header: JournalHeader<Plan>;
  readonly decisions: Map<string, string | number>;
  readonly steps: JournalStep[];
  /** Index of the last step that was seen mined; -1: none. */
  readonly seen: number;
};

/** Whether anything may have left: without a step, damaged or not, nothing was ever signed. */
export function hasSteps(path: string): boolean {
  try {
    return readFileSync(path, 'utf8').includes('\n{"step":');
  } catch (error) {
    // expected: there is none, or it is no file; what cannot be read may hold anything
    return !['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

export class Journal<Plan> implements JournalContent<Plan> {
  readonly path: string;
  readonly header: JournalHeader<Plan>;
  readonly decisions: Map<string, string | number>;
  readonly steps: JournalStep[];
  readonly #file: number;
  #seen: number;
  /** What is new since the last step was signed. */
  #basis: Basis<Plan> = {};

  private constructor(path: string, file: number, content: JournalContent<Plan>) {
    this.path = path;
    this.#file = file;
    this.header = content.header;
    this.decisions = content.decisions;
    this.steps = content.steps;
    this.#seen = content.seen;
  }

  get seen(): number {
    return this.#seen;
  }

  /** What an earlier run left, to look at only: another run may be writing. Null when there is nothing. */
  static read<Plan>(path: string, plan: z.ZodType<Plan>): JournalContent<Plan> | null {
    const text = readWhole(path);
    return text === null ? null : parse(path, text, plan);
  }

  /**
   * Takes up what an earlier run left; null when there is nothing. Only for who holds the lock: an unfinished line is
   * cut off. Throws a DeployError when it is damaged.
   */
  static open<Plan>(path: string, plan: z.ZodType<Plan>): Journal<Plan> | null {
    const text = readWhole(path);
    if (text === null) return null;
    const content = parse(path, text, plan);
    const file = openSync(path, 'r+');
    ftruncateSync(file, Buffer.byteLength(finished(text)));
    fsyncSync(file);
    closeSync(file);
    return new Journal(path, openSync(path, 'a'), content);
  }

  /** Begins one, in the place of what was there. The header is there whole or not at all. */
  static create<Plan>(path: string, header: JournalHeader<Plan>): Journal<Plan> {
    mkdirSync(dirname(path), { recursive: true });
    const temporary = `${path}.tmp`;
    const file = openSync(temporary, 'w', 0o600);
    writeLine(file, header);
    closeSync(file);
    renameSync(temporary, path);
    syncFolder(dirname(path));
    const content: JournalContent<Plan> = {
      path,
      header,
      decisions: new Map(),
      steps: [],
      seen: -1,
    };
    return new Journal(path, openSync(path, 'a'), content);
  }

  /** For steps that are not signed yet; the others are held against what was sent. On disk with the next one. */
  replan(plan: Plan): void {
    this.header.plan = plan;
    this.#basis.plan = plan;
  }

  /** On disk with the step that is signed next, which rests on it. */
  decide(decision: string, value: string | number): void {
    this.decisions.set(decision, value);
    this.#basis.decisions = { ...this.#basis.decisions, [decision]: value };
  }

  /** Returns once the line is on disk. */
  recordStep(step: JournalStep): void {
    if (step.step !== this.steps.length) throw new Error(`step ${step.step} is out of order`);
    const { earlier: _, ...line } = step;
    this.#writeStep(line);
    this.steps.push(step);
  }

  /** Of the last step alone, under its own nonce. Returns once the line is on disk. */
  recordResigned(step: JournalStep): void {
    const last = this.steps.at(-1);
    if (last === undefined || last.step !== step.step || last.nonce !== step.nonce) {
      throw new Error(`step ${step.step} is not the last one`);
    }
    const { earlier: _, ...line } = step;
    this.#writeStep({ ...line, replaces: last.hash });
    this.steps[this.steps.length - 1] = { ...step, earlier: [...last.earlier, last.hash] };
  }

  #writeStep(line: object): void {
    writeLine(this.#file, { ...line, ...this.#basis });
    this.#basis = {};
  }

  /** Once is enough. */
  recordMined(step: number): void {
    if (step <= this.#seen) return;
    writeLine(this.#file, { mined: step });
    this.#seen = step;
  }

  close(): void {
    closeSync(this.#file);
  }
}

function readWhole(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    // expected: a first run
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** The lines that were written to their end. */
function finished(text: string): string {
  return text.slice(0, text.lastIndexOf('\n') + 1);
}

function parse<Plan>(path: string, text: string, plan: z.ZodType<Plan>): JournalContent<Plan> {
  const basis = {
    plan: plan.optional(),
    decisions: z.record(z.string(), decisionValue).optional(),
  };
  const lineSchema = z.union([
    resignedSchema.extend(basis),
    stepSchema.extend(basis),
    minedSchema,
    decisionSchema,
    // A line of its own in older journals: prices that were stated anew.
    z.object({ plan }),
  ]);
  const lines = finished(text).split('\n').slice(0, -1);
  const [first, ...rest] = lines;
  const header = ownHeaderSchema
    .extend({ plan })
    .safeParse(first === undefined ? null : jsonOf(first));
  if (!header.success) {
    throw new DeployError(
      `the journal ${path} is damaged, or of another version: line 1 is not the plan of what is under way`,
    );
  }
  const decisions = new Map<string, string | number>();
  const steps: JournalStep[] = [];
  let seen = -1;
  for (const [index, line] of rest.entries()) {
    const entry = lineSchema.safeParse(jsonOf(line));
    if (!entry.success)
      throw new DeployError(`the journal ${path} is damaged at line ${index + 2}`);
    const lacks = () =>
      new DeployError(`the journal ${path} lacks a step before line ${index + 2}`);
    if ('plan' in entry.data && entry.data.plan !== undefined) header.data.plan = entry.data.plan;
    if ('decision' in entry.data) {
      decisions.set(entry.data.decision, entry.data.value);
    } else if ('mined' in entry.data) {
      seen = entry.data.mined;
      if (seen >= steps.length) throw lacks();
    } else if ('step' in entry.data) {
      const { plan: _, decisions: decided, ...signed } = entry.data;
      for (const [name, value] of Object.entries(decided ?? {})) decisions.set(name, value);
      if ('replaces' in signed) {
        const { replaces, ...step } = signed;
        const last = steps.at(-1);
        if (last?.hash !== replaces || last.nonce !== step.nonce || last.step !== step.step) {
          throw lacks();
        }
        steps[steps.length - 1] = { ...step, earlier: [...last.earlier, replaces] };
      } else {
        const { step, nonce } = signed;
        if (step !== steps.length || nonce !== header.data.firstNonce + step) throw lacks();
        steps.push({ ...signed, earlier: [] });
      }
    }
  }
  return { path, header: header.data, decisions, steps, seen };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // expected: a damaged file; the caller says which line
    return null;
  }
}

function writeLine(file: number, value: unknown): void {
  const line = JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item,
  );
  const bytes = Buffer.from(`${line}\n`);
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(file, bytes, written);
  }
  fsyncSync(file);
}

/** A renamed file is certain to be found only once its folder is on disk. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
}
