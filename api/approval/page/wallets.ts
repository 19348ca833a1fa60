/** Wallets of this browser: those that announce themselves (EIP-6963), else the one at window.ethereum (EIP-1193). */
import type { ChainFacts } from '../page-config.ts';

export type Provider = {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>;
  on?(event: string, listener: (value: never) => void): void;
};

export type Wallet = { name: string; icon: string | null; provider: Provider };

type Announced = {
  info?: { uuid?: unknown; name?: unknown; icon?: unknown };
  provider?: Provider;
};

const MAX_NAME = 40;
const MAX_ICON = 100_000;
const MAX_WALLETS = 20;

/** Calls back with the wallets known so far, and again whenever another announces itself. */
export function discoverWallets(onChange: (wallets: readonly Wallet[]) => void): void {
  const announced = new Map<unknown, Wallet>();
  const tell = (): void => {
    const injected = (window as { ethereum?: unknown }).ethereum;
    const known = [...announced.values()];
    if (known.length === 0 && isProvider(injected)) {
      known.push({ name: 'browser wallet', icon: null, provider: injected });
    }
    onChange(known);
  };
  window.addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = (event as CustomEvent<Announced | null>).detail ?? {};
    if (!isProvider(provider) || announced.size >= MAX_WALLETS) return;
    announced.set(info?.uuid ?? provider, { name: nameOf(info), icon: iconOf(info), provider });
    tell();
  });
  window.addEventListener('ethereum#initialized', tell);
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  tell();
}

function isProvider(value: unknown): value is Provider {
  return typeof (value as Provider | null | undefined)?.request === 'function';
}

function nameOf(info: Announced['info']): string {
  const name = typeof info?.name === 'string' ? info.name.trim() : '';
  return name === '' ? 'wallet' : name.slice(0, MAX_NAME);
}

/** Data alone: a picture from a host would tell that host who opened this page. */
function iconOf(info: Announced['info']): string | null {
  const icon = info?.icon;
  const fits =
    typeof icon === 'string' && icon.length < MAX_ICON && icon.trim().startsWith('data:image/');
  return fits ? icon.trim() : null;
}

export type WalletError = { code: number | null; message: string };

/** What a wallet said on refusing; viem wraps it, wallets wrap each other's. */
export function walletError(error: unknown): WalletError {
  let at: unknown = error;
  let message = '';
  for (let depth = 0; depth < 8 && typeof at === 'object' && at !== null; depth += 1) {
    const { code, shortMessage, message: said, cause, data } = at as Record<string, unknown>;
    const words = typeof shortMessage === 'string' ? shortMessage : said;
    if (message === '' && typeof words === 'string') message = words;
    const inner = (data as { originalError?: unknown } | null | undefined)?.originalError;
    if (code === -32_603 && inner !== undefined) at = inner;
    else if (typeof code === 'number') return { code, message: message.slice(0, 300) };
    else at = cause;
  }
  return { code: null, message: (message === '' ? String(error) : message).slice(0, 300) };
}

export const REJECTED = 4_001;
const UNKNOWN_CHAIN = 4_902;

/**
 * Asks to see the owner's address. `anew`: lets him choose again, where the wallet can; it would repeat its first
 * answer otherwise.
 */
export async function askForAccounts(provider: Provider, anew: boolean): Promise<void> {
  if (anew) {
    try {
      await provider.request({
        method: 'wallet_requestPermissions',
        params: [{ eth_accounts: {} }],
      });
      return;
    } catch (error) {
      // expected of a wallet that does not know the method
      if (walletError(error).code === REJECTED) throw error;
    }
  }
  await provider.request({ method: 'eth_requestAccounts' });
}

/** Asks the wallet to go to the chain, and to learn it first where it does not know it. */
export async function switchChain(provider: Provider, chain: ChainFacts): Promise<void> {
  const chainId = `0x${chain.id.toString(16)}`;
  const go = () =>
    provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
  try {
    await go();
  } catch (error) {
    if (walletError(error).code !== UNKNOWN_CHAIN) throw error;
    await provider.request({
      method: 'wallet_addEthereumChain',
      params: [
        {
          chainId,
          chainName: chain.name,
          nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
          rpcUrls: [chain.rpc],
          blockExplorerUrls: [chain.explorer],
        },
      ],
    });
    // Not every wallet goes to a chain by adding it.
    await go();
  }
}
