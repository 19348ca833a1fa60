/** SwapCalls of IBasketZapper: SwapRouter02 calldata to the zapper itself (rule 5 of protocol-rules.md). */
import { type Address, getAbiItem, type Hex } from 'viem';
import { swapRouter02Abi } from '../../contracts-abi/generated/index.ts';
import { functionSet } from '../chain/function-set.ts';
import { backwardPath, forwardPath, type Route, tokenInOf, tokenOutOf } from './routes.ts';

/** The calls of the router that a swap may be. */
export const routerCalls = functionSet([
  getAbiItem({ abi: swapRouter02Abi, name: 'exactInputSingle' }),
  getAbiItem({ abi: swapRouter02Abi, name: 'exactOutputSingle' }),
  getAbiItem({ abi: swapRouter02Abi, name: 'exactInput' }),
  getAbiItem({ abi: swapRouter02Abi, name: 'exactOutput' }),
] as const);

export type SwapCall = {
  router: Address;
  tokenIn: Address;
  tokenOut: Address;
  amountIn: bigint;
  callData: Hex;
};

export type Venue = { router: Address; zapper: Address };

/**
 * Sells exactly `amountIn`. The least output of a single leg is zero on purpose: what protects the trade is the
 * bound on the whole (minShares, minUsdg, the floor), which no split between legs can weaken.
 */
export function exactInput(venue: Venue, route: Route, amountIn: bigint): SwapCall {
  const callData =
    route.length === 1
      ? routerCalls.encode('exactInputSingle', [
          {
            ...route[0],
            recipient: venue.zapper,
            amountIn,
            amountOutMinimum: 0n,
            sqrtPriceLimitX96: 0n,
          },
        ])
      : routerCalls.encode('exactInput', [
          { path: forwardPath(route), recipient: venue.zapper, amountIn, amountOutMinimum: 0n },
        ]);
  return callOf(venue, route, amountIn, callData);
}

/** Buys exactly `amountOut` for at most `amountInMaximum`. */
export function exactOutput(
  venue: Venue,
  route: Route,
  amountOut: bigint,
  amountInMaximum: bigint,
): SwapCall {
  const callData =
    route.length === 1
      ? routerCalls.encode('exactOutputSingle', [
          {
            ...route[0],
            recipient: venue.zapper,
            amountOut,
            amountInMaximum,
            sqrtPriceLimitX96: 0n,
          },
        ])
      : routerCalls.encode('exactOutput', [
          { path: backwardPath(route), recipient: venue.zapper, amountOut, amountInMaximum },
        ]);
  return callOf(venue, route, amountInMaximum, callData);
}

function callOf(venue: Venue, route: Route, amountIn: bigint, callData: Hex): SwapCall {
  return {
    router: venue.router,
    tokenIn: tokenInOf(route),
    tokenOut: tokenOutOf(route),
    amountIn,
    callData,
  };
}
