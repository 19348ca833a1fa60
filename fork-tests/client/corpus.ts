/** Real answers of a running api, with the requests that they answer, parsed strictly as they arrive. */
import { notesOf, type Fault } from './strict/shape.ts';
import { type Request, routeOf, shapeOf } from './strict/routes.ts';

export type Recorded = {
  request: Request;
  /** Name of the route in the documents; `refusal <status> <code>` for an error. */
  route: string;
  status: number;
  headers: Headers;
  body: unknown;
  faults: readonly Fault[];
};

export class Corpus {
  readonly answers: Recorded[] = [];
  private readonly base: string;

  constructor(base: string) {
    this.base = base;
  }

  get(path: string): Promise<Recorded> {
    return this.ask({ method: 'GET', path });
  }

  post(path: string, body: unknown): Promise<Recorded> {
    return this.ask({ method: 'POST', path, body });
  }

  /** Asks and keeps the answer. A body that is a string is sent as it is. */
  async ask(request: Request, headers: Record<string, string> = {}): Promise<Recorded> {
    const recorded = await this.peek(request, headers);
    this.answers.push(recorded);
    return recorded;
  }

  /** The same without keeping it: for polling. */
  async peek(request: Request, headers: Record<string, string> = {}): Promise<Recorded> {
    const { method, path, body } = request;
    const response = await fetch(`${this.base}${path}`, {
      method,
      signal: AbortSignal.timeout(30_000),
      ...(method === 'GET'
        ? { headers }
        : {
            headers: { 'content-type': 'application/json', ...headers },
            body: typeof body === 'string' ? body : JSON.stringify(body),
          }),
    });
    const text = await response.text();
    const parsed: unknown = JSON.parse(text);
    const { status } = response;
    const code = status >= 400 ? (parsed as { code?: string }).code : undefined;
    return {
      request,
      route: code === undefined ? (routeOf(request) ?? path) : `refusal ${status} ${code}`,
      status,
      headers: response.headers,
      body: parsed,
      faults: notesOf(shapeOf(request, status), parsed).faults,
    };
  }

  /** Polls until the answer satisfies the condition, then keeps it. */
  async until(path: string, holds: (body: never) => boolean): Promise<Recorded> {
    const deadline = Date.now() + 20_000;
    for (;;) {
      const recorded = await this.peek({ method: 'GET', path });
      if (recorded.status === 200 && holds(recorded.body as never)) {
        this.answers.push(recorded);
        return recorded;
      }
      if (Date.now() > deadline) {
        throw new Error(
          `${path} still answers ${recorded.status} ${JSON.stringify(recorded.body)}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
