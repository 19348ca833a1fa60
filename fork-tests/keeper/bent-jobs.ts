/** Real jobs, bent the way a broken or hostile source would. */
import { type Address, decodeFunctionData, encodeFunctionData, type Hex } from 'viem';
import { exitEscrowAbi, swapRouter02Abi } from '../../contracts-abi/generated/index.ts';
import type { WireJob } from './job-server.ts';

/** The same job with other calldata. */
export function withData(job: WireJob, data: Hex): WireJob {
  return { ...job, tx: { ...job.tx, data } };
}

function fillOf(job: WireJob) {
  const call = decodeFunctionData({ abi: exitEscrowAbi, data: job.tx.data as Hex });
  if (call.functionName !== 'fill') throw new Error('not a fill');
  const [id, swaps, executor] = call.args;
  return { id, swaps, executor };
}

/** The same fill paying somebody else. */
export function payingTo(job: WireJob, executor: Address): WireJob {
  const { id, swaps } = fillOf(job);
  const args = [id, swaps, executor] as const;
  return withData(job, encodeFunctionData({ abi: exitEscrowAbi, functionName: 'fill', args }));
}

/**
 * The same fill with swaps that ask for more than they can get: well formed, so the firewall passes it, and certain to
 * revert in simulation.
 */
export function revertingSwaps(job: WireJob): WireJob {
  const { id, swaps, executor } = fillOf(job);
  const bent = swaps.map((swap) => {
    const call = decodeFunctionData({ abi: swapRouter02Abi, data: swap.callData });
    if (call.functionName !== 'exactInputSingle') return swap;
    const [params] = call.args;
    const args = [{ ...params, amountOutMinimum: 10n ** 30n }] as const;
    const callData = encodeFunctionData({
      abi: swapRouter02Abi,
      functionName: 'exactInputSingle',
      args,
    });
    return { ...swap, callData };
  });
  const args = [id, bent, executor] as const;
  return withData(job, encodeFunctionData({ abi: exitEscrowAbi, functionName: 'fill', args }));
}

/** The same fill with every swap cut into `pieces`: it passes, and needs far more gas. */
export function inPieces(job: WireJob, pieces: bigint): WireJob {
  const { id, swaps, executor } = fillOf(job);
  const cut = swaps.flatMap((swap) =>
    Array.from({ length: Number(pieces) }, (_, index) => {
      const piece = swap.amountIn / pieces;
      const amountIn = index === 0 ? swap.amountIn - piece * (pieces - 1n) : piece;
      return { ...swap, amountIn, callData: swappingPart(swap.callData, amountIn) };
    }),
  );
  const args = [id, cut, executor] as const;
  return withData(job, encodeFunctionData({ abi: exitEscrowAbi, functionName: 'fill', args }));
}

function swappingPart(callData: Hex, amountIn: bigint): Hex {
  const abi = swapRouter02Abi;
  const { functionName, args } = decodeFunctionData({ abi, data: callData });
  const part = { amountIn, amountOutMinimum: 0n };
  if (functionName === 'exactInputSingle') {
    return encodeFunctionData({ abi, functionName, args: [{ ...args[0], ...part }] });
  }
  if (functionName === 'exactInput') {
    return encodeFunctionData({ abi, functionName, args: [{ ...args[0], ...part }] });
  }
  throw new Error(`the swap is ${functionName}`);
}

/** The same fill whose first swap hands what it buys to `recipient`. */
export function swappingTo(job: WireJob, recipient: Address): WireJob {
  const { id, swaps, executor } = fillOf(job);
  const bent = swaps.map((swap, index) => {
    if (index > 0) return swap;
    return { ...swap, callData: boughtFor(swap.callData, recipient) };
  });
  const args = [id, bent, executor] as const;
  return withData(job, encodeFunctionData({ abi: exitEscrowAbi, functionName: 'fill', args }));
}

function boughtFor(callData: Hex, recipient: Address): Hex {
  const abi = swapRouter02Abi;
  const { functionName, args } = decodeFunctionData({ abi, data: callData });
  if (functionName === 'exactInputSingle') {
    return encodeFunctionData({ abi, functionName, args: [{ ...args[0], recipient }] });
  }
  if (functionName === 'exactInput') {
    return encodeFunctionData({ abi, functionName, args: [{ ...args[0], recipient }] });
  }
  throw new Error(`the swap is ${functionName}`);
}
