/**
 * What a keeper may execute once the firewall has passed it: calldata of our own making, never the source's (but for a
 * contract that the operator lists himself).
 */
import type { Address, Hex } from 'viem';

/** A triggered exit, a triggered limit buy, a due slot of a schedule: `fill` of an escrow. */
export type FillType = 'sell' | 'limit' | 'schedule';
/** A step or a payout of the cover market. */
export type CoverType = 'snapshot' | 'settle' | 'payout' | 'void';
export type WorkType = FillType | CoverType | 'foreign';

type Common = {
  /** {@link workKeyOf}: the unit of memory, attempts and journal, whoever lists it. */
  key: string;
  /** Index of the source that listed it. */
  source: number;
  contract: Address;
  ticker: string | null;
  vault: Address | null;
  /** USDG base units that the source promises; what counts is what the simulation shows. */
  promisedUsdg: bigint;
  data: Hex;
};

export type Fill = Common & {
  type: FillType;
  id: Hex;
  /** Tolerance that the source says holds now, in bps. */
  slippageBps: number;
  swapCount: number;
  /** `arm(id)`, or null when the source offers no arming. */
  armData: Hex | null;
};

export type CoverWork = Common & {
  type: CoverType;
  id: string;
  week: number;
  vault: Address;
  /** What a payout pays; empty for a step. */
  positions: readonly bigint[];
};

/** A job of another service that speaks this wire format, on a contract and selector of the operator's list. */
export type Foreign = Common & { type: 'foreign'; id: Hex };

export type Work = Fill | CoverWork | Foreign;

/** What a transaction of ours is for; also the sender's label. */
export type AttemptKind = 'fill' | 'arm' | CoverType | 'foreign';

const FILLS: ReadonlySet<WorkType> = new Set<FillType>(['sell', 'limit', 'schedule']);
const COVER: ReadonlySet<WorkType> = new Set<CoverType>(['snapshot', 'settle', 'payout', 'void']);

export const isFill = (work: Work): work is Fill => FILLS.has(work.type);
export const isCover = (work: Work): work is CoverWork => COVER.has(work.type);
/** A snapshot, a settlement or a void. */
export const isStep = (work: Work): boolean => isCover(work) && work.type !== 'payout';

/** The kind of the transaction that executes it. */
export function kindOf({ type }: Pick<Work, 'type'>): AttemptKind {
  return type === 'sell' || type === 'limit' || type === 'schedule' ? 'fill' : type;
}

/**
 * Whether the same id may have to be executed more than once: each slot of a schedule, a payout that goes on, whatever
 * another service means by it. An exit or a limit buy that was filled is over.
 */
export function recurs({ type }: Pick<Work, 'type'>): boolean {
  return type !== 'sell' && type !== 'limit';
}

/** `<contract>:<id>`; a cover step carries its type too, since the steps of one week and basket share a number. */
export function workKeyOf(contract: Address, id: string, type?: CoverType): string {
  const middle = type === undefined ? '' : `${type}:`;
  return `${contract.toLowerCase()}:${middle}${id.toLowerCase()}`;
}
