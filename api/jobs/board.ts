/**
 * One scan per snapshot of the marks, shared by everybody who asks meanwhile, and never two at once.
 *
 * A scan that fails or passes its deadline is answered with an error, never with the scan before it; and so is everybody
 * who asks while the chain is out of reach, when neither a kept scan nor one of old marks is known to be of now: a keeper
 * that is told so asks again, whereas old jobs send its transactions after orders that are filled already.
 */
import { ApiError } from '../../runtime/errors.ts';

/** What a scan checks between its round trips: once aborted it asks the chain nothing more. */
export type ScanRun<T> = (signal: AbortSignal) => Promise<T>;

export class ScanBoard<T> {
  readonly #run: ScanRun<T>;
  readonly #version: () => string;
  readonly #outOfReach: () => boolean;
  readonly #deadlineMs: number;
  /** The newest scan, under way or done. */
  #scan: { version: string; done: boolean; result: Promise<T> } | null = null;

  /**
   * @param version changes whenever a scan would find something else, as long as the chain answers.
   * @param outOfReach whether it does not: then neither the version nor a scan says anything of now.
   * @param deadlineMs of one scan.
   */
  constructor(options: {
    run: ScanRun<T>;
    version: () => string;
    outOfReach: () => boolean;
    deadlineMs: number;
  }) {
    this.#run = options.run;
    this.#version = options.version;
    this.#outOfReach = options.outOfReach;
    this.#deadlineMs = options.deadlineMs;
  }

  /** Of what a scan would be that begins now. */
  get version(): string {
    return this.#version();
  }

  /**
   * The scan of this version, or the one still under way: its own time says from when it is.
   * @throws ApiError UPSTREAM when the chain or the store does not answer in time.
   */
  async current(): Promise<T> {
    const version = this.#version();
    const last = this.#scan;
    if (last !== null && !last.done) return await last.result;
    if (this.#outOfReach()) throw tooSlow();
    if (last !== null && last.version === version) return await last.result;
    const scan = { version, done: false, result: this.#bounded() };
    this.#scan = scan;
    scan.result.then(
      () => {
        scan.done = true;
      },
      () => {
        // A failure is told to those who waited for it, and not kept.
        if (this.#scan === scan) this.#scan = null;
      },
    );
    return await scan.result;
  }

  async #bounded(): Promise<T> {
    const abort = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        abort.abort();
        reject(tooSlow());
      }, this.#deadlineMs);
    });
    try {
      return await Promise.race([this.#run(abort.signal), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function tooSlow(): ApiError {
  return new ApiError('UPSTREAM', 'the chain or the store answers too slowly: retry');
}
