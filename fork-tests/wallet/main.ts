/**
 * A dev wallet for the local chain, so that the README's loop can be walked by hand:
 *   … /v1/tx/buy … | npm run -s wallet -- send alice       signs and sends a plan (approval first)
 *   npm run -s wallet -- grant alice agent --cover 20       opens alice's account, funds it, grants the agent's key
 *   … /v1/agent/trade … | npm run -s wallet -- relay agent  signs the typed data, posts it, re-signs the fee on a 402
 *   npm run -s wallet -- offer erin MAG7 --from 300 --to 1000 --cover 200 --price 6.40    underwrites cover
 *   npm run -s wallet -- fill erin <listing id> 100         underwrites $100 of a request
 *   npm run -s wallet -- push MAG7 -12                      moves every constituent's pools by -12%
 *   npm run -s wallet -- warp 700                           lets 700 seconds pass on the chain
 *   npm run -s wallet -- weekend MAG7 -8                    close, a fall of 8%, settlement and payouts of sold cover
 * Dev keys only (fork-tests/chain/seed/accounts.ts); it refuses a chain that is not an Anvil.
 */
import { readFileSync } from 'node:fs';
import { BaseError } from 'viem';
import { describeRevert, revertDataOf } from '../../contracts-abi/revert.ts';
import { parseDecimal } from '../../contracts-abi/rounding.ts';
import { number, role, UsageError, whole, withOptions } from './arguments.ts';
import { grant } from './grant.ts';
import { push, warp } from './market.ts';
import { type DevWallet, openWallet } from './open.ts';
import { relay } from './relay.ts';
import { send } from './send.ts';
import { cancelListing, fill, offer, roll, sendBack } from './underwrite.ts';
import { weekend } from './weekend.ts';

function standardInput(): Record<string, unknown> {
  const text = readFileSync(0, 'utf8');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Error(`standard input is not JSON: ${text.slice(0, 200)}`);
  }
  if (typeof body !== 'object' || body === null) throw new Error('standard input is not an object');
  if ('error' in body && 'code' in body) throw new Error(`the service refused: ${text.trim()}`);
  return body as Record<string, unknown>;
}

const print = (value: unknown): void => {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
};

/**
 * Of a refusal by the chain the contract's reason: the node words it from raw bytes. An error of ours says what is the
 * matter already, whatever caused it.
 */
function wordsOf(error: unknown): string {
  if (!(error instanceof BaseError)) return (error as Error).message;
  const revert = revertDataOf(error);
  return revert === null ? error.shortMessage : `it would revert: ${describeRevert(revert)}`;
}

/** Dollars per $1,000 as typed, to USDG base units. */
function price(text: string | undefined): bigint {
  const parsed = parseDecimal(text ?? '', 6);
  if (parsed === null) throw new UsageError('--price must be dollars, as 6.40');
  return parsed;
}

async function runGrant(wallet: DevWallet, words: string[]): Promise<void> {
  const { positionals, values } = withOptions(words, { cover: { type: 'string' } });
  const [owner, key, trades = '100'] = positionals;
  print(await grant(wallet, role(owner), role(key), { trades, ...values }));
}

async function runOffer(wallet: DevWallet, words: string[]): Promise<void> {
  const text = { type: 'string' } as const;
  const { positionals, values } = withOptions(words, {
    from: text,
    to: text,
    cover: text,
    price: text,
    week: text,
    repeats: { type: 'boolean' },
  });
  const [account, ticker] = positionals;
  const underwriter = role(account);
  if (ticker === undefined) throw new UsageError('of which basket?');
  print(
    await offer(wallet, underwriter, {
      ticker,
      fromBps: whole(values.from, '--from'),
      toBps: whole(values.to, '--to'),
      coverUsd: whole(values.cover, '--cover'),
      pricePer1k: price(values.price),
      repeats: values.repeats ?? false,
      ...(values.week === undefined ? {} : { week: whole(values.week, '--week') }),
    }),
  );
}

async function runWeekend(wallet: DevWallet, [ticker, percent]: string[]): Promise<void> {
  const move = ticker === undefined ? undefined : { ticker, percent: number(percent, 'percent') };
  for await (const step of weekend(wallet, move)) print(step);
}

const ON_LISTINGS = { 'cancel-listing': cancelListing, roll, 'send-back': sendBack };

async function run(command: string, words: string[]): Promise<void> {
  const [first, second, third] = words;
  const wallet = await openWallet();
  switch (command) {
    case 'send':
      return print(await send(wallet, role(first), standardInput()));
    case 'grant':
      return await runGrant(wallet, words);
    case 'relay':
      for await (const step of relay(role(first), standardInput())) print(step);
      return;
    case 'offer':
      return await runOffer(wallet, words);
    case 'fill':
      return print(
        await fill(wallet, role(first), whole(second, 'listing id'), whole(third, 'dollars')),
      );
    case 'cancel-listing':
    case 'roll':
    case 'send-back':
      return print(await ON_LISTINGS[command](wallet, role(first), whole(second, 'listing id')));
    case 'push':
      return print(await push(wallet, first ?? '', number(second, 'percent')));
    case 'warp':
      return print(await warp(wallet, number(first, 'seconds')));
    case 'weekend':
      return await runWeekend(wallet, words);
    default:
      throw new UsageError(`unknown command ${command}`);
  }
}

try {
  const [command = '(none)', ...words] = process.argv.slice(2);
  await run(command, words);
} catch (error) {
  process.stderr.write(`${wordsOf(error)}\n`);
  process.exitCode = 1;
}
