/** The relayer's own options, and all that it reads. */
import { z } from 'zod';
import { parseDecimal } from '../contracts-abi/rounding.ts';
import {
  chainOptions,
  decimalOption,
  intOption,
  listOption,
  logOptions,
  option,
  portOption,
  storeOptions,
  weiOf,
} from '../runtime/config.ts';
import { httpOptions } from '../runtime/http/server.ts';
import { keyOptions } from '../runtime/keys/wallets.ts';
import { addressSchema } from '../runtime/schema.ts';
import { senderOptions } from '../runtime/sender/options.ts';
import type { QuarantinePolicy } from './quarantine.ts';
import { moneyOptions } from './money/options.ts';
import type { RelayPolicy } from './relay.ts';

const dollars = z.string().regex(/^\d+(\.\d{1,6})?$/, 'expected dollars with at most 6 decimals');

const addressList = listOption(addressSchema).default([]);

export const relayOptions = z.object({
  RELAYER_PORT: option(portOption.default(8081), {
    description: 'Port of the relayer.',
    example: '8081',
  }),
  RELAY_WAIT_MS: option(intOption(0, 15_000).default(10_000), {
    description:
      'How long a request waits for its transaction to be mined before it is answered 202, in milliseconds.',
    example: '10000',
  }),
  RELAY_FEE_MARGIN_PERCENT: option(intOption(0, 500).default(25), {
    description: 'What a quote adds to the cost of gas, in percent.',
    example: '25',
  }),
  RELAY_FEE_STEP_USDG: option(
    dollars
      .refine((text) => (parseDecimal(text, 6) ?? 0n) > 0n, 'expected more than zero')
      .default('0.01'),
    { description: 'Quotes are whole multiples of this, in dollars.', example: '0.01' },
  ),
  RELAY_QUOTE_SECONDS: option(intOption(5, 3_600).default(120), {
    description: 'How long a quoted fee is accepted, in seconds.',
    example: '120',
  }),
  RELAY_INCLUSION_MARGIN_SECONDS: option(intOption(0, 300).default(5), {
    description: 'An action whose deadline is nearer than this is refused as expired, in seconds.',
    example: '5',
  }),
  RELAY_GAS_HEADROOM_PERCENT: option(intOption(0, 200).default(25), {
    description: 'Added to the gas that the simulation found, in percent.',
    example: '25',
  }),
  RELAY_MAX_GAS: option(intOption(100_000, 1_000_000_000).default(15_000_000), {
    description: 'An action that needs more gas than this is refused.',
    example: '15000000',
  }),
  RELAY_MAX_IN_FLIGHT: option(intOption(1, 10_000).default(256), {
    description: 'Requests worked on or waited for at once; one more is answered 503.',
    example: '256',
  }),
  RELAY_MAX_PENDING_PER_ACCOUNT: option(intOption(1, 500).default(32), {
    description: 'Actions of one account that may wait to be mined; one more is told to wait.',
    example: '32',
  }),
  RELAY_KEY_REQUESTS_PER_MINUTE: option(intOption(1, 100_000).default(120), {
    description: 'New actions that one session key may post in a minute.',
    example: '120',
  }),
  RELAY_DAILY_GAS_BUDGET_ETH: option(decimalOption(0, 1_000_000).default(1), {
    description: 'Gas that the relayer may spend in a UTC day, in ETH; beyond it, 503.',
    example: '1',
  }),
  RELAY_LOSS_LIMIT_USDG: option(dollars.default('2'), {
    description:
      'A session key whose reverted transactions cost more than this within the window (less what its others brought above their gas) is kept out for a while, in dollars.',
    example: '2',
  }),
  RELAY_LOSS_WINDOW_SECONDS: option(intOption(60, 86_400).default(3_600), {
    description: 'The window in which the losses of a key are counted, in seconds.',
    example: '3600',
  }),
  RELAY_QUARANTINE_SECONDS: option(intOption(1, 86_400).default(600), {
    description:
      'How long a key is kept out the first time, in seconds; each time in a row twice as long, at most a day.',
    example: '600',
  }),
  RELAY_FREE_CANCELS_PER_DAY: option(intOption(0, 10_000).default(20), {
    description:
      'Cancels of cover requests, which carry no fee, that one account may post in a UTC day.',
    example: '20',
  }),
  RELAY_ALLOW: option(addressList, {
    description:
      'Accounts or session keys that alone are served, comma-separated; empty, and none in RELAY_LISTS_FILE: everybody.',
    example: '',
    // Whatever is pasted here by mistake is not repeated.
    secret: true,
  }),
  RELAY_DENY: option(addressList, {
    description: 'Accounts or session keys that are not served, comma-separated.',
    example: '',
    secret: true,
  }),
  RELAY_LISTS_FILE: option(z.string().min(1).optional(), {
    description:
      'A JSON file with further lists: {"allow":{"accounts":[],"keys":[]},"deny":{"accounts":[],"keys":[]}}.',
    example: '',
  }),
  RELAY_LOG_LOOKBACK_BLOCKS: option(intOption(0, 1_000_000).default(10_000), {
    description: 'How many blocks are searched for the transaction that used a nonce.',
    example: '10000',
  }),
});

export const relayerOptions = z.object({
  ...logOptions.shape,
  ...chainOptions.shape,
  ...storeOptions.shape,
  ...httpOptions.shape,
  ...keyOptions.shape,
  ...senderOptions.shape,
  ...relayOptions.shape,
  ...moneyOptions.shape,
});

export type RelayerConfig = Readonly<z.infer<typeof relayerOptions>>;

export function policyOf(config: RelayerConfig): RelayPolicy {
  return {
    waitMs: config.RELAY_WAIT_MS,
    fee: {
      marginPercent: BigInt(config.RELAY_FEE_MARGIN_PERCENT),
      step: parseDecimal(config.RELAY_FEE_STEP_USDG, 6) ?? 1n,
    },
    quoteSeconds: config.RELAY_QUOTE_SECONDS,
    inclusionMarginSeconds: config.RELAY_INCLUSION_MARGIN_SECONDS,
    gasHeadroomPercent: BigInt(config.RELAY_GAS_HEADROOM_PERCENT),
    maxGas: BigInt(config.RELAY_MAX_GAS),
    maxInFlight: config.RELAY_MAX_IN_FLIGHT,
    maxPending: config.RELAY_MAX_PENDING_PER_ACCOUNT,
    freeCancelsPerDay: config.RELAY_FREE_CANCELS_PER_DAY,
    logLookback: BigInt(config.RELAY_LOG_LOOKBACK_BLOCKS),
  };
}

export function quarantineOf(config: RelayerConfig): QuarantinePolicy {
  return {
    limit: parseDecimal(config.RELAY_LOSS_LIMIT_USDG, 6) ?? 0n,
    windowMs: config.RELAY_LOSS_WINDOW_SECONDS * 1_000,
    firstMs: config.RELAY_QUARANTINE_SECONDS * 1_000,
  };
}

export function gasBudgetWei(config: RelayerConfig): bigint {
  return weiOf(config.RELAY_DAILY_GAS_BUDGET_ETH);
}
