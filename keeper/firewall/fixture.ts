/** A small protocol with made-up addresses, and honest jobs on it: what firewall tests bend. */
import {
  type Address,
  encodeFunctionData,
  encodePacked,
  getAddress,
  type Hex,
  pad,
  zeroAddress,
} from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { swapRouter02Abi } from '../../contracts-abi/generated/index.ts';
import { encodePayout, encodeStep } from '../../runtime/cover/cover-work.ts';
import type { CoverStep } from '../../runtime/cover/steps-due.ts';
import type { SwapCall } from '../../runtime/quotes/swap-call.ts';
import type { Job } from '../source/job.ts';
import type { ListedPayout } from '../source/payout.ts';
import { encodeArm, encodeFill } from '../../runtime/quotes/order-call.ts';
import { knownProtocol } from './known-protocol.ts';

/** A checksummed address from a small number. */
export const addressOf = (value: number): Address =>
  getAddress(pad(`0x${value.toString(16)}`, { size: 20 }));

export const deployment: Deployment = {
  chainId: 4663,
  startBlock: 0,
  usdg: addressOf(0xa1),
  weth: addressOf(0xa2),
  multicall3: addressOf(0xa3),
  uniswapV3Factory: addressOf(0xa4),
  swapRouter02: addressOf(0xa5),
  quoterV2: addressOf(0xa6),
  wethUsdgPool: addressOf(0xa7),
  pause: addressOf(0xa8),
  registry: addressOf(0xa9),
  oracle: addressOf(0xaa),
  zapper: addressOf(0xab),
  exitEscrow: addressOf(0xac),
  limitEscrow: addressOf(0xad),
  accountFactory: addressOf(0xae),
  sessionModule: addressOf(0xaf),
  scheduleEscrow: addressOf(0xd1),
  coverMarket: addressOf(0xd2),
  coverModule: addressOf(0xd3),
  baskets: [{ ticker: 'TECH', vault: addressOf(0xb1) }],
};

const TECH = addressOf(0xb1);
export const ENERGY = addressOf(0xb2);
export const APPLE = addressOf(0xc1);
export const TESLA = addressOf(0xc2);
export const OIL = addressOf(0xc3);
export const OURS = addressOf(0xe1);
export const STRANGER = addressOf(0xe2);

export const known = knownProtocol(deployment, [
  { vault: TECH, tokens: [APPLE, TESLA] },
  { vault: ENERGY, tokens: [OIL] },
]);

export const ID: Hex = pad('0x1234', { size: 32 });

export type Route = {
  selector?: 'exactInputSingle' | 'exactInput' | 'exactOutputSingle' | 'exactOutput';
  recipient?: Address;
  tokenIn?: Address;
  tokenOut?: Address;
  via?: readonly Address[];
  amountIn?: bigint;
  amountOut?: bigint;
  sqrtPriceLimitX96?: bigint;
};

/** Calldata of the router as an honest source makes it, unless told otherwise. */
export function routerCall(route: Route = {}): Hex {
  const {
    selector = 'exactInputSingle',
    recipient = deployment.zapper,
    tokenIn = APPLE,
    tokenOut = deployment.usdg,
    via = [],
    amountIn = 10n ** 18n,
    amountOut = 1n,
    sqrtPriceLimitX96 = 0n,
  } = route;
  const hops = [tokenIn, ...via, tokenOut];
  const ordered = selector === 'exactOutput' ? hops.toReversed() : hops;
  const path = encodePacked(
    ordered.flatMap((_, index) => (index === 0 ? ['address'] : ['uint24', 'address'])),
    ordered.flatMap((hop, index) => (index === 0 ? [hop] : [3_000, hop])),
  );
  const single = { tokenIn, tokenOut, fee: 3_000, recipient, sqrtPriceLimitX96 };
  if (selector === 'exactInputSingle') {
    const args = [{ ...single, amountIn, amountOutMinimum: amountOut }] as const;
    return encodeFunctionData({ abi: swapRouter02Abi, functionName: selector, args });
  }
  if (selector === 'exactOutputSingle') {
    const args = [{ ...single, amountInMaximum: amountIn, amountOut }] as const;
    return encodeFunctionData({ abi: swapRouter02Abi, functionName: selector, args });
  }
  if (selector === 'exactInput') {
    const args = [{ path, recipient, amountIn, amountOutMinimum: amountOut }] as const;
    return encodeFunctionData({ abi: swapRouter02Abi, functionName: selector, args });
  }
  const args = [{ path, recipient, amountInMaximum: amountIn, amountOut }] as const;
  return encodeFunctionData({ abi: swapRouter02Abi, functionName: selector, args });
}

export function swapOf(route: Route = {}, change: Partial<SwapCall> = {}): SwapCall {
  return {
    router: deployment.swapRouter02,
    tokenIn: route.tokenIn ?? APPLE,
    tokenOut: route.tokenOut ?? deployment.usdg,
    amountIn: route.amountIn ?? 10n ** 18n,
    callData: routerCall(route),
    ...change,
  };
}

export function sellJob(
  swaps: readonly SwapCall[] = [swapOf()],
  executor: Address = zeroAddress,
): Job {
  return {
    type: 'sell',
    contract: deployment.exitEscrow,
    id: ID,
    ticker: 'TECH',
    vault: TECH,
    feeUsdg: 250_000n,
    slippageBps: 100,
    tx: { to: deployment.exitEscrow, data: encodeFill(ID, swaps, executor), value: 0n },
    armData: encodeArm(ID),
  };
}

export function limitJob(): Job {
  const swap = swapOf({ tokenIn: deployment.usdg, tokenOut: APPLE, amountIn: 50_000_000n });
  return {
    ...sellJob([swap]),
    type: 'limit',
    contract: deployment.limitEscrow,
    tx: { to: deployment.limitEscrow, data: encodeFill(ID, [swap], zeroAddress), value: 0n },
  };
}

export function scheduleJob(): Job {
  const { scheduleEscrow } = deployment;
  const { tx } = limitJob();
  return {
    ...limitJob(),
    type: 'schedule',
    contract: scheduleEscrow,
    tx: { ...tx, to: scheduleEscrow },
  };
}

export const coverStep = (
  type: CoverStep = 'snapshot',
  executor: Address = zeroAddress,
): ListedPayout => ({
  type,
  contract: deployment.coverMarket,
  id: '294012345',
  ticker: 'TECH',
  vault: TECH,
  week: 2_940,
  feeUsdg: 100_000n,
  tx: {
    to: deployment.coverMarket,
    data: encodeStep(type, 2_940, TECH, executor),
    value: 0n,
  },
});

export const coverPayout = (
  positions: readonly bigint[] = [7n, 8n],
  executor: Address = zeroAddress,
): ListedPayout => ({
  ...coverStep(),
  type: 'payout',
  id: (positions[0] ?? 0n).toString(),
  tx: { to: deployment.coverMarket, data: encodePayout(positions, executor), value: 0n },
});
