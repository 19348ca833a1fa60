/** The sender's settings: one zod group for the one config parser, and the plain values that the code works with. */
import { z } from 'zod';
import { decimalOption, intOption, option } from '../config.ts';

export const senderOptions = z.object({
  SENDER_CONFIRMATIONS: option(intOption(1, 10_000).default(20), {
    description: 'Blocks (its own included) after which a receipt counts as confirmed.',
    example: '20',
  }),
  SENDER_CONFIRM_AFTER_MS: option(intOption(1_000, 3_600_000).default(60_000), {
    description:
      'A receipt that stays the same this long counts as confirmed too: a quiet chain makes no blocks.',
    example: '60000',
  }),
  SENDER_STUCK_AFTER_MS: option(intOption(500, 3_600_000).default(20_000), {
    description:
      'How long the next transaction of a wallet may stay unmined before it is replaced.',
    example: '20000',
  }),
  SENDER_MAX_FEE_GWEI: option(decimalOption(0.000001, 1_000_000).default(50), {
    description: 'maxFeePerGas is never above this, replacements and cancels included.',
    example: '50',
  }),
  SENDER_TIP_GWEI: option(decimalOption(0, 10_000).default(0.01), {
    description:
      'maxPriorityFeePerGas of a first attempt (the chain orders by arrival, not by tip).',
    example: '0.01',
  }),
  SENDER_BUMP_PERCENT: option(intOption(10, 200).default(25), {
    description: 'How much a replacement raises both fees; nodes demand at least 10.',
    example: '25',
  }),
  SENDER_GAS_HEADROOM_PERCENT: option(intOption(0, 400).default(50), {
    description: 'Added to a gas estimate: state and the L1 data fee move until inclusion.',
    example: '50',
  }),
  SENDER_QUEUE_LIMIT: option(intOption(1, 100_000).default(1_000), {
    description: 'Most intents that may wait for a nonce; more are refused.',
    example: '1000',
  }),
  SENDER_QUEUE_WAIT_MS: option(intOption(1_000, 86_400_000).default(600_000), {
    description: 'Longest wait for a wallet to come free before an intent is refused.',
    example: '600000',
  }),
  SENDER_DISPATCH_MS: option(intOption(500, 600_000).default(10_000), {
    description:
      'How long an intent is retried while the RPC does not answer, before it is refused.',
    example: '10000',
  }),
  SENDER_MAX_IN_FLIGHT_PER_WALLET: option(intOption(1, 1_000).default(16), {
    description: 'Most unmined nonces of one wallet; nodes guarantee a place for about 16.',
    example: '16',
  }),
  SENDER_TICK_MS: option(intOption(10, 60_000).default(200), {
    description: 'Cadence of the one batched poll while something is unsettled.',
    example: '200',
  }),
  SENDER_REBROADCAST_MS: option(intOption(200, 600_000).default(3_000), {
    description: 'First interval after which unmined bytes are sent again; doubles up to a minute.',
    example: '3000',
  }),
});

export type SenderEnv = z.infer<typeof senderOptions>;

export type SenderSettings = {
  confirmations: number;
  confirmAfterMs: number;
  stuckAfterMs: number;
  /** Wei per gas. */
  maxFee: bigint;
  /** Wei per gas. */
  tip: bigint;
  bumpPercent: number;
  gasHeadroomPercent: number;
  queueLimit: number;
  queueWaitMs: number;
  dispatchMs: number;
  maxInFlightPerWallet: number;
  tickMs: number;
  rebroadcastMs: number;
};

export function senderSettings(env: SenderEnv): SenderSettings {
  return {
    confirmations: env.SENDER_CONFIRMATIONS,
    confirmAfterMs: env.SENDER_CONFIRM_AFTER_MS,
    stuckAfterMs: env.SENDER_STUCK_AFTER_MS,
    maxFee: gwei(env.SENDER_MAX_FEE_GWEI),
    tip: gwei(env.SENDER_TIP_GWEI),
    bumpPercent: env.SENDER_BUMP_PERCENT,
    gasHeadroomPercent: env.SENDER_GAS_HEADROOM_PERCENT,
    queueLimit: env.SENDER_QUEUE_LIMIT,
    queueWaitMs: env.SENDER_QUEUE_WAIT_MS,
    dispatchMs: env.SENDER_DISPATCH_MS,
    maxInFlightPerWallet: env.SENDER_MAX_IN_FLIGHT_PER_WALLET,
    tickMs: env.SENDER_TICK_MS,
    rebroadcastMs: env.SENDER_REBROADCAST_MS,
  };
}

/** A config number in gwei to wei per gas; nine decimals are all there is. */
function gwei(value: number): bigint {
  return BigInt(Math.round(value * 1e9));
}
