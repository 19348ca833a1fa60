/** Account addresses by owner. They depend on the owner alone (rule 14), so each is asked for once. */
import { type Address, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { accountFactoryAbi } from '../../contracts-abi/generated/index.ts';
import { ReadBatch, required } from '../../runtime/chain/read-batch.ts';

const MAX_REMEMBERED = 10_000;

export class AccountAddresses {
  readonly #known = new Map<Address, Address>();
  readonly #client: PublicClient;
  readonly #deployment: Deployment;

  constructor(client: PublicClient, deployment: Deployment) {
    this.#client = client;
    this.#deployment = deployment;
  }

  /** @throws ApiError UPSTREAM. */
  async of(owner: Address): Promise<Address> {
    const known = this.#known.get(owner);
    if (known !== undefined) return known;
    const batch = new ReadBatch();
    const pending = batch.add({
      to: this.#deployment.accountFactory,
      abi: accountFactoryAbi,
      functionName: 'accountOf',
      args: [owner],
    });
    await batch.send(this.#client, this.#deployment.multicall3);
    const account = required(pending, 'the account address');
    if (this.#known.size >= MAX_REMEMBERED) {
      const oldest = this.#known.keys().next();
      if (!oldest.done) this.#known.delete(oldest.value);
    }
    this.#known.set(owner, account);
    return account;
  }
}
