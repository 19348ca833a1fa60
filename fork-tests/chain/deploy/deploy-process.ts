/** Runs the real deploy command against a fork of the synthetic live chain, and breaks it off on purpose. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Hex } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { type Deployment, readDeployment } from '../../../contracts-abi/deployment.ts';
import { localTokenAbi } from '../../../contracts-abi/generated/index.ts';
import { LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import { type Anvil, startAnvil } from '../../anvil.ts';
import { type Proxy, startProxy } from '../../proxy/proxy.ts';
import { CHAIN_ARGUMENTS } from '../arguments.ts';
import { type ChainClient, connect, write } from '../client.ts';
import { startSyntheticLive } from '../live/synthetic.ts';
import { devAccount } from '../seed/accounts.ts';
import { runCli } from './cli.ts';

/** Nothing that a client asks again for. */
export const GONE = { code: -32_000, message: 'this endpoint is gone' } as const;

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
  /** The command in this process: for what needs no process of its own. */
  call(env?: Record<string, string>, ...flags: string[]): Promise<Outcome>;
  /** The command as an operator runs it. `env` comes on top of what every run has. */
  run(env?: Record<string, string>, ...flags: string[]): Promise<Outcome>;
  /** Runs and sends SIGKILL at the n-th broadcast of this run: before the node sees it, or after. */
  runKilled(
    nth: number,
    moment: 'before' | 'after',
    env?: Record<string, string>,
    ...flags: string[]
  ): Promise<Outcome>;
  /**
   * The command in this process, from whose n-th broadcast on the endpoint answers nothing but errors: before the node
   * sees it, or after. What a kill leaves, at a fraction of its time.
   */
  callBroken(
    nth: number,
    moment: 'before' | 'after',
    env?: Record<string, string>,
    ...flags: string[]
  ): Promise<Outcome>;
  stop(): Promise<void>;
};

export const owner = devAccount('alice').account;
export const guardian = devAccount('guardian').account;
export const treasury = devAccount('treasury').account;
export const ROLES = {
  DEPLOY_OWNER: owner.address,
  DEPLOY_GUARDIAN: guardian.address,
  DEPLOY_TREASURY: treasury.address,
};

/** An unbroken run of the plan in `planFile`, and where others begin from the same state, plan and key. */
export type UnbrokenRun = {
  site: Site;
  /** Two baskets: enough steps to break off at, few enough to do it often. */
  planFile: string;
  outcome: Outcome;
  deployment: Deployment;
  steps: number;
  /** Another fork of the same upstream. */
  another(): Promise<Site>;
  stop(): Promise<void>;
};

export async function runUnbroken(): Promise<UnbrokenRun> {
  const start = await startLiveWithDeployer();
  const site = await startSite(start);
  const sites: Site[] = [site];
  const dry = await site.call({ ...ROLES }, '--dry-run');
  if (dry.code !== 0) throw new Error(dry.err);
  const plan = JSON.parse(readFileSync(`${site.deploymentFile}.plan`, 'utf8')) as {
    baskets: { ticker: string }[];
  };
  plan.baskets = plan.baskets.filter(({ ticker }) => ['CORE', 'ADS'].includes(ticker));
  const planFile = `${site.deploymentFile}.two`;
  writeFileSync(planFile, JSON.stringify(plan));
  const outcome = await site.run({ DEPLOY_PLAN_FILE: planFile });
  if (outcome.code !== 0) throw new Error(outcome.err);
  return {
    site,
    planFile,
    outcome,
    deployment: readDeployment(site.deploymentFile),
    steps: await nonceOf(site),
    another: async () => {
      const fresh = await startSite(start);
      sites.push(fresh);
      return fresh;
    },
    stop: async () => {
      for (const one of sites) await one.stop();
      await start.live.stop();
    },
  };
}

export function nonceOf({ client, deployer }: Site): Promise<number> {
  return client.getTransactionCount({ address: deployer.address });
}

/** The lines of the steps that a run sent. */
export function stepsIn({ out }: Outcome): string[] {
  return out.match(/^ {2}\d+\/\d+ .*$/gm) ?? [];
}

/** At which of an unbroken run's steps the first one of these words is, counted from one. */
export function stepNumber({ outcome }: UnbrokenRun, words: string): number {
  return stepsIn(outcome).findIndex((line) => line.includes(words)) + 1;
}

/** A deployer that holds what any deployment here takes, on a synthetic live chain that forks start from. */
async function startLiveWithDeployer(): Promise<{ live: Anvil; key: Hex }> {
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

async function startSite({ live, key }: { live: Anvil; key: Hex }): Promise<Site> {
  const anvil = await startAnvil({
    forkUrl: live.url,
    args: [...CHAIN_ARGUMENTS, '--no-rate-limit', '--no-storage-caching'],
  });
  return siteAt(anvil, key);
}

/** A synthetic live chain of one's own, not a fork of it: what raises thousands of slots reads none from elsewhere. */
export async function startBareSite(): Promise<Site> {
  const { live, key } = await startLiveWithDeployer();
  return siteAt(live, key);
}

/** The site stops the chain. */
async function siteAt(anvil: Anvil, key: Hex): Promise<Site> {
  const proxy = await startProxy(anvil.url);
  const folder = mkdtempSync(join(tmpdir(), 'deploy-'));
  const deploymentFile = join(folder, 'deployment.json');
  const settings = {
    RPC_URLS: proxy.url,
    DEPLOYMENT_FILE: deploymentFile,
    WALLET_PRIVATE_KEYS: key,
    DEPLOY_POOL_SLOTS: '0',
  };
  const children = new Set<ReturnType<typeof spawn>>();

  const start = (env: Record<string, string>, flags: readonly string[]) => {
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', 'fork-tests/chain/deploy/main.ts', ...flags],
      {
        cwd: root,
        env: { PATH: process.env.PATH, ...settings, ...env },
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

  const call = async (env: Record<string, string>, flags: readonly string[]): Promise<Outcome> => {
    let out = '';
    let err = '';
    const code = await runCli(
      flags,
      { ...settings, ...env },
      (line) => {
        out += `${line}\n`;
      },
      (line) => {
        err += `${line}\n`;
      },
    );
    return { code, out, err };
  };

  return {
    anvil,
    client: connect(anvil.url),
    proxy,
    key,
    deployer: privateKeyToAccount(key),
    deploymentFile,
    call: (env = {}, ...flags) => call(env, flags),
    run: (env = {}, ...flags) => start(env, flags).ended,
    async runKilled(nth, moment, env = {}, ...flags) {
      const { child, ended } = start(env, flags);
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
    async callBroken(nth, moment, env = {}, ...flags) {
      let gone = false;
      const strike = () => {
        gone = true;
      };
      const send = 'eth_sendRawTransaction';
      const rules = [
        proxy.on('*', { where: () => gone }, { fault: 'error', ...GONE, forwarded: false }),
        moment === 'before'
          ? proxy.on(
              send,
              { where: whereNth(nth, strike), nth },
              { fault: 'error', ...GONE, forwarded: false },
            )
          : proxy.on(
              send,
              { nth },
              {
                fault: 'rewrite',
                rewrite: (reply) => {
                  strike();
                  return reply;
                },
              },
            ),
      ];
      const outcome = await call(env, flags);
      for (const rule of rules) rule.remove();
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
