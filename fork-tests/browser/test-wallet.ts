/**
 * A wallet for a real browser: the extension beside this file injects the provider, this process answers it with the
 * keys of the local chain. It holds what an owner's wallet holds: accounts, a chain it is on, chains it knows, and a
 * person who may decline.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Hex } from 'viem';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { type ChainClient, devWallet } from '../chain/client.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';

type Call = { method: string; params: readonly unknown[] };
type Sent = { from: Hex; to: Hex; data: Hex; value: Hex; hash: Hex };

export class WalletRefusal extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class TestWallet {
  /** The account that the page may see. */
  account: Role;
  chainId: number = CHAIN_ID;
  /** The chains that the wallet can switch to. */
  readonly knownChains = new Set<number>([1]);
  /** What the person does with the next transaction. */
  declines = false;
  connected = false;
  readonly sent: Sent[] = [];
  /** Every chain that a page asked the wallet to learn. */
  readonly added: unknown[] = [];
  readonly #client: ChainClient;
  readonly #rpcUrl: string;

  constructor(client: ChainClient, rpcUrl: string, account: Role) {
    this.#client = client;
    this.#rpcUrl = rpcUrl;
    this.account = account;
  }

  async answer({ method, params }: Call): Promise<unknown> {
    switch (method) {
      case 'eth_requestAccounts':
        this.connected = true;
        return this.#accounts();
      case 'eth_accounts':
        return this.#accounts();
      case 'eth_chainId':
        return `0x${this.chainId.toString(16)}`;
      case 'wallet_switchEthereumChain':
        return this.#switch(params[0] as { chainId: Hex });
      case 'wallet_addEthereumChain':
        this.added.push(params[0]);
        this.knownChains.add(Number((params[0] as { chainId: Hex }).chainId));
        return null;
      case 'eth_sendTransaction':
        return await this.#send(params[0] as Sent);
      default:
        if (!/^eth_(call|get\w+|blockNumber|estimateGas)$/.test(method)) {
          throw new WalletRefusal(4_200, `this wallet does not do ${method}`);
        }
        if (this.chainId !== CHAIN_ID) throw new WalletRefusal(-32_603, 'no node of that chain');
        return await this.#client.request({ method, params } as never);
    }
  }

  #accounts(): Hex[] {
    return this.connected ? [devAccount(this.account).account.address.toLowerCase() as Hex] : [];
  }

  #switch({ chainId }: { chainId: Hex }): null {
    if (!this.knownChains.has(Number(chainId))) {
      throw new WalletRefusal(4_902, `Unrecognized chain ID "${chainId}".`);
    }
    this.chainId = Number(chainId);
    return null;
  }

  async #send({ from, to, data, value }: Sent): Promise<Hex> {
    const { account } = devAccount(this.account);
    if (from.toLowerCase() !== account.address.toLowerCase()) {
      throw new WalletRefusal(4_100, 'this account is not connected');
    }
    if (this.declines) throw new WalletRefusal(4_001, 'User rejected the request.');
    if (this.chainId !== CHAIN_ID) throw new WalletRefusal(4_901, 'on another chain');
    const gas = await this.#client.estimateGas({ account, to, data });
    const hash = await devWallet(this.#rpcUrl, account).sendTransaction({
      to,
      data,
      value: BigInt(value),
      gas: (gas * 13n) / 10n,
    });
    this.sent.push({ from, to, data, value, hash });
    return hash;
  }
}

/** Serves the wallet to its extension; `folder` is the extension, ready to be loaded. */
export async function serveWallet(
  wallet: TestWallet,
): Promise<{ folder: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    void answerTo(wallet, request).then((body) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const folder = mkdtempSync(join(tmpdir(), 'test-wallet-'));
  cpSync(join(import.meta.dirname, 'extension'), folder, { recursive: true });
  const { port } = server.address() as AddressInfo;
  writeFileSync(join(folder, 'bridge.js'), `self.BRIDGE = 'http://127.0.0.1:${port}/';\n`);
  return {
    folder,
    stop: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answerTo(wallet: TestWallet, request: IncomingMessage): Promise<object> {
  try {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    return { result: await wallet.answer(JSON.parse(text) as Call) };
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    return {
      error: {
        code: typeof code === 'number' ? code : -32_603,
        message: String(message),
      },
    };
  }
}
