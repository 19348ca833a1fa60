/**
 * Whose turn it is when more is due than one scan can examine. A scan takes what is due oldest first from where the
 * last one stopped, and begins again at the oldest after the newest: an order that can never be filled costs others
 * one place in a round, and hides nobody. As long as everything fits, every scan examines everything.
 */

/** Where something stands in the sequence of all orders and schedules: no two share a place. */
export type Place = { block: number; log: number };

/** Before everything. */
export const START: Place = { block: -1, log: -1 };

/** What is due after a place, oldest first, at most `limit`. */
export type FetchDue<T> = (after: Place, limit: number) => Promise<T[]>;

export type Turn<T> = {
  /** To examine now, in this order: oldest first from where the last scan stopped. */
  now: T[];
  /** Due as well, and first in the next scan; the first few of them. */
  waiting: T[];
  /** Where the next scan starts when the first `examined` of `now` were examined. */
  next: (examined: number) => Place;
};

export function comparePlaces(a: Place, b: Place): number {
  return a.block - b.block || a.log - b.log;
}

/**
 * @param from where the last scan stopped.
 * @param size most to examine. @param shown most of the waiting to tell of.
 * @throws what `fetch` throws.
 */
export async function takeTurn<T extends { place: Place }>(
  fetch: FetchDue<T>,
  from: Place,
  size: number,
  shown: number,
): Promise<Turn<T>> {
  const wanted = size + shown;
  const ahead = await fetch(from, wanted);
  // From the oldest on, up to where this scan began.
  const wrapped =
    ahead.length < wanted && from !== START
      ? (await fetch(START, wanted - ahead.length)).filter(
          ({ place }) => comparePlaces(place, from) <= 0,
        )
      : [];
  const inTurn = [...ahead, ...wrapped];
  const now = inTurn.slice(0, size);
  const waiting = inTurn.slice(size, wanted);
  return {
    now,
    waiting,
    next: (examined) => {
      const everything = examined >= now.length && waiting.length === 0;
      return everything ? START : (now[examined - 1]?.place ?? from);
    },
  };
}
