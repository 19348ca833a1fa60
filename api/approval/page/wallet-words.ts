/** What stands between the owner and his signature, in words. */
import type { Address } from 'viem';
import type { ChainFacts } from '../page-config.ts';
import type { Connection } from './connection.ts';

type Words = {
  text: string;
  /** Whether the owner has to do something about it first. */
  problem: boolean;
};

/** `found`: whether this browser has a wallet at all. */
export function walletWords(
  connection: Connection,
  owner: Address,
  chain: ChainFacts,
  found: boolean,
): Words {
  const problem = (text: string): Words => ({ text, problem: true });
  const fine = (text: string): Words => ({ text, problem: false });
  if (connection.tag === 'none') {
    return fine(
      found
        ? `Connect the wallet of ${owner}.`
        : `No wallet found in this browser. Open this page where ${owner} is: in a browser with its wallet extension, or in the browser inside your wallet app.`,
    );
  }
  if (connection.tag === 'wrong account') {
    const { using } = connection;
    const now = using === null ? 'shows no account' : `uses ${using}`;
    return problem(
      `Your wallet ${now}, but only ${owner} can approve this key. Choose that account in your wallet, or connect again.`,
    );
  }
  if (connection.tag === 'wrong chain') {
    return problem(`Your wallet is on another chain than ${chain.name} (id ${chain.id}).`);
  }
  if (connection.tag === 'foreign') return problem(connection.why);
  const connected = `Connected with ${connection.wallet.name}`;
  return connection.state.ownerEth === 0n
    ? problem(`${connected}, but this wallet has no ETH on ${chain.name} to pay the gas with.`)
    : fine(`${connected}.`);
}
