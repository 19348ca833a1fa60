/** One scan per snapshot of the marks, shared by everybody who asks meanwhile. */
import type { Service } from '../service.ts';
import { type Scan, scanJobs } from './scan.ts';

export class JobBoard {
  readonly #service: Service;
  #key = '';
  #scan: Promise<Scan> | null = null;

  constructor(service: Service) {
    this.#service = service;
  }

  /** @throws ApiError UPSTREAM. */
  async current(): Promise<Scan> {
    const { marks, indexer } = this.#service;
    const key = `${marks.snapshot().version}:${indexer.generation}`;
    if (this.#scan === null || this.#key !== key) {
      this.#key = key;
      const scan = scanJobs(this.#service);
      this.#scan = scan;
      // A failed scan must not be served again.
      scan.catch(() => {
        if (this.#scan === scan) this.#scan = null;
      });
    }
    return await this.#scan;
  }
}
