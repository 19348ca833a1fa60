/** What an endpoint gets: the place to register, the service, and what is shared between requests. */
import type { HttpApp } from '../../runtime/http/server.ts';
import type { PayoutScan } from '../cover/payouts.ts';
import type { Documents } from '../discovery/documents.ts';
import type { Guide } from '../guide/guide.ts';
import type { ScanBoard } from '../jobs/board.ts';
import type { dueBoard, Scan } from '../jobs/scan.ts';
import type { MarkBodies } from '../marks/mark-bodies.ts';
import type { Service } from '../service.ts';

export type RouteContext = {
  http: HttpApp;
  service: Service;
  bodies: MarkBodies;
  board: ScanBoard<Scan>;
  due: ReturnType<typeof dueBoard>;
  payouts: ScanBoard<PayoutScan>;
  documents: Documents;
  guide: Guide;
  /** Longest that a GET without a deadline of its own takes, in milliseconds. */
  readBudgetMs: number;
  /** The same of a POST, and of a GET that quotes as a build does. */
  buildBudgetMs: number;
};

/** Marks change once a second; a shared cache may bridge that much. */
export const MARKS_CACHE = 'public, max-age=1';
