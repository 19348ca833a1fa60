import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifacts } from './forge.ts';

/** Gas by name: `Contract.function`, a variant in brackets behind it, or a trade of the overhead suite. */
export type Figures = Record<string, number>;

const CONTRACTS = [
  'AccountFactory',
  'AccountsGenesis',
  'BasketRegistry',
  'BasketVault',
  'BasketZapper',
  'CoverMarket',
  'CoverModule',
  'ExitEscrow',
  'LimitEscrow',
  'NavOracle',
  'ProtocolPause',
  'ScheduleEscrow',
  'SessionModule',
] as const;

/** Public functions that no transaction of their own can run. */
const WITHIN_OTHERS: Record<string, string> = {
  'BasketZapper.payForMint': 'only while a vault mints for the zapper: within buy and buyExact',
  'ScheduleEscrow.disarm': 'always refused: the trigger of an armed slot cannot turn false',
};

/** The figures in forge's account, sorted by name. */
export function figuresOf(account: string): Figures {
  const figures: Figures = {};
  for (const line of account.split('\n')) {
    const match = /^ {2}(\S.*): (\d+)$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) figures[match[1]] = Number(match[2]);
  }
  return Object.fromEntries(
    Object.entries(figures).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
  );
}

/** Every public function that has no figure, by the ABIs of the build that was measured. */
export function unmeasured(figures: Figures): string[] {
  const measured = new Set(Object.keys(figures).map((name) => name.replace(/ \(.*\)$/, '')));
  return CONTRACTS.flatMap((contract) => {
    const path = join(artifacts, `${contract}.sol`, `${contract}.json`);
    const { abi } = JSON.parse(readFileSync(path, 'utf8')) as {
      abi: { type: string; name?: string }[];
    };
    return abi
      .filter(({ type }) => type === 'function')
      .map(({ name }) => `${contract}.${name ?? ''}`)
      .filter((name) => !measured.has(name) && WITHIN_OTHERS[name] === undefined);
  });
}

/** Figures that differ by more than `tolerance` of the committed one, appeared or went. */
export function differences(committed: Figures, measured: Figures, tolerance = 0.01): string[] {
  const names = [...new Set([...Object.keys(committed), ...Object.keys(measured)])].toSorted();
  return names.flatMap((name) => {
    const was = committed[name];
    const is = measured[name];
    if (was === undefined) return [`${name}: ${is ?? 0}, not in the snapshot`];
    if (is === undefined) return [`${name}: no longer measured`];
    return Math.abs(is - was) > was * tolerance ? [`${name}: ${was} before, ${is} now`] : [];
  });
}
