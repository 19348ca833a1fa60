/** The wallets: which one takes the next intent, what each has promised to pay, and why one is not usable. */
import type { Address } from 'viem';
import type { LocalAccount } from 'viem/accounts';
import { inTurn } from '../in-turn.ts';
import { NonceBook } from './nonces.ts';
import type { WalletStatus } from './types.ts';

export class Wallet {
  readonly address: Address;
  /** Null for a wallet that only the journal knows: its bytes are sent again, nothing new is signed. */
  readonly account: LocalAccount | null;
  /** It sends what names it in `from` and nothing else. */
  readonly namedOnly: boolean;
  readonly book = new NonceBook();
  /** Wei; null until read. */
  balance: bigint | null = null;
  balanceAt = 0;
  /** When count and balance were last read, unix ms. */
  syncedAt = 0;
  /** Transactions of it that the journal knew of at the start: a count up to here surprises nobody. */
  explained = 0;
  /** The last count that did not hold when it was read again; told once. */
  disbelieved = 0;
  /** Intents being simulated for this wallet: they will take a nonce soon. */
  reserved = 0;
  /** A nonce that nobody of ours holds and that what is in flight has waited for a while; null: none. */
  awaits: number | null = null;
  /** Most that each held nonce may still cost, in wei. */
  readonly #costs = new Map<number, bigint>();
  /** Cost of the last intent asked about when it did not fit an idle wallet; zero when it did. */
  #unmet = 0n;

  constructor(address: Address, account: LocalAccount | null, namedOnly = false) {
    this.address = address;
    this.account = account;
    this.namedOnly = namedOnly;
  }

  get committed(): bigint {
    let sum = 0n;
    for (const [nonce, cost] of this.#costs) if (this.book.holder(nonce) !== null) sum += cost;
    return sum;
  }

  setCost(nonce: number, cost: bigint): void {
    for (const known of this.#costs.keys()) {
      if (this.book.holder(known) === null) this.#costs.delete(known);
    }
    this.#costs.set(nonce, cost);
  }

  /** Whether the balance covers `cost` on top of everything in flight. */
  affords(cost: bigint): boolean {
    if (this.balance === null) return false;
    const fits = this.balance >= this.committed + cost;
    if (fits) this.#unmet = 0n;
    else if (this.committed === 0n) this.#unmet = cost;
    return fits;
  }

  /** Why it can take no work at all, or null. A balance never read is no reason: it is read before a claim. */
  blocked(): string | null {
    if (this.account === null) return 'its key is not loaded: the journal has work of it in flight';
    if (this.balance === null) return null;
    if (this.balance === 0n) return 'it has no ETH';
    if (this.balance < this.committed) {
      return `its balance of ${this.balance} wei is below the ${this.committed} wei that its transactions in flight may cost`;
    }
    return null;
  }

  /** What an operator should know: blocked, or too poor for the last intent asked about. */
  problem(): string | null {
    const blocked = this.blocked();
    if (blocked !== null || this.balance === null || this.balance >= this.#unmet) return blocked;
    return `its balance of ${this.balance} wei is below the ${this.#unmet} wei that one transaction may cost`;
  }

  /** What keeps everything that it has in flight from being mined, or null. It takes work all the same. */
  held(): string | null {
    if (this.awaits === null || this.book.holes()[0] !== this.awaits) return null;
    return `its transactions wait for nonce ${this.awaits}, which none of them has`;
  }

  /** Claims and signatures of one wallet happen one after another, so bytes reach the journal in nonce order. */
  readonly inTurn = inTurn();

  status(): WalletStatus {
    const reason = this.problem() ?? this.held();
    return {
      address: this.address,
      balanceWei: this.balance,
      inFlight: this.book.inFlight,
      usable: reason === null,
      reason,
    };
  }
}

export type Pick =
  | { tag: 'wallet'; wallet: Wallet }
  /** All that could are full: ask again when something settles. */
  | { tag: 'busy' }
  | { tag: 'unfunded'; message: string }
  | { tag: 'none' };

export class Wallets {
  readonly #wallets = new Map<Address, Wallet>();
  readonly #maxInFlight: number;
  #turn = 0;

  /** @param namedOnly accounts that send what names them in `from` and nothing else */
  constructor(
    accounts: readonly LocalAccount[],
    maxInFlight: number,
    namedOnly: readonly LocalAccount[] = [],
  ) {
    this.#maxInFlight = maxInFlight;
    for (const account of namedOnly) {
      this.#wallets.set(account.address, new Wallet(account.address, account, true));
    }
    for (const account of accounts) {
      this.#wallets.set(account.address, new Wallet(account.address, account));
    }
  }

  all(): readonly Wallet[] {
    return [...this.#wallets.values()];
  }

  /** The wallet of an address in the journal, keyless when its key is no longer loaded. */
  of(address: Address): Wallet {
    const known = this.#wallets.get(address);
    if (known) return known;
    const wallet = new Wallet(address, null);
    this.#wallets.set(address, wallet);
    return wallet;
  }

  /** The least loaded wallet that may take one more, in turn among equals; `without` those already tried. */
  pick(without: ReadonlySet<Address>): Pick {
    const withKey = this.all().filter(({ account, namedOnly }) => account !== null && !namedOnly);
    if (withKey.length === 0) return { tag: 'none' };
    const usable = withKey.filter(
      (wallet) => wallet.blocked() === null && !without.has(wallet.address),
    );
    if (usable.length === 0) {
      const first = withKey.find((wallet) => wallet.problem() !== null);
      return { tag: 'unfunded', message: first?.problem() ?? 'no wallet has enough ETH' };
    }
    const open = usable.filter(
      (wallet) => wallet.held() === null && load(wallet) < this.#maxInFlight,
    );
    return this.#leastLoaded(open.length > 0 ? open : usable);
  }

  #leastLoaded(usable: readonly Wallet[]): Pick {
    this.#turn += 1;
    let best: Wallet | null = null;
    for (let index = 0; index < usable.length; index += 1) {
      const wallet = usable[(index + this.#turn) % usable.length];
      if (!wallet || load(wallet) >= this.#maxInFlight) continue;
      if (best === null || load(wallet) < load(best)) best = wallet;
    }
    return best === null ? { tag: 'busy' } : { tag: 'wallet', wallet: best };
  }

  /** The one wallet that may send an intent: no other helps when it cannot. */
  pickOnly(address: Address, without: ReadonlySet<Address>): Pick {
    const wallet = this.#wallets.get(address);
    if (wallet === undefined || wallet.account === null) return { tag: 'none' };
    if (wallet.blocked() !== null || without.has(address)) {
      return { tag: 'unfunded', message: wallet.problem() ?? 'its wallet has not enough ETH' };
    }
    return load(wallet) >= this.#maxInFlight ? { tag: 'busy' } : { tag: 'wallet', wallet };
  }
}

function load(wallet: Wallet): number {
  return wallet.book.inFlight + wallet.reserved;
}
