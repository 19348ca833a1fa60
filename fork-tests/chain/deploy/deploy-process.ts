/** Runs the real deploy command against a fork of the synthetic live chain, and breaks it off on purpose. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Hex } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { localTokenAbi } from '../../../contracts-abi/generated/index.ts';
import { LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import { type Anvil, startAnvil } from '../../anvil.ts';
import { type Proxy, startProxy } from '../../proxy/proxy.ts';
import { CHAIN_ARGUMENTS } from '../arguments.ts';
import { type ChainClient, connect, write } from '../client.ts';
import { startSyntheticLive } from '../live/synthetic.ts';
import { devAccount } from '../seed/accounts.ts';

const root = join(import.meta.dirname, '..', '..', '..');

export type Outcome = {
  /** Null after a kill. */
  code: number | null;
  out: string;
  err: string;
};

export type Site = {
  anvil: Anvil;
  client: ChainClient;
  /** Between the command and Anvil: it counts methods, fails on purpose, and sees the moments to kill at. */
  proxy: Proxy;
  key: Hex;
  deployer: PrivateKeyAccount;
  deploymentFile: string;
  /** `env` on top of what every run has; a flag such as "--verify". */
  run(env?: Record<string, string>, ...flags: string[]): Promise<Outcome>;
  /** Runs and sends SIGKILL at the n-th broadcast of this run: before the node sees it, or after. */
  runKilled(
    nth: number,
    moment: 'before' | 'after',
    env?: Record<string, string>,
  ): Promise<Outcome>;
  stop(): Promise<void>;
};

/** A deployer that holds what any deployment here takes, on a synthetic live chain that forks start from. */
export async function startLiveWithDeployer(): Promise<{ live: Anvil; key: Hex }> {
  const key = generatePrivateKey();
  const { address } = privateKeyToAccount(key);
  const live = await startSyntheticLive();
  const client = connect(live.url);
  await client.setBalance({ address, value: 10n ** 18n });
  for (const token of Object.values(LIVE_STOCKS)) {
    await write(client, devAccount('dave').account, {
      address: token,
      abi: localTokenAbi,
      functionName: 'mint',
      args: [address, 10n ** 21n],
    });
  }
  return { live, key };
}

export async function startSite({ live, key }: { live: Anvil; key: Hex }): Promise<Site> {
  const anvil = await startAnvil({
    forkUrl: live.url,
    args: [...CHAIN_ARGUMENTS, '--no-rate-limit', '--no-storage-caching'],
  });
  const proxy = await startProxy(anvil.url);
  const folder = mkdtempSync(join(tmpdir(), 'deploy-'));
  const deploymentFile = join(folder, 'deployment.json');
  const children = new Set<ReturnType<typeof spawn>>();

  const start = (env: Record<string, string>, flags: readonly string[]) => {
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', 'fork-tests/chain/deploy/main.ts', ...flags],
      {
        cwd: root,
        env: {
          PATH: process.env.PATH,
          RPC_URLS: proxy.url,
          DEPLOYMENT_FILE: deploymentFile,
          WALLET_PRIVATE_KEYS: key,
          DEPLOY_POOL_SLOTS: '0',
          ...env,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    children.add(child);
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    const ended = new Promise<Outcome>((resolve) => {
      child.once('close', (code) => {
        children.delete(child);
        resolve({ code, out, err });
      });
    });
    return { child, ended };
  };

  return {
    anvil,
    client: connect(anvil.url),
    proxy,
    key,
    deployer: privateKeyToAccount(key),
    deploymentFile,
    run: (env = {}, ...flags) => start(env, flags).ended,
    async runKilled(nth, moment, env = {}) {
      const { child, ended } = start(env, []);
      const kill = () => child.kill('SIGKILL');
      const rule =
        moment === 'before'
          ? proxy.on(
              'eth_sendRawTransaction',
              { nth, where: whereNth(nth, kill) },
              { fault: 'hang' },
            )
          : proxy.on(
              'eth_sendRawTransaction',
              { nth },
              {
                fault: 'rewrite',
                rewrite: (reply) => {
                  kill();
                  return reply;
                },
              },
            );
      const outcome = await ended;
      rule.remove();
      return outcome;
    },
    async stop() {
      for (const child of children) child.kill('SIGKILL');
      await proxy.stop();
      await anvil.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Every call matches; the n-th one strikes, before anything of it reaches the node. */
function whereNth(nth: number, strike: () => void): () => boolean {
  let seen = 0;
  return () => {
    seen += 1;
    if (seen === nth) strike();
    return true;
  };
}
