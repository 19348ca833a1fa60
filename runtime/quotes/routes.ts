/** Every way between USDG and a token: all fee tiers, directly or by way of WETH (architecture.md, Builds). */
import { type Address, concatHex, encodePacked, type Hex, isAddressEqual } from 'viem';

/** Uniswap v3 fee tiers, in hundredths of a basis point. */
export const FEE_TIERS = [100, 500, 3_000, 10_000] as const;

export type Hop = { tokenIn: Address; tokenOut: Address; fee: number };
/** One or two hops; two go through WETH (rule 5 of protocol-rules.md). */
export type Route = readonly [Hop] | readonly [Hop, Hop];

/** Fee tiers at which a pool exists, for one token. */
export type TokenPools = { usdg: readonly number[]; weth: readonly number[] };

/** Bounds the reads of a quote: no token has more pools than four tiers, but tiers multiply through WETH. */
const MAX_ROUTES = 12;

/** Routes that buy `token` for USDG, direct ones first. Empty: no route. */
export function routesTo(
  token: Address,
  tokens: { usdg: Address; weth: Address },
  pools: TokenPools,
  wethUsdgTiers: readonly number[],
): Route[] {
  const { usdg, weth } = tokens;
  const direct = pools.usdg.map((fee): Route => [{ tokenIn: usdg, tokenOut: token, fee }]);
  if (isAddressEqual(token, weth)) return direct.slice(0, MAX_ROUTES);
  const viaWeth = wethUsdgTiers.flatMap((first) =>
    pools.weth.map(
      (second): Route => [
        { tokenIn: usdg, tokenOut: weth, fee: first },
        { tokenIn: weth, tokenOut: token, fee: second },
      ],
    ),
  );
  return [...direct, ...viaWeth].slice(0, MAX_ROUTES);
}

/** The same pools the other way round. */
export function reversed(route: Route): Route {
  const flip = ({ tokenIn, tokenOut, fee }: Hop): Hop => ({
    tokenIn: tokenOut,
    tokenOut: tokenIn,
    fee,
  });
  return route.length === 1 ? [flip(route[0])] : [flip(route[1]), flip(route[0])];
}

export function tokenInOf(route: Route): Address {
  return route[0].tokenIn;
}

export function tokenOutOf(route: Route): Address {
  return route.length === 1 ? route[0].tokenOut : route[1].tokenOut;
}

/** The router's packed path in the direction of travel, as exactInput wants it. */
export function forwardPath(route: Route): Hex {
  const [first] = route;
  let path = encodePacked(['address'], [first.tokenIn]);
  for (const { fee, tokenOut } of route) {
    path = concatHex([path, encodePacked(['uint24', 'address'], [fee, tokenOut])]);
  }
  return path;
}

/** Backwards from the token bought, as exactOutput wants it. */
export function backwardPath(route: Route): Hex {
  return forwardPath(reversed(route));
}
