/** The guide as it is served: made from what is true now, again when the baskets change. */
import { createHash } from 'node:crypto';
import type { Endpoint } from '../http/endpoint.ts';
import type { Serialised } from '../http/json-body.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Service } from '../service.ts';
import { guideText } from './text.ts';

export class Guide {
  readonly #service: Pick<Service, 'marks' | 'urls' | 'deployment'>;
  readonly #endpoints: readonly Endpoint[];
  readonly #toolPrefix: string;
  #made: { catalog: Catalog; guide: Serialised } | null = null;

  /**
   * @param endpoints all there are.
   * @param toolPrefix of MCP tool names.
   */
  constructor(
    service: Pick<Service, 'marks' | 'urls' | 'deployment'>,
    endpoints: readonly Endpoint[],
    toolPrefix: string,
  ) {
    this.#service = service;
    this.#endpoints = endpoints;
    this.#toolPrefix = toolPrefix;
  }

  /** Costs no RPC. */
  current(): Serialised {
    const { marks, urls, deployment } = this.#service;
    const catalog = marks.catalog();
    if (this.#made?.catalog === catalog) return this.#made.guide;
    const text = guideText({
      urls,
      usdg: deployment.usdg,
      sessionModule: deployment.sessionModule,
      baskets: catalog.baskets,
      toolPrefix: this.#toolPrefix,
      endpoints: this.#endpoints,
    });
    const etag = `"${createHash('sha1').update(text).digest('base64url')}"`;
    const guide = { text, bytes: Buffer.from(text), etag };
    this.#made = { catalog, guide };
    return guide;
  }
}
