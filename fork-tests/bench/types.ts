/**
 * What a bench is. `npm run bench -- <name>` runs `fork-tests/bench/<name>.ts`, which exports
 *
 *   export const bench: Bench = async ({ say }) => { …; return { ratio, … }; };
 *
 * The baseline is part of the bench: the bare thing it is measured against, on the same machine, with the same wallets,
 * Anvil mode and durability, measured side by side in one run (`sideBySide` of measure/rounds.ts). What a bench needs
 * besides lies in a folder of its name, `fork-tests/bench/<name>/`.
 */
export type BenchContext = {
  /** Tells progress, on stderr: stdout ends with the result as one line of JSON. */
  say: (line: string) => void;
};

/** Named figures, with the unit in the name (`oursPerSecond`, `baselineMs`); `ratio` is what is judged. */
export type BenchFigures = { ratio: number } & Record<string, number | string | number[]>;

/** Runs to its end and leaves nothing behind. Throws when it could not measure what it says it measures. */
export type Bench = (context: BenchContext) => Promise<BenchFigures>;
