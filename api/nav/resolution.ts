/** Resolutions of NAV history and what fits into one answer (wire.md, Reads). Pure. */
export const RESOLUTIONS = {
  '1m': { seconds: 60, perYear: 525_600 },
  '1h': { seconds: 3_600, perYear: 8_760 },
  '1d': { seconds: 86_400, perYear: 365 },
} as const;

export type Resolution = keyof typeof RESOLUTIONS;

export const MAX_CANDLES = 10_000;
const DAY = 86_400;

/** 1m up to a day, 1h up to 30 days, else 1d. */
export function resolutionFor(days: number): Resolution {
  if (days <= 1) return '1m';
  return days <= 30 ? '1h' : '1d';
}

/** Candles of so many days, the running one among them. */
export function candleCount(resolution: Resolution, days: number): number {
  return (days * DAY) / RESOLUTIONS[resolution].seconds;
}

/** Null when it fits, otherwise a sentence that says what would. */
export function tooMany(resolution: Resolution, days: number): string | null {
  const asked = candleCount(resolution, days);
  if (asked <= MAX_CANDLES) return null;
  const fits = Math.floor((MAX_CANDLES * RESOLUTIONS[resolution].seconds) / DAY);
  const coarser = resolution === '1m' ? '1h' : '1d';
  return `${days} days of ${resolution} are ${asked} candles, more than the ${MAX_CANDLES} of one answer: ask for at most ${fits} days, or for res=${coarser}`;
}
