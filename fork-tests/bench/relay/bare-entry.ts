/**
 * The bare pipeline behind one route: native recovery, eth_call, sign, one durable insert, send. No checks, no fee, no
 * slot, no repeat, no watch over what was sent.
 */
import { mkdirSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { dirname } from 'node:path';
import Database from 'libsql';
import { encodeFunctionData, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { CHAIN_ID } from '../../../contracts-abi/constants.ts';
import { sessionModuleAbi } from '../../../contracts-abi/generated/index.ts';
import {
  type ActionJson,
  actionDigest,
  actionFromJson,
} from '../../../contracts-abi/typed-data.ts';
import { recoverSigner } from '../../../relayer/checks/recover.ts';
import { stopWhenStdinEnds } from '../reads/stdin.ts';

const GAS = 2_500_000n;
const GAS_PRICE = 2_000_000_000n;

function must(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

stopWhenStdinEnds();
const rpcUrl = new URL(must('RPC_URL'));
const module = must('SESSION_MODULE') as Hex;
const wallets = must('WALLET_PRIVATE_KEYS')
  .split(',')
  .map((key) => ({ account: privateKeyToAccount(key as Hex), nonce: 0 }));
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

function rpc<T>(method: string, params: unknown[]): Promise<T> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const asked = request(
      rpcUrl,
      {
        method: 'POST',
        agent,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => {
          const answer = JSON.parse(text) as { result?: T; error?: { message: string } };
          if (answer.result === undefined) reject(new Error(answer.error?.message ?? text));
          else resolve(answer.result);
        });
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

const file = must('DATABASE_FILE');
mkdirSync(dirname(file), { recursive: true });
const database = new Database(file);
database.exec('pragma journal_mode = wal');
database.exec('pragma synchronous = full');
database.exec('create table sent (digest text primary key, raw text not null)');
const insert = database.prepare('insert into sent (digest, raw) values (?, ?)');
let turn = 0;

async function relay(text: string): Promise<Hex> {
  const { action: json, signature } = JSON.parse(text) as { action: ActionJson; signature: Hex };
  const action = actionFromJson(json);
  const digest = actionDigest(action, module);
  if ((await recoverSigner(digest, signature)) !== action.key) throw new Error('a bad signature');
  turn += 1;
  const wallet = wallets[turn % wallets.length];
  if (wallet === undefined) throw new Error('no wallet');
  const data = encodeFunctionData({
    abi: sessionModuleAbi,
    functionName: 'execute',
    args: [action, signature],
  });
  await rpc('eth_call', [{ from: wallet.account.address, to: module, data }, 'latest']);
  const nonce = wallet.nonce;
  wallet.nonce += 1;
  const raw = await wallet.account.signTransaction({
    type: 'eip1559',
    chainId: CHAIN_ID,
    nonce,
    to: module,
    data,
    gas: GAS,
    maxFeePerGas: GAS_PRICE,
    maxPriorityFeePerGas: 0n,
  });
  insert.run(digest, raw);
  return await rpc<Hex>('eth_sendRawTransaction', [raw]);
}

for (const wallet of wallets) {
  wallet.nonce = Number(
    await rpc<Hex>('eth_getTransactionCount', [wallet.account.address, 'latest']),
  );
}
createServer((incoming, response) => {
  let text = '';
  incoming.setEncoding('utf8');
  incoming.on('data', (chunk: string) => {
    text += chunk;
  });
  incoming.on('end', () => {
    const done = incoming.method === 'POST' ? relay(text) : Promise.resolve('0x');
    done.then(
      (hash) => response.end(JSON.stringify({ ok: true, hash })),
      (error: unknown) => {
        response.statusCode = 500;
        response.end(JSON.stringify({ ok: false, error: String(error) }));
      },
    );
  });
}).listen(Number(must('PORT')), '127.0.0.1');
