/** Memory and handles of processes over time, from /proc. */
import { readdirSync, readFileSync } from 'node:fs';
import { median } from '../bench/measure/rounds.ts';

type Sample = { rssMb: number; handles: number };

export type Trend = {
  startMb: number;
  endMb: number;
  startHandles: number;
  endHandles: number;
  samples: number;
  flat: boolean;
};

/** Null once the process is gone. */
function sampleOf(pid: number): Sample | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kilobytes = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
    return { rssMb: kilobytes / 1_024, handles: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    // Expected: it ended meanwhile.
    return null;
  }
}

/** What a garbage-collected process may gain between two looks without a leak. */
const SLACK_MB = 40;
const SLACK_SHARE = 1.25;
const SLACK_HANDLES = 20;

export class Resources {
  readonly #samples = new Map<string, Sample[]>();

  /** Call at a fixed pace once the process has warmed up. */
  sample(name: string, pid: number): void {
    const sample = sampleOf(pid);
    if (sample !== null) this.#samples.set(name, [...(this.#samples.get(name) ?? []), sample]);
  }

  /** The first fifth of the samples against the last. */
  trend(name: string): Trend {
    const samples = this.#samples.get(name) ?? [];
    const fifth = Math.max(1, Math.floor(samples.length / 5));
    const first = samples.slice(0, fifth);
    const last = samples.slice(-fifth);
    const of = (part: Sample[], key: keyof Sample) =>
      Math.round(median(part.map((sample) => sample[key])));
    const [startMb, endMb] = [of(first, 'rssMb'), of(last, 'rssMb')];
    const [startHandles, endHandles] = [of(first, 'handles'), of(last, 'handles')];
    const flat =
      endMb <= startMb * SLACK_SHARE + SLACK_MB && endHandles <= startHandles + SLACK_HANDLES;
    return { startMb, endMb, startHandles, endHandles, samples: samples.length, flat };
  }
}
