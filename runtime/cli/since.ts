/** The start of a period as an operator writes it. */

const HOUR_MS = 3_600_000;

/** `7d`, `36h`, or a UTC day as `2026-11-01`; null for anything else. */
export function sinceOf(text: string, nowMs: number): number | null {
  const span = /^(\d{1,4})([dh])$/.exec(text);
  if (span !== null) {
    return nowMs - Number(span[1]) * (span[2] === 'd' ? 24 * HOUR_MS : HOUR_MS);
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const ms = Date.parse(`${text}T00:00:00.000Z`);
  // "2026-02-30" is read as a day of March by some engines: only what comes back the same is a day.
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text ? null : ms;
}
