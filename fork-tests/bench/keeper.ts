/**
 * A hundred orders that one price move triggers: time from the trigger block to the last fill by a real keeper over a
 * real api, over a bare blast of the same hundred fills, built and signed before, from the same wallets to the same
 * node. Both start from the same state (a snapshot), in turns. And how long a job takes from when the keeper was told
 * of it until it was sent.
 *
 * Blocks come at a fixed pace for both and hold what a Nitro block holds, as on the live chain. Mined by Anvil as transactions arrive, a block costs it
 * some 60 ms and a fill in it 3 ms, and it packs what arrives at once into few blocks, or does not (3 to 46 of them for
 * one blast): a round said as much of that as of the keeper.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import type { Hex } from 'viem';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { rpc } from '../anvil.ts';
import { type ChainClient, connect } from '../chain/client.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import { until } from '../e2e/stack.ts';
import { type Blocks, startBlocks } from '../soak/blocks.ts';
import { noteListings } from './keeper/listings.ts';
import { EARLY_ORDERS, filledSince, ORDERS, placeOrders, trigger } from './keeper/orders.ts';
import { startApiProcess } from './measure/api-process.ts';
import { startBenchChain } from './measure/chain.ts';
import { startServerProcess } from './measure/process.ts';
import { median, sideBySide } from './measure/rounds.ts';
import type { Bench } from './types.ts';

const ROUNDS = 3;
const KEEPER_ENTRY = new URL('../../keeper/main.ts', import.meta.url).pathname;
/** The first is the executor of both sides. */
const WALLETS: readonly Role[] = ['keeper', 'relayer', 'carol', 'dave'];
/** What an operator with this load sets; the rest is as by default. */
const SETTINGS = { KEEPER_POLL_MS: '100' };
const API_SETTINGS = {
  HTTP_REQUESTS_PER_MINUTE: '0',
  MARKS_INTERVAL_MS: '50',
  INDEX_INTERVAL_MS: '100',
};
/** Of each pre-built fill; what a keeper sends is its estimate and a half more. */
const FILL_GAS = 3_000_000n;
const GAS_PRICE = 2_000_000_000n;
const LOOK_MS = 50;
const MOST_RETURNS = 60;
const BLOCK_MS = 250;
/** Nitro's own bound. */
const BLOCK_GAS = 32_000_000n;
const DEADLINE_MS = 60_000;

type Job = { id: Hex; tx: { to: Hex; data: Hex } };

/**
 * What brings the chain back to where it stands now, as often as wanted within a bench. Anvil takes the transactions of
 * the blocks that it undoes into its pool again and may mine them at once, while nothing is due: they revert, and their
 * nonces are gone. Then it goes back once more.
 */
async function returnsHere(url: string, client: ChainClient): Promise<() => Promise<void>> {
  const head = await client.getBlockNumber({ cacheTime: 0 });
  // To go back to one forgets those taken after it.
  const snapshots: Hex[] = [];
  for (let count = 0; count < MOST_RETURNS; count += 1) snapshots.push(await client.snapshot());
  return async () => {
    for (;;) {
      const id = snapshots.pop();
      if (id === undefined) throw new Error('the chain does not stay where it is brought back to');
      await client.setAutomine(false);
      await client.revert({ id });
      await rpc(url, 'anvil_dropAllTransactions', []);
      await client.setAutomine(true);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      if ((await client.getBlockNumber({ cacheTime: 0 })) === head) return;
    }
  };
}

export const bench: Bench = async ({ say }) => {
  const { anvil, manifest } = await startBenchChain(say);
  try {
    const client = connect(anvil.url);
    await client.setBlockGasLimit({ gasLimit: BLOCK_GAS });
    const { ids, early } = await placeOrders(client, manifest);
    const wanted = new Set<string>(ids);
    say(`${ids.length} orders placed, and ${early.length} that are due`);
    const back = await returnsHere(anvil.url, client);
    /** Seconds from the trigger block until every order is filled. */
    const untilFilled = async (from: bigint, started: number, orders = ORDERS): Promise<number> => {
      const deadline = started + DEADLINE_MS;
      for (;;) {
        const filled = await filledSince(client, manifest, from);
        if (filled > orders) throw new Error(`${filled} fills of ${orders} orders`);
        if (filled === orders) return (performance.now() - started) / 1_000;
        if (performance.now() > deadline) throw new Error(`only ${filled} of ${orders} filled`);
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    };

    /** Blocks from the trigger to the last fill, by side. */
    const blocks = { ours: [] as number[], blast: [] as number[] };
    const blocksSince = async (from: bigint): Promise<number> =>
      Number((await client.getBlockNumber({ cacheTime: 0 })) - from);
    const waits: number[] = [];
    const listingTimes: number[] = [];
    const ours = async (): Promise<number> => {
      await back();
      const start = await client.getBlockNumber({ cacheTime: 0 });
      const api = await startApiProcess(anvil.url, manifest, API_SETTINGS);
      const listings = await noteListings(api.url);
      const keeper = await startServerProcess({
        entry: KEEPER_ENTRY,
        readyPath: '/ready',
        env: (port, folder) => {
          const deploymentFile = join(folder, 'deployment.json');
          writeFileSync(deploymentFile, JSON.stringify(manifest.deployment));
          return {
            RPC_URLS: anvil.url,
            API_URLS: listings.url,
            DEPLOYMENT_FILE: deploymentFile,
            DATABASE_URL: `file:${join(folder, 'keeper.sqlite')}`,
            WALLET_PRIVATE_KEYS: WALLETS.map((role) => devAccount(role).privateKey).join(','),
            KEEPER_PORT: String(port),
            ...SETTINGS,
          };
        },
      });
      let pace: Blocks | null = null;
      try {
        // A keeper that earns has run for a while: one that was just started compiles its code under the first orders.
        await untilFilled(start, performance.now(), EARLY_ORDERS);
        await until('the early orders are in the books', async () =>
          decided(join(keeper.folder, 'keeper.sqlite'), 'executed').length >= EARLY_ORDERS
            ? true
            : null,
        );
        pace = await startBlocks(client, BLOCK_MS);
        const from = await trigger(client);
        const started = performance.now();
        const triggeredMs = Date.now();
        const seconds = await untilFilled(from, started);
        blocks.ours.push(await blocksSince(from));
        const listed = [...listings.listedMs].flatMap(([id, at]) =>
          wanted.has(id) ? [at - triggeredMs] : [],
        );
        listingTimes.push(median(listed));
        say(`listed after ${median(listed)} ms, the last after ${Math.max(...listed)} ms`);
        waits.push(
          median(await sentAfter(join(keeper.folder, 'keeper.sqlite'), listings.listedMs, wanted)),
        );
        return seconds;
      } catch (error) {
        throw new Error(`${String(error)}\n${keeper.output().slice(-4_000)}`, { cause: error });
      } finally {
        await pace?.stop();
        await keeper.stop();
        await listings.stop();
        await api.stop();
      }
    };

    const jobs = await dueJobs(anvil.url, manifest, wanted, async () => {
      await trigger(client);
    });
    await back();
    const nonces = await Promise.all(
      WALLETS.map((role) =>
        client.getTransactionCount({ address: devAccount(role).account.address }),
      ),
    );
    const signed = await Promise.all(
      jobs.map(({ tx }, index) => {
        const wallet = index % WALLETS.length;
        const role = WALLETS[wallet] ?? 'keeper';
        return devAccount(role).account.signTransaction({
          type: 'eip1559',
          chainId: CHAIN_ID,
          to: tx.to,
          data: tx.data,
          gas: FILL_GAS,
          nonce: (nonces[wallet] ?? 0) + Math.floor(index / WALLETS.length),
          maxFeePerGas: GAS_PRICE,
          maxPriorityFeePerGas: 0n,
        });
      }),
    );
    const baseline = async (): Promise<number> => {
      await back();
      const pace = await startBlocks(client, BLOCK_MS);
      try {
        return await blast();
      } finally {
        await pace.stop();
      }
    };
    const blast = async (): Promise<number> => {
      const from = await trigger(client);
      const started = performance.now();
      await Promise.all(signed.map((raw) => rpc(anvil.url, 'eth_sendRawTransaction', [raw])));
      const seconds = await untilFilled(from, started);
      blocks.blast.push(await blocksSince(from));
      return seconds;
    };
    const sides = await sideBySide({ rounds: ROUNDS, ours, baseline, say });
    return {
      ratio: sides.ratio,
      ratios: sides.ratios,
      oursSeconds: sides.ours,
      blastSeconds: sides.baseline,
      // The first round does not count, as in the ratio.
      listedToSentP50Ms: median(waits.slice(1)),
      triggerToListedP50Ms: median(listingTimes.slice(1)),
      oursBlocks: blocks.ours.slice(1),
      blastBlocks: blocks.blast.slice(1),
      orders: ORDERS,
      wallets: WALLETS.length,
    };
  } finally {
    await anvil.stop();
  }
};

/** The fills of the `wanted` orders as the api lists them once `due` has made them so, paying the first wallet. */
async function dueJobs(
  rpcUrl: string,
  manifest: Parameters<typeof startApiProcess>[1],
  wanted: ReadonlySet<string>,
  due: () => Promise<void>,
): Promise<Job[]> {
  const api = await startApiProcess(rpcUrl, manifest, API_SETTINGS);
  try {
    await due();
    const executor = devAccount(WALLETS[0] ?? 'keeper').account.address;
    return await until(
      'every order is listed',
      async () => {
        const response = await fetch(`${api.url}/v1/jobs?executor=${executor}`);
        const { jobs } = (await response.json()) as { jobs?: Job[] };
        const due = jobs?.filter(({ id }) => wanted.has(id)) ?? [];
        return due.length === wanted.size ? due : null;
      },
      60_000,
    );
  } finally {
    await api.stop();
  }
}

type Decided = { job_key: string; at: number };

/** Every order of which the keeper has written this down, and when it first did. */
function decided(database: string, decision: string): Decided[] {
  const journal = new Database(database, { readonly: true });
  try {
    return journal
      .prepare(
        'select job_key, min(first_ms) as at from keeper_decisions where decision = ? group by job_key',
      )
      .all(decision) as Decided[];
  } finally {
    journal.close();
  }
}

/** Per order, milliseconds from when its keeper was told of it until it had sent it. */
async function sentAfter(
  database: string,
  listedMs: ReadonlyMap<string, number>,
  wanted: ReadonlySet<string>,
): Promise<number[]> {
  const rows = await until('every order is in the journal', async () => {
    const found = decided(database, 'sent');
    return found.length >= ORDERS + EARLY_ORDERS ? found : null;
  });
  return rows.flatMap(({ job_key, at }) => {
    const id = job_key.split(':').at(-1) ?? '';
    const listed = listedMs.get(id);
    if (listed === undefined) throw new Error(`${job_key} was sent and never listed`);
    return wanted.has(id) ? [at - listed] : [];
  });
}
