/** The lines of a journal (journal.ts), and what they say together. Pure. */
import { type Hex, isHex, keccak256 } from 'viem';
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

/** A line of its own in older journals. Strict, as is each below: a damaged step must not pass for another line. */
const decisionSchema = z.strictObject({ decision: z.string(), value: decisionValue });

const stepSchema = z.strictObject({
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

/** What a step's line has beside the step, where it is new. */
export type Basis<Plan> = { plan?: Plan; decisions?: Record<string, string | number> };

/** The last step, signed anew under its nonce. */
const resignedSchema = stepSchema.extend({ replaces: hex });

/** The step was seen mined. */
const minedSchema = z.strictObject({ mined: z.int().nonnegative() });

export type JournalHeader<Plan> = z.infer<typeof ownHeaderSchema> & { plan: Plan };
/** `earlier`: hashes of the same step as it was signed before. */
export type JournalStep = z.infer<typeof stepSchema> & { earlier: readonly Hex[] };

/** Of a step as it was signed before: itself, and all that it rests on. */
export type Former<Plan> = {
  readonly step: JournalStep;
  readonly plan: Plan;
  readonly decisions: ReadonlyMap<string, string | number>;
};

/** What a journal says; `path` is where it was found. */
export type JournalContent<Plan> = {
  readonly path: string;
  readonly header: JournalHeader<Plan>;
  readonly decisions: Map<string, string | number>;
  readonly steps: JournalStep[];
  /** Index of the last step that was seen mined; -1: none. */
  readonly seen: number;
  /** Of the last step alone, by hash. */
  readonly former: Map<Hex, Former<Plan>>;
  /**
   * What older journals left behind the last step in lines of their own, and no step rests on: as it stands without
   * them. It goes on the next step's line, which they would count for otherwise.
   */
  readonly overruled: Basis<Plan>;
};

/** The lines that were written to their end. */
export function finished(text: string): string {
  return text.slice(0, text.lastIndexOf('\n') + 1);
}

export function parse<Plan>(
  path: string,
  text: string,
  plan: z.ZodType<Plan>,
): JournalContent<Plan> {
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
    z.strictObject({ plan }),
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
  const former = new Map<Hex, Former<Plan>>();
  // Lines of their own count for the next step: a run may have broken off before it had signed one.
  let waiting: { plan?: Plan; decisions: Record<string, string | number> } = { decisions: {} };
  let seen = -1;
  for (const [index, line] of rest.entries()) {
    const entry = lineSchema.safeParse(jsonOf(line));
    if (!entry.success || ('raw' in entry.data && !isWhole(entry.data))) {
      throw new DeployError(`the journal ${path} is damaged at line ${index + 2}`);
    }
    const lacks = () =>
      new DeployError(`the journal ${path} lacks a step before line ${index + 2}`);
    if ('step' in entry.data) {
      const { plan: stated, decisions: decided, ...signed } = entry.data;
      const last = steps.at(-1);
      const before = { plan: header.data.plan, decisions: new Map(decisions) };
      header.data.plan = stated ?? waiting.plan ?? header.data.plan;
      for (const [name, value] of Object.entries({ ...waiting.decisions, ...decided })) {
        decisions.set(name, value);
      }
      waiting = { decisions: {} };
      if ('replaces' in signed) {
        const { replaces, ...step } = signed;
        if (last?.hash !== replaces || last.nonce !== step.nonce || last.step !== step.step) {
          throw lacks();
        }
        former.set(replaces, { step: last, ...before });
        steps[steps.length - 1] = { ...step, earlier: [...last.earlier, replaces] };
      } else {
        const { step, nonce } = signed;
        if (step !== steps.length || nonce !== header.data.firstNonce + step) throw lacks();
        former.clear();
        steps.push({ ...signed, earlier: [] });
      }
    } else if ('mined' in entry.data) {
      seen = entry.data.mined;
      if (seen >= steps.length) throw lacks();
    } else if ('decision' in entry.data) {
      waiting.decisions[entry.data.decision] = entry.data.value;
    } else {
      waiting.plan = entry.data.plan;
    }
  }
  const overruled: Basis<Plan> = {
    ...(waiting.plan === undefined ? {} : { plan: header.data.plan }),
    ...(Object.keys(waiting.decisions).length === 0
      ? {}
      : { decisions: Object.fromEntries(decisions) }),
  };
  return { path, header: header.data, decisions, steps, seen, former, overruled };
}

/** Damaged bytes would be another sender's, and what is sent would be looked for under a hash that it has not. */
function isWhole({ raw, hash }: { raw: Hex; hash: Hex }): boolean {
  return keccak256(raw) === hash;
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // expected: a damaged file; the caller says which line
    return null;
  }
}
