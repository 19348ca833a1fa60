/** The wallet that the owner chose: whose it is, on which chain, and what it sends. */
import { type Address, type Client, createClient, custom, type Hex, isAddressEqual } from 'viem';
import { call, waitForTransactionReceipt } from 'viem/actions';
import { type AccountState, readAccount } from '../account.ts';
import type { PageConfig } from '../page-config.ts';
import type { Step } from '../transactions.ts';
import { type Provider, REJECTED, type Wallet, walletError } from './wallets.ts';

export type Connection =
  | { tag: 'none' }
  | { tag: 'wrong account'; wallet: Wallet; using: string | null }
  | { tag: 'wrong chain'; wallet: Wallet }
  | { tag: 'foreign'; wallet: Wallet; why: string }
  | { tag: 'ready'; wallet: Wallet; client: Client; state: AccountState };

/** A refusal in words for the owner. */
export class Refusal extends Error {}

const POLL_MS = 1_000;
const RECEIPT_TIMEOUT_MS = 180_000;

/** Looks at the wallet as it is now. @throws what the wallet answers. */
export async function lookAt(
  wallet: Wallet,
  config: PageConfig,
  owner: Address,
  account: Address,
): Promise<Connection> {
  const { provider } = wallet;
  const accounts = await accountsOf(provider);
  if (!accounts.some((each) => isAddressEqual(each, owner))) {
    return { tag: 'wrong account', wallet, using: accounts[0] ?? null };
  }
  if ((await chainOf(provider)) !== config.chain.id) return { tag: 'wrong chain', wallet };
  const client = createClient({ transport: custom(provider, { retryCount: 1 }) });
  const read = await readAccount(client, config.addresses, owner);
  if (read.tag === 'foreign') return { tag: 'foreign', wallet, why: read.why };
  if (!isAddressEqual(read.state.account, account)) {
    const why =
      'Your wallet and this service name different accounts for you: they are not on the same chain. Nothing was sent.';
    return { tag: 'foreign', wallet, why };
  }
  return { tag: 'ready', wallet, client, state: read.state };
}

async function accountsOf(provider: Provider): Promise<Address[]> {
  const accounts = await provider.request({ method: 'eth_accounts' });
  if (!Array.isArray(accounts)) return [];
  return accounts.filter(
    (each): each is Address => typeof each === 'string' && /^0x[0-9a-fA-F]{40}$/.test(each),
  );
}

/** Wallets answer hex; some a number. */
async function chainOf(provider: Provider): Promise<number> {
  return Number(await provider.request({ method: 'eth_chainId' }));
}

/**
 * Tries the step on the chain, has the wallet send it, and waits until it is mined.
 * @throws Refusal, in words.
 */
export async function send(
  { wallet, client, state }: Extract<Connection, { tag: 'ready' }>,
  { to, data }: Step,
  onSent: (hash: Hex) => void,
): Promise<void> {
  const { owner } = state;
  try {
    await call(client, { account: owner, to, data });
  } catch (error) {
    throw new Refusal(
      `The chain would refuse this transaction, so nothing was sent: ${walletError(error).message}`,
      { cause: error },
    );
  }
  const hash = await handToWallet(wallet.provider, { from: owner, to, data, value: '0x0' });
  onSent(hash);
  const { status } = await waitForTransactionReceipt(client, {
    hash,
    pollingInterval: POLL_MS,
    timeout: RECEIPT_TIMEOUT_MS,
    onReplaced: ({ transaction }) => onSent(transaction.hash),
  }).catch((error: unknown) => {
    throw new Refusal(
      'The transaction was sent, but it is not known yet whether it was mined. Look it up before you send anything again.',
      { cause: error },
    );
  });
  if (status !== 'success') {
    throw new Refusal('The transaction was mined but failed. Only its gas was spent.');
  }
}

async function handToWallet(provider: Provider, transaction: Record<string, string>): Promise<Hex> {
  let hash: unknown;
  try {
    hash = await provider.request({ method: 'eth_sendTransaction', params: [transaction] });
  } catch (error) {
    throw new Refusal(refusalWords(error), { cause: error });
  }
  if (typeof hash === 'string' && /^0x[0-9a-fA-F]{64}$/.test(hash)) return hash as Hex;
  throw new Refusal('The wallet did not say whether it sent the transaction. Look there.');
}

const PENDING = -32_002;

export function refusalWords(error: unknown): string {
  const { code, message } = walletError(error);
  if (code === REJECTED) return 'You declined in your wallet. Nothing was sent.';
  if (code === PENDING) return 'Your wallet has an open request already: open the wallet.';
  return `Your wallet refused: ${message}`;
}
