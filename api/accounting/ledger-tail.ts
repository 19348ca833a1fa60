/**
 * Trades and transfers of the newest blocks, straight from the chain: what the index will say once it has read them.
 */
import type { Address, PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { ApiError } from '../../runtime/errors.ts';
import { readLogs } from '../../runtime/chain/read-logs.ts';
import type { Projection } from '../indexer/projection.ts';
import { accountingProjection, rowsOf } from './accounting-projection.ts';
import { type Protocol, protocolOf, type TransactionRows } from './read-transaction.ts';
import type { AccountingTables } from './tables.ts';

/** Blocks above `after` up to `to`, of these baskets. */
export type TailSpan = { after: number; to: number; vaults: readonly Address[] };

export class LedgerTail {
  readonly #client: PublicClient;
  readonly #protocol: Protocol;
  readonly #wanted: Projection<AccountingTables>;
  /** Under way, by span: at one head everybody asks for the same logs. */
  readonly #coming = new Map<string, Promise<TransactionRows>>();

  constructor(client: PublicClient, deployment: Deployment) {
    this.#client = client;
    this.#protocol = protocolOf(deployment);
    this.#wanted = accountingProjection(deployment);
  }

  /** @throws ApiError UPSTREAM when the node does not answer, or takes no such range. */
  async rows(span: TailSpan): Promise<TransactionRows> {
    const key = `${span.after}:${span.to}`;
    const known = this.#coming.get(key);
    if (known !== undefined) return await known;
    const coming = this.#read(span).finally(() => this.#coming.delete(key));
    this.#coming.set(key, coming);
    return await coming;
  }

  async #read({ after, to, vaults }: TailSpan): Promise<TransactionRows> {
    const { addresses, topics, vaultTopics = [] } = this.#wanted;
    const ofVaults = new Set<string>(vaultTopics);
    const named = new Set(vaults.map((vault) => vault.toLowerCase()));
    const filter = {
      addresses: [...addresses, ...vaults],
      topics: [...topics, ...vaultTopics],
    };
    try {
      const logs = await readLogs(this.#client, filter, after + 1, to);
      const ours = logs.filter(
        ({ address, topics: [topic] }) => ofVaults.has(topic ?? '') === named.has(address),
      );
      return rowsOf(ours, this.#protocol);
    } catch (cause) {
      throw new ApiError('UPSTREAM', 'the chain cannot be read now: retry', { cause });
    }
  }
}
