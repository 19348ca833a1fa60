/**
 * A client of the service that knows its public documents alone: every answer goes through the strict parser, and a
 * refusal is told apart by its `code` and by nothing else (interface.md, section 7).
 */
import { errorBody, type ErrorCode } from './strict/errors.ts';
import { feeRequired, type Mined, mined, relayed } from './strict/relayer.ts';
import { shapeOf } from './strict/routes.ts';
import { parse, type Shape } from './strict/shape.ts';

/** The service refused; branch on `code`. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** What the relayer said to a signed action: done, or the fee to sign. */
export type Relayed = { mined: Mined } | { requiredFee: bigint };

export class PublicClient {
  /** Where the service lives, path included. */
  readonly base: string;
  /** Every answer as it came, for whoever looks for what does not belong there. */
  readonly texts: string[] = [];
  /** What the relayer answered. */
  readonly relayed: { status: number; json: unknown }[] = [];

  constructor(base: string) {
    this.base = base.replace(/\/$/, '');
  }

  /**
   * @param shape what the caller takes the answer for; it must be the documents' shape of the route
   * @throws Refused, or StrictParseError for an answer that the documents do not know
   */
  async read<T>(path: string, shape: Shape<T>): Promise<T> {
    return await this.ask('GET', path, undefined, shape);
  }

  async build<T>(path: string, body: object, shape: Shape<T>): Promise<T> {
    return await this.ask('POST', path, body, shape);
  }

  private async ask<T>(
    method: 'GET' | 'POST',
    path: string,
    body: object | undefined,
    shape: Shape<T>,
    deadline = Date.now() + 20_000,
  ): Promise<T> {
    const { status, json } = await this.fetch(`${this.base}${path}`, method, body);
    if (status >= 400) {
      const at = { method, path: path.split('?')[0] ?? '' };
      const { code, retryable, error } = parse(errorBody(at, status), json);
      // Nothing that is asked of the service changes anything: asking again is safe.
      if (!retryable || Date.now() > deadline) throw new Refused(code, error);
      await new Promise((resolve) => setTimeout(resolve, 200));
      return await this.ask(method, path, body, shape, deadline);
    }
    parse(shapeOf({ method, path }, status), json);
    return parse(shape, json);
  }

  /** Posts a signed action to the URL that the plan named. */
  async relay(url: string, signed: { action: object; signature: string }): Promise<Relayed> {
    const { status, json } = await this.fetch(url, 'POST', signed);
    this.relayed.push({ status, json });
    if (status === 402) return { requiredFee: BigInt(parse(feeRequired, json).requiredFee) };
    if (status === 200) return { mined: parse(mined, json) };
    parse(relayed(status), json);
    throw new Error(`the relayer answered ${status} ${JSON.stringify(json)}`);
  }

  private async fetch(
    url: string,
    method: string,
    body?: object,
  ): Promise<{ status: number; json: unknown }> {
    const response = await fetch(url, {
      method,
      signal: AbortSignal.timeout(60_000),
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await response.text();
    this.texts.push(text);
    return { status: response.status, json: JSON.parse(text) };
  }

  /** Reads until it holds: polling is the only way to see a change (interface.md, section 6). */
  async until<T>(path: string, shape: Shape<T>, holds: (answer: T) => boolean): Promise<T> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const answer = await this.read(path, shape);
      if (holds(answer)) return answer;
      if (Date.now() > deadline) throw new Error(`${path} still answers ${JSON.stringify(answer)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
