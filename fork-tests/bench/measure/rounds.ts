/** Two things measured side by side: in turns, so that a busy moment of the machine meets both. */

export type Sides = {
  /** Median of ours over the baseline, round by round. */
  ratio: number;
  /** Medians. */
  ours: number;
  baseline: number;
  /** Every round's ratio, in order: how far the median can be trusted. */
  ratios: number[];
};

/** The middle of a list; of an even one, the mean of the two in the middle. @throws RangeError on an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new RangeError('nothing was measured');
  return (lower + upper) / 2;
}

/**
 * Measures both in every round, the order turned each time, after one round that does not count (caches, the JIT).
 * Each function returns one figure of the same unit: a rate, or a time.
 */
export async function sideBySide(options: {
  rounds: number;
  ours: () => Promise<number>;
  baseline: () => Promise<number>;
  say?: (line: string) => void;
}): Promise<Sides> {
  const measured: { ours: number; baseline: number }[] = [];
  for (let round = 0; round <= options.rounds; round += 1) {
    let ours: number;
    let baseline: number;
    if (round % 2 === 0) {
      ours = await options.ours();
      baseline = await options.baseline();
    } else {
      baseline = await options.baseline();
      ours = await options.ours();
    }
    if (round === 0) continue;
    measured.push({ ours, baseline });
    const figures = `ours ${ours.toPrecision(4)}, baseline ${baseline.toPrecision(4)}`;
    options.say?.(
      `round ${round}/${options.rounds}: ${figures}, ratio ${(ours / baseline).toFixed(3)}`,
    );
  }
  const ratios = measured.map(({ ours, baseline }) => ours / baseline);
  return {
    ratio: median(ratios),
    ours: median(measured.map(({ ours }) => ours)),
    baseline: median(measured.map(({ baseline }) => baseline)),
    ratios,
  };
}
