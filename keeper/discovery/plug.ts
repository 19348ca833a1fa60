/** When the chain itself is a source: always, or while any other does not tell its jobs and its payouts as of now. */
import { inTurn } from '../../runtime/in-turn.ts';
import { Asked, gather } from '../source/asked.ts';
import type { SourceAnswer } from '../source/job-source.ts';
import type { Discovery } from './discovery.ts';

export const DISCOVERY_MODES = ['off', 'fallback', 'always'] as const;
export type DiscoveryMode = (typeof DISCOVERY_MODES)[number];

/** A source whose blocks are older than the head by more than this is stuck, seconds by the chain. */
export const STALE_SECONDS = 60;

export type Listings = {
  /** What the sources have to tell now. Never throws. */
  poll(signal: AbortSignal): Promise<SourceAnswer[]>;
  /** Ends with what is still being asked; the signal of the last poll ends that soon. */
  quiet(): Promise<void>;
};

export type ListingsOptions = {
  /** Of each configured source, by index; never throws. */
  sources: readonly ((signal: AbortSignal) => Promise<SourceAnswer>)[];
  isDropped: (source: number) => boolean;
  discovery: Pick<Discovery, 'list' | 'standBy'>;
  mode: DiscoveryMode;
  /** Time of the chain's head, unix seconds; null while it is not known. */
  chainTime: () => number | null;
  now: () => number;
};

/** The sources with discovery behind or beside them. `mode` off: the sources alone. */
export function createListings(options: ListingsOptions): Listings {
  const { isDropped, discovery, mode, chainTime, now } = options;
  const apis = options.sources.map((list, source) => ({ source, asked: new Asked(list, now) }));
  // It looks, or reads on: both move the same book.
  const turn = inTurn();
  const own = new Asked((signal) => turn(() => discovery.list(signal)), now);
  let standingBy: Promise<void> | null = null;
  let lookedAtMs = now();

  function standBy(signal: AbortSignal): void {
    standingBy ??= turn(() => discovery.standBy(signal)).finally(() => {
      standingBy = null;
    });
  }

  const isSilent = ({ source, asked }: (typeof apis)[number]): boolean =>
    isDropped(source) || !tellsAll(asked.last(), chainTime());

  async function taken(asked: readonly Asked[], signal: AbortSignal): Promise<SourceAnswer[]> {
    const answers = await gather(asked, lookedAtMs, signal);
    lookedAtMs = now();
    return answers;
  }

  return {
    async poll(signal) {
      const trusted = apis.filter(({ source }) => !isDropped(source)).map(({ asked }) => asked);
      for (const asked of trusted) asked.ask(signal);
      const listsBeside = mode === 'always' || (mode === 'fallback' && apis.some(isSilent));
      if (listsBeside) own.ask(signal);
      const answers = await taken(listsBeside ? [...trusted, own] : trusted, signal);
      if (listsBeside || mode === 'off') return answers;
      if (!apis.some(isSilent)) {
        standBy(signal);
        return answers;
      }
      own.ask(signal);
      // Where nobody has told anything there is nothing else to do meanwhile; otherwise it is there at the next tick.
      if (answers.some(({ tag }) => tag === 'jobs')) return answers;
      return [...answers, ...(await taken([own], signal))];
    },
    async quiet() {
      await Promise.all([...apis.map(({ asked }) => asked.quiet()), own.quiet(), standingBy]);
    },
  };
}

/** Whether a source tells its jobs and its cover work as of now; one that has not answered yet is not judged. */
function tellsAll(last: SourceAnswer | 'silent' | null, chainTime: number | null): boolean {
  if (last === null) return true;
  if (last === 'silent' || last.tag === 'failed') return false;
  if (!last.tellsCover || last.payoutFault !== null) return false;
  if (last.asOf === null || chainTime === null) return true;
  return chainTime - last.asOf.oldest <= STALE_SECONDS;
}
