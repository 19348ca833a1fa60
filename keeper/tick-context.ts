/** What the looks of a tick share beside the keeper's context: what is held against the sources that list the work. */
import type { KeeperContext } from './context.ts';
import type { MadeUp } from './made-up.ts';
import type { Timelines } from './timelines.ts';

export type TickContext = KeeperContext & { madeUp: MadeUp; timelines: Timelines };
