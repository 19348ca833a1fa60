/** What one check of the doctor says: one line for an operator, with what to do where something is wrong. */
import { within } from '../deadline.ts';
import { faultLine } from '../fault-line.ts';

export type Finding = {
  level: 'ok' | 'warn' | 'fail';
  /** What was looked at: "rpc 1", "store" … */
  about: string;
  says: string;
  /** What to do; null where nothing is wrong. */
  fix: string | null;
};

export const ok = (about: string, says: string): Finding => ({
  level: 'ok',
  about,
  says,
  fix: null,
});
export const warn = (about: string, says: string, fix: string): Finding => ({
  level: 'warn',
  about,
  says,
  fix,
});
export const fail = (about: string, says: string, fix: string): Finding => ({
  level: 'fail',
  about,
  says,
  fix,
});

/** Runs one check within its own deadline: what throws or hangs is a finding, never the end of the others. */
export async function checked(
  about: string,
  ms: number,
  fix: string,
  check: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await within(check(), ms, 'the check');
  } catch (error) {
    return [fail(about, faultLine(error), fix)];
  }
}

/** `ok    rpc 1        …` */
export function lineOf({ level, about, says, fix }: Finding): string {
  const text = `${level.padEnd(4)}  ${about.padEnd(12)}  ${says}`;
  return fix === null ? text : `${text}: ${fix}`;
}

/** How an endpoint is called in a line: never its path or query, where a provider's key stands. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    // Expected: no URL at all; the settings' own finding says so.
    return 'no URL';
  }
}
