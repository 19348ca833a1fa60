/** Asks a running api and keeps every answer. */
import type { Exchange } from './document-check.ts';

export class Recorder {
  readonly answers: Exchange[] = [];
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Exchange> {
    return await this.#ask('GET', path, { headers });
  }

  /** A body that is a string is sent as it is. */
  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Exchange> {
    return await this.#ask('POST', path, {
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  }

  /** Polls until the body satisfies the condition; keeps the last answer. */
  async until(path: string, holds: (body: Record<string, never>) => boolean): Promise<Exchange> {
    const deadline = Date.now() + 20_000;
    for (;;) {
      const answer = await this.get(path);
      if (answer.status === 200 && holds(JSON.parse(answer.text) as Record<string, never>)) {
        return answer;
      }
      if (Date.now() > deadline) {
        throw new Error(`${path} still answers ${answer.status} ${answer.text.slice(0, 500)}`);
      }
      this.answers.pop();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #ask(method: string, path: string, init: RequestInit): Promise<Exchange> {
    const response = await fetch(`${this.#base}${path}`, { method, ...init });
    const { status, headers } = response;
    const answer = { method, path, status, headers, text: await response.text() };
    this.answers.push(answer);
    return answer;
  }
}
