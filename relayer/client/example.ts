/**
 * A whole agent: buys $20 of CORE once a day, whatever fails in between.
 *
 *   OWNER=0x… AGENT_KEY=0x… npx tsx relayer/client/example.ts
 */
import { readFileSync } from 'node:fs';
import {
  createChainReader,
  createPlanner,
  createRelayerClient,
  pinsOf,
  type Terms,
} from 'basket-index-service/relayer-client';
import { openFileJournal } from 'basket-index-service/relayer-client/journal-file';
import { type Address, createPublicClient, type Hex, http, parseAbi } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const env = {
  API: 'http://127.0.0.1:8080',
  RELAYER: 'http://127.0.0.1:8081',
  RPC: 'http://127.0.0.1:8545',
  DEPLOYMENT_FILE: '.data/start-8545/deployment.json',
  JOURNAL: '.data/agent.journal',
  ...process.env,
};
const owner = process.env.OWNER as Address;
const signer = privateKeyToAccount(process.env.AGENT_KEY as Hex);

// Known to the host by itself: modules and vaults from the deployment file, the account from the chain.
const deployment = JSON.parse(readFileSync(env.DEPLOYMENT_FILE, 'utf8')) as {
  accountFactory: Address;
};
const chain = createPublicClient({ transport: http(env.RPC) });
const account = await chain.readContract({
  address: deployment.accountFactory,
  abi: parseAbi(['function accountOf(address owner) view returns (address)']),
  functionName: 'accountOf',
  args: [owner],
});

const journal = await openFileJournal(env.JOURNAL);
const relayer = await createRelayerClient({
  relayerUrl: env.RELAYER,
  signer,
  journal,
  chain: createChainReader(chain),
  policy: {
    pins: pinsOf(deployment),
    account,
    kinds: ['buy'],
    maxSpend: 50_000_000n, // $50 an action
    maxSlippageBps: 100,
    maxFee: 1_000_000n, // $1
  },
});
const plan = createPlanner({ apiUrl: env.API, owner, key: signer.address });
const say = (value: object): void => {
  const text = (_: string, field: unknown) => (typeof field === 'bigint' ? `${field}` : field);
  process.stdout.write(`${JSON.stringify(value, text)}\n`);
};

// What an earlier run left without an end: found out, not done again.
for (const outcome of await relayer.recover()) say(outcome);

const terms: Terms = {
  type: 'trade',
  kind: 'buy',
  ticker: 'CORE',
  budget: 20_000_000n, // $20
  slippageBps: 100,
};
const id = `buy CORE ${new Date().toISOString().slice(0, 10)}`;
for (let attempt = 0; attempt < 3; attempt += 1) {
  const outcome = await relayer.run({ id, terms, plan: (fee) => plan(terms, fee) });
  say(outcome);
  // A refusal that says rebuild is followed by a new plan under the same nonce. `unknown` needs no care here: the next
  // run of this program goes on with it.
  const again = outcome.tag === 'refused' && outcome.next === 'rebuild';
  if (!again && outcome.tag !== 'neverExecuted') break;
}
await journal.close();
