/**
 * Reads one swap of a fill as strictly as the zapper will (rule 5 of protocol-rules.md): one of four calls of
 * SwapRouter02, to the zapper, between USDG and a constituent, directly or by way of WETH, in canonical encoding.
 */
import { type Address, getAddress, type Hex } from 'viem';
import { routerCalls, type SwapCall } from '../../runtime/quotes/swap-call.ts';
import type { KnownProtocol } from './known-protocol.ts';
import { remembering } from './remembering.ts';

export type SwapRefusal =
  | 'router'
  | 'swap_selector'
  | 'swap_encoding'
  | 'swap_recipient'
  | 'swap_tokens'
  | 'swap_amount'
  | 'swap_path';

type Swap = {
  recipient: Address;
  /** In the direction of the trade; null when the path is neither direct nor of two hops. */
  tokens: readonly Address[] | null;
  amountIn: bigint;
  /** Null for an exact input. */
  exactOut: bigint | null;
  /** Whether it carries a price limit. */
  limited: boolean;
};

const HOP_CHARACTERS = 46; // 20 bytes of token and 3 of fee
const ADDRESS_CHARACTERS = 40;

/** Tokens along a packed path, or null when its length is not one of a direct or a two-hop path. */
function tokensOfPath(path: Hex): Address[] | null {
  const hex = path.slice(2);
  const hops = (hex.length - ADDRESS_CHARACTERS) / HOP_CHARACTERS;
  if (hops !== 1 && hops !== 2) return null;
  return Array.from({ length: hops + 1 }, (_, index) =>
    getAddress(
      `0x${hex.slice(index * HOP_CHARACTERS, index * HOP_CHARACTERS + ADDRESS_CHARACTERS)}`,
    ),
  );
}

type SwapRead =
  | { readonly tag: 'swap'; readonly swap: Readonly<Swap> }
  | { readonly tag: 'refused'; readonly why: SwapRefusal };

/** The same order is listed in every tick, and orders of one size trade alike. */
const readSwap = remembering(readAnew, 4_000_000);

function readAnew(callData: Hex): SwapRead {
  let swap: Swap | null;
  let again: Hex;
  try {
    const decoded = routerCalls.decode(callData);
    swap = swapOf(decoded);
    again = routerCalls.encode(decoded.functionName, decoded.args);
  } catch {
    // Expected: no such selector, arguments that do not decode, or values outside their type.
    return { tag: 'refused', why: 'swap_selector' };
  }
  if (swap === null) return { tag: 'refused', why: 'swap_selector' };
  // Bytes behind the arguments, or odd offsets, are bytes that somebody else might read differently.
  if (again !== callData) return { tag: 'refused', why: 'swap_encoding' };
  return { tag: 'swap', swap };
}

/** Null for any other function of the router. */
function swapOf(call: ReturnType<typeof routerCalls.decode>): Swap | null {
  if (call.functionName === 'exactInputSingle') {
    const [{ recipient, tokenIn, tokenOut, amountIn, sqrtPriceLimitX96 }] = call.args;
    const tokens = [getAddress(tokenIn), getAddress(tokenOut)];
    return { recipient, tokens, amountIn, exactOut: null, limited: sqrtPriceLimitX96 !== 0n };
  }
  if (call.functionName === 'exactOutputSingle') {
    const [{ recipient, tokenIn, tokenOut, amountInMaximum, amountOut, sqrtPriceLimitX96 }] =
      call.args;
    const tokens = [getAddress(tokenIn), getAddress(tokenOut)];
    const limited = sqrtPriceLimitX96 !== 0n;
    return { recipient, tokens, amountIn: amountInMaximum, exactOut: amountOut, limited };
  }
  if (call.functionName === 'exactInput') {
    const [{ recipient, path, amountIn }] = call.args;
    return { recipient, tokens: tokensOfPath(path), amountIn, exactOut: null, limited: false };
  }
  if (call.functionName === 'exactOutput') {
    const [{ recipient, path, amountInMaximum, amountOut }] = call.args;
    // An exact-output path runs backwards, from the token bought.
    const tokens = tokensOfPath(path)?.reverse() ?? null;
    return { recipient, tokens, amountIn: amountInMaximum, exactOut: amountOut, limited: false };
  }
  return null;
}

/**
 * Null when the swap may be part of a fill in this direction; otherwise the first thing wrong with it.
 * @param constituents tokens that the fill may trade against USDG
 */
export function swapRefusal(
  call: SwapCall,
  direction: 'to_usdg' | 'from_usdg',
  constituents: ReadonlySet<Address>,
  protocol: KnownProtocol,
): SwapRefusal | null {
  if (getAddress(call.router) !== protocol.swapRouter02) return 'router';
  const tokenIn = getAddress(call.tokenIn);
  const tokenOut = getAddress(call.tokenOut);
  const [cash, other] = direction === 'to_usdg' ? [tokenOut, tokenIn] : [tokenIn, tokenOut];
  if (cash !== protocol.usdg || other === protocol.usdg || !constituents.has(other))
    return 'swap_tokens';

  const read = readSwap(call.callData);
  if (read.tag === 'refused') return read.why;
  const { recipient, tokens, amountIn, exactOut, limited } = read.swap;
  if (getAddress(recipient) !== protocol.zapper) return 'swap_recipient';
  // An exact output of zero, or a price limit, would mean something else to the router.
  if (amountIn === 0n || amountIn !== call.amountIn || exactOut === 0n || limited) {
    return 'swap_amount';
  }
  if (tokens === null) return 'swap_path';
  if (tokens[0] !== tokenIn || tokens.at(-1) !== tokenOut) return 'swap_tokens';
  if (tokens.length === 3 && tokens[1] !== protocol.weth) return 'swap_path';
  return null;
}
