/** Security headers: helmet's, computed once. They are the same for every answer. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet, { type HelmetOptions } from 'helmet';

export const HELMET_OPTIONS: HelmetOptions = {
  // The page of documentation may be read over plain http on one's own machine.
  contentSecurityPolicy: { directives: { 'upgrade-insecure-requests': null } },
};

/** What every answer of a process carries, `more` beside or instead of helmet's. */
export function staticHeaders(more: Readonly<Record<string, string>> = {}): [string, string][] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  let failure: unknown;
  helmet(HELMET_OPTIONS)(request, response, (error) => {
    failure = error;
  });
  if (failure !== undefined) throw failure;
  // Helmet answers synchronously where no directive is a function of the request.
  for (const [name, value] of Object.entries(more)) response.setHeader(name, value);
  // Names as they were written; missing from the types of this Node.
  const written = response as ServerResponse & { getRawHeaderNames(): string[] };
  return written.getRawHeaderNames().map((name) => [name, String(response.getHeader(name))]);
}
