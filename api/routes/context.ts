/** What a route gets: the place to register, the service, and what is shared between requests. */
import type { Request } from 'express';
import { ApiError } from '../../runtime/errors.ts';
import type { HttpApp } from '../../runtime/http/server.ts';
import type { JobBoard } from '../jobs/board.ts';
import type { MarkBodies } from '../marks/mark-bodies.ts';
import type { Service } from '../service.ts';

export type RouteContext = {
  http: HttpApp;
  service: Service;
  bodies: MarkBodies;
  board: JobBoard;
};

/** Marks change once a second; a shared cache may bridge that much. */
export const MARKS_CACHE = 'public, max-age=1';

/** The JSON object of a POST. @throws ApiError BAD_REQUEST when there is none. */
export function requireBody(request: Request): object {
  const body: unknown = request.body;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ApiError('BAD_REQUEST', 'expected a JSON object as the body');
  }
  return body;
}
