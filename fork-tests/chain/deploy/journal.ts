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
import type { Hex } from 'viem';
import type { z } from 'zod';
import {
  type Basis,
  type Former,
  finished,
  type JournalContent,
  type JournalHeader,
  type JournalStep,
  parse,
} from './journal-lines.ts';

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
  readonly former: Map<Hex, Former<Plan>>;
  readonly overruled: Basis<Plan>;
  readonly #file: number;
  #seen: number;
  /** What is new since the last step was signed. */
  #basis: Basis<Plan>;
  /** What the last step rests on. */
  #onRecord: Omit<Former<Plan>, 'step'>;

  private constructor(path: string, file: number, content: JournalContent<Plan>) {
    this.path = path;
    this.#file = file;
    this.header = content.header;
    this.decisions = content.decisions;
    this.steps = content.steps;
    this.former = content.former;
    this.overruled = content.overruled;
    this.#seen = content.seen;
    this.#basis = { ...content.overruled };
    this.#onRecord = { plan: content.header.plan, decisions: new Map(content.decisions) };
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
      former: new Map(),
      overruled: {},
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
    this.former.clear();
    this.steps.push(step);
  }

  /** Of the last step alone, under its own nonce. Returns once the line is on disk. */
  recordResigned(step: JournalStep): void {
    const last = this.steps.at(-1);
    if (last === undefined || last.step !== step.step || last.nonce !== step.nonce) {
      throw new Error(`step ${step.step} is not the last one`);
    }
    const { earlier: _, ...line } = step;
    this.former.set(last.hash, { step: last, ...this.#onRecord });
    this.#writeStep({ ...line, replaces: last.hash });
    this.steps[this.steps.length - 1] = { ...step, earlier: [...last.earlier, last.hash] };
  }

  /**
   * The last step's place was taken by bytes that it was signed with before: with them goes what they rest on. Returns
   * once that is on disk; false where `mined` is none of them, or has the contents of the last ones.
   */
  fallBack(mined: Hex): boolean {
    const last = this.steps.at(-1);
    const former = this.former.get(mined);
    if (last === undefined || former === undefined || hasContentsOf(last, former.step))
      return false;
    const { step, plan, decisions } = former;
    this.header.plan = plan;
    this.decisions.clear();
    for (const [name, value] of decisions) this.decisions.set(name, value);
    this.#basis = { plan, decisions: Object.fromEntries(decisions) };
    this.recordResigned(step);
    return true;
  }

  #writeStep(line: object): void {
    writeLine(this.#file, { ...line, ...this.#basis });
    this.#basis = {};
    this.#onRecord = { plan: this.header.plan, decisions: new Map(this.decisions) };
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

function hasContentsOf(one: JournalStep, other: JournalStep): boolean {
  return one.to === other.to && one.value === other.value && one.dataHash === other.dataHash;
}

/** A renamed file is certain to be found only once its folder is on disk. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
}
