import { expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { walletWords } from './wallet-words.ts';

const OWNER = '0x64e85115d719ba9f66a5eE38dcDE3d8c6D87E255';
const CHAIN = { id: 4663, name: 'Robinhood Chain', rpc: '', explorer: '' };
const wallet = { name: 'Some wallet', icon: null, provider: { request: async () => null } };

const ready = (ownerEth: bigint): Connection => ({
  tag: 'ready',
  wallet,
  client: {} as Extract<Connection, { tag: 'ready' }>['client'],
  state: {
    owner: OWNER,
    account: OWNER,
    deployed: true,
    sessionModuleEnabled: true,
    coverModuleEnabled: true,
    ownerEth,
    now: 0,
  },
});

it.each<[string, Connection, boolean, boolean, RegExp]>([
  ['no wallet', { tag: 'none' }, false, false, /No wallet found.*browser inside your wallet app/],
  ['a wallet to connect', { tag: 'none' }, true, false, /^Connect the wallet of 0x64e8/],
  ['no account', { tag: 'wrong account', wallet, using: null }, true, true, /shows no account/],
  [
    'another',
    { tag: 'wrong account', wallet, using: '0x1' },
    true,
    true,
    /uses 0x1, but only 0x64/,
  ],
  ['another chain', { tag: 'wrong chain', wallet }, true, true, /than Robinhood Chain \(id 4663\)/],
  ['a foreign account', { tag: 'foreign', wallet, why: 'Sold.' }, true, true, /^Sold\.$/],
  ['no gas', ready(0n), true, true, /no ETH on Robinhood Chain/],
  ['all well', ready(1n), true, false, /^Connected with Some wallet\.$/],
])('tells the owner of %s', (_, connection, found, problem, words) => {
  const said = walletWords(connection, OWNER, CHAIN, found);
  expect(said.problem).toBe(problem);
  expect(said.text).toMatch(words);
});
