/**
 * The firewall's part for the cover market. Pure. What must hold of everything admitted:
 * - it calls the function of its type on the cover market of our deployment file, with no value;
 * - week and vault in the calldata are those of the announcement, and the vault is in the registry;
 * - a payout names positions, each once, none zero;
 * - the executor is ours; the calldata is canonical, and encoded anew with our address.
 */
import { type Address, decodeFunctionData, getAddress, type Hex, zeroAddress } from 'viem';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { encodePayout, encodeStep } from '../../runtime/cover/cover-work.ts';
import type { CoverStep } from '../../runtime/cover/steps-due.ts';
import type { ListedPayout } from '../source/payout.ts';
import { type CoverWork, workKeyOf } from '../work.ts';
import { type Admission, refuse } from './admit.ts';
import type { KnownProtocol } from './known-protocol.ts';

/** A payout hands each position two guarded transfers: more than these do not fit a transaction. */
const MAX_POSITIONS = 100;

/** Decides whether `listed` of source `source` may be executed with its reward to `executor`, one of ours. */
export function admitCover(
  listed: ListedPayout,
  known: KnownProtocol,
  executor: Address,
  source = 0,
): Admission<CoverWork> {
  const { type, contract, id, ticker, vault, week, feeUsdg, tx } = listed;
  if (contract !== known.coverMarket) return refuse('unknown_contract');
  if (tx.to !== contract) return refuse('target');
  if (tx.value !== 0n) return refuse('value');
  if (!known.vaults.has(vault)) return refuse('unknown_vault');

  const call = readCall(tx.data);
  if (call === null || call.type !== type) return refuse('selector');
  if (call.encodedAgain !== tx.data) return refuse('encoding');
  if (call.executor !== zeroAddress && call.executor !== executor) return refuse('executor');
  if (call.type === 'payout') {
    const { positions } = call;
    const distinct = new Set(positions);
    if (
      positions.length === 0 ||
      positions.length > MAX_POSITIONS ||
      distinct.size !== positions.length ||
      distinct.has(0n)
    ) {
      return refuse('positions');
    }
    if (positions[0] !== BigInt(id)) return refuse('id');
  } else if (call.week !== week || call.vault !== vault) {
    return refuse('id');
  }
  return {
    tag: 'admitted',
    work: {
      type,
      key: workKeyOf(contract, id, type),
      source,
      contract,
      id,
      ticker,
      vault,
      week,
      positions: call.type === 'payout' ? call.positions : [],
      promisedUsdg: feeUsdg,
      data:
        call.type === 'payout'
          ? encodePayout(call.positions, executor)
          : encodeStep(call.type, week, vault, executor),
    },
  };
}

type Call =
  | { type: 'payout'; positions: readonly bigint[]; executor: Address; encodedAgain: Hex }
  | {
      type: CoverStep;
      week: number;
      vault: Address;
      executor: Address;
      encodedAgain: Hex;
    };

/** Null for any other function of the market, or arguments that do not decode. */
function readCall(data: Hex): Call | null {
  try {
    const decoded = decodeFunctionData({ abi: coverMarketAbi, data });
    const { functionName } = decoded;
    if (functionName === 'payout') {
      const [positions, executor] = decoded.args;
      const encodedAgain = encodePayout(positions, executor);
      return { type: 'payout', positions, executor: getAddress(executor), encodedAgain };
    }
    if (functionName !== 'snapshot' && functionName !== 'settle' && functionName !== 'voidWeek') {
      return null;
    }
    const [week, vault, executor] = decoded.args;
    const type = functionName === 'voidWeek' ? 'void' : functionName;
    const encodedAgain = encodeStep(type, week, vault, executor);
    return { type, week, vault: getAddress(vault), executor: getAddress(executor), encodedAgain };
  } catch {
    // Expected: no such selector, arguments that do not decode, or values outside their type.
    return null;
  }
}
