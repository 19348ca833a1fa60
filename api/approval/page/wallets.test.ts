import { expect, it } from 'vitest';
import type { ChainFacts } from '../page-config.ts';
import { askForAccounts, type Provider, switchChain, walletError } from './wallets.ts';

const CHAIN: ChainFacts = {
  id: 4663,
  name: 'Robinhood Chain',
  rpc: 'https://rpc.example.org',
  explorer: 'https://explorer.example.org',
};

/** Answers each call by the next of `answers`; errors are thrown. */
function wallet(...answers: unknown[]): { provider: Provider; asked: string[] } {
  const asked: string[] = [];
  const provider: Provider = {
    request: async ({ method }) => {
      asked.push(method);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  return { provider, asked };
}

const refusal = (code: number, data?: unknown) =>
  Object.assign(new Error(`code ${code}`), { code, data });

it('finds what a wallet said inside what others wrapped around it', () => {
  expect(walletError(refusal(4_001))).toEqual({ code: 4_001, message: 'code 4001' });
  const wrapped = new Error('The request failed.', { cause: refusal(4_001) });
  expect(walletError(wrapped)).toMatchObject({ code: 4_001 });
  const mobile = refusal(-32_603, { originalError: { code: 4_902, message: 'unknown chain' } });
  expect(walletError(mobile)).toMatchObject({ code: 4_902 });
  for (const odd of [null, undefined, 'no', 7]) {
    expect(walletError(odd)).toEqual({ code: null, message: String(odd) });
  }
  expect(walletError({})).toMatchObject({ code: null });
});

it('ends on a cause that leads round in a circle', () => {
  const circle = new Error('round');
  circle.cause = circle;
  expect(walletError(circle)).toEqual({ code: null, message: 'round' });
});

it('switches to a chain that the wallet knows, and teaches it one that it does not', async () => {
  const knows = wallet(null);
  await switchChain(knows.provider, CHAIN);
  expect(knows.asked).toEqual(['wallet_switchEthereumChain']);
  const learns = wallet(refusal(4_902), null, null);
  await switchChain(learns.provider, CHAIN);
  expect(learns.asked).toEqual([
    'wallet_switchEthereumChain',
    'wallet_addEthereumChain',
    'wallet_switchEthereumChain',
  ]);
});

it('asks no further once the owner has declined', async () => {
  const declines = wallet(refusal(4_001));
  await expect(switchChain(declines.provider, CHAIN)).rejects.toThrow('4001');
  expect(declines.asked).toEqual(['wallet_switchEthereumChain']);
  const again = wallet(refusal(4_001));
  await expect(askForAccounts(again.provider, true)).rejects.toThrow('4001');
  expect(again.asked).toEqual(['wallet_requestPermissions']);
});

it('lets the owner choose another account, in wallets of either kind', async () => {
  const first = wallet([]);
  await askForAccounts(first.provider, false);
  expect(first.asked).toEqual(['eth_requestAccounts']);
  const old = wallet(refusal(-32_601), []);
  await askForAccounts(old.provider, true);
  expect(old.asked).toEqual(['wallet_requestPermissions', 'eth_requestAccounts']);
});
