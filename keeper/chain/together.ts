/**
 * Simulates calls one behind another: several to one question of the node, and what each gains seen behind those before
 * it, as it will be mined. A hundred orders that one price move makes due cost a dozen calls so, not a hundred and the
 * batches' own.
 *
 * Nobody's failure is another's doing: what fails behind others is asked again, without those that passed.
 */
import type { Call, Measured, RevertReader, Simulation } from './simulate.ts';

/**
 * The how-manieth of its run a call passed, from 0: the first saw the chain as it is, at `ms` by the simulator's clock.
 * One run is one `symbol`.
 */
export type Place = { run: symbol; at: number; ms: number };

/** A node that did not answer a run of calls, or refused it, is asked for one at a time for so long. */
const ALONE_MS = 60_000;
/** A run must fit the gas that a node spends on one question. */
const MOST_IN_RUN = 20;
/** What fails behind others again and again is asked by itself. */
const MOST_ROUNDS = 2;

type Waiting = {
  call: Call;
  read: RevertReader;
  /** What an estimate lies above the gas used; null while no estimate speaks for it. */
  extra: () => bigint | null;
  done: (simulation: Simulation) => void;
  failed: (error: unknown) => void;
  /** Simulates it by itself. */
  alone: () => Promise<Simulation>;
};

export type Together = {
  /** Joins those that ask in the same moment. What passes and has no estimate yet is simulated again, by itself. */
  simulate(call: Pick<Waiting, 'call' | 'read' | 'extra' | 'alone'>): Promise<Simulation>;
};

/**
 * @param options.run measures calls of one sender one behind another, in one question
 * @param options.most calls in one question; 1: each by itself
 */
export function createTogether(options: {
  run: (calls: readonly Call[]) => Promise<Measured[]>;
  most: number;
  now: () => number;
}): Together {
  const { now } = options;
  const waiting: Waiting[] = [];
  let aloneUntilMs = 0;
  const most = (): number => (now() < aloneUntilMs ? 1 : Math.min(options.most, MOST_IN_RUN));

  /** Settles those that the run speaks for; the others are returned. */
  async function runOnce(members: readonly Waiting[]): Promise<Waiting[]> {
    const ms = now();
    const answers = await options.run(members.map(({ call }) => call));
    const run = Symbol('run');
    const again: Waiting[] = [];
    let at = 0;
    for (const [index, member] of members.entries()) {
      const answer = answers[index];
      const place = { run, at, ms };
      if (answer?.tag === 'passed') at += 1;
      const extra = member.extra();
      if (answer?.tag === 'passed' && answer.gasUsed !== null && extra !== null) {
        const { before, after, returned, gasUsed } = answer;
        const [gainUsdg, gas] = [after - before, gasUsed + extra];
        member.done({ tag: 'passed', gainUsdg, returned, gas, place });
      } else if (answer?.tag === 'reverted') {
        if (at > 0) again.push(member);
        else {
          const { data, gasSpent } = answer;
          member.done({ tag: 'reverted', revert: member.read(data), gasSpent });
        }
      } else if (answer?.tag === 'unavailable' && !answer.answered && members.length === 1) {
        member.done(answer);
      } else {
        // The node cannot run them together, hangs on one of them, or nothing tells the gas.
        if (answer?.tag === 'unavailable') aloneUntilMs = now() + ALONE_MS;
        member.alone().then(member.done, member.failed);
      }
    }
    return again;
  }

  async function runAll(members: readonly Waiting[]): Promise<void> {
    let left = members;
    try {
      for (let round = 0; round < MOST_ROUNDS && left.length > 0; round += 1) {
        left = await runOnce(left);
      }
      for (const member of left) member.alone().then(member.done, member.failed);
    } catch (error) {
      for (const member of left) member.failed(error);
    }
  }

  function flush(): void {
    while (waiting.length > 0) void runAll(waiting.splice(0, most()));
  }

  return {
    simulate: (call) =>
      new Promise((done, failed) => {
        waiting.push({ ...call, done, failed });
        if (waiting.length >= most()) flush();
        else if (waiting.length === 1) setImmediate(flush);
      }),
  };
}
