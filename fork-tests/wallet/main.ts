/**
 * A dev wallet for the local chain, so that the README's loop can be walked by hand:
 *   … /v1/tx/buy … | npm run -s wallet -- send alice       signs and sends a plan (approval first)
 *   npm run -s wallet -- grant alice agent                  opens alice's account, funds it, grants the agent's key
 *   … /v1/agent/trade … | npm run -s wallet -- relay agent  signs the typed data, posts it, re-signs the fee on a 402
 *   npm run -s wallet -- push MAG7 -12                      moves every constituent's pools by -12%
 *   npm run -s wallet -- warp 700                           lets 700 seconds pass on the chain
 * Dev keys only (fork-tests/chain/seed/accounts.ts); it refuses a chain that is not an Anvil.
 */
import { readFileSync } from 'node:fs';
import { BaseError } from 'viem';
import { describeRevert, revertDataOf } from '../../contracts-abi/revert.ts';
import { grant } from './grant.ts';
import { push, warp } from './market.ts';
import { isRole, openWallet } from './open.ts';
import { relay } from './relay.ts';
import { send } from './send.ts';

const USAGE = `usage (a plan or trade comes on standard input):
  wallet send <account>
  wallet grant <owner> <key account> [dollars a day]
  wallet relay <key account>
  wallet push <ticker> <percent>
  wallet warp <seconds>
accounts: alice bob carol dave agent keeper relayer …`;

/** A wrong command line: said in one line, without a stack. */
class UsageError extends Error {}

function role(text: string | undefined) {
  if (text === undefined || !isRole(text))
    throw new UsageError(`unknown account ${text ?? '(none)'}\n${USAGE}`);
  return text;
}

function number(text: string | undefined, what: string): number {
  const value = Number(text);
  if (text === undefined || text === '' || !Number.isFinite(value)) {
    throw new UsageError(`${what} must be a number\n${USAGE}`);
  }
  return value;
}

function standardInput(): Record<string, unknown> {
  const text = readFileSync(0, 'utf8');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new UsageError(`standard input is not JSON: ${text.slice(0, 200)}`);
  }
  if (typeof body !== 'object' || body === null)
    throw new UsageError('standard input is not an object');
  if ('error' in body && 'code' in body)
    throw new UsageError(`the service refused: ${text.trim()}`);
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

try {
  const [command = 'help', first, second, third] = process.argv.slice(2);
  const wallet = await openWallet();
  switch (command) {
    case 'send':
      print(await send(wallet, role(first), standardInput()));
      break;
    case 'grant':
      print(
        await grant(
          wallet,
          role(first),
          role(second),
          third === undefined ? 100 : number(third, 'dollars a day'),
        ),
      );
      break;
    case 'relay':
      for await (const step of relay(role(first), standardInput())) print(step);
      break;
    case 'push':
      print(await push(wallet, first ?? '', number(second, 'percent')));
      break;
    case 'warp':
      print(await warp(wallet, number(first, 'seconds')));
      break;
    default:
      throw new UsageError(USAGE);
  }
} catch (error) {
  process.stderr.write(`${wordsOf(error)}\n`);
  process.exitCode = 1;
}
