/** The settings of the relayer's own money: the treasury's key, top-ups of the wallets, sweeps of the fees. */
import type { Address } from 'viem';
import type { LocalAccount } from 'viem/accounts';
import { z } from 'zod';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import {
  addressOption,
  ConfigError,
  decimalOption,
  intOption,
  option,
  usdgOf,
  weiOf,
} from '../../runtime/config.ts';
import { loadWallets } from '../../runtime/keys/wallets.ts';
import { sweepProblem } from '../../runtime/money/sweep.ts';
import type { SweepRules } from '../../runtime/money/sweep-policy.ts';
import { cronOption } from '../../runtime/timed-jobs.ts';
import type { FundRules } from './fund-policy.ts';

export const moneyOptions = z.object({
  RELAY_TREASURY_KEYSTORE: option(z.string().min(1).optional(), {
    description:
      'Keystore file of the treasury, which keeps the wallets in ETH and sends nothing else; absent, with no key either: no top-ups.',
    example: '.data/treasury.json',
  }),
  RELAY_TREASURY_PASSPHRASE: option(z.string().min(1).optional(), {
    description: "Passphrase of the treasury's keystore file.",
    example: 'a long passphrase',
    secret: true,
  }),
  RELAY_TREASURY_PRIVATE_KEY: option(z.string().min(1).optional(), {
    description:
      "The treasury's private key (for development; prefer a keystore). Not together with RELAY_TREASURY_KEYSTORE.",
    example: '0x…',
    secret: true,
  }),
  RELAY_WALLET_LOW_ETH: option(decimalOption(0.000001, 1_000).default(0.02), {
    description:
      'A wallet with less ETH than this is warned of, and topped up where there is a treasury.',
    example: '0.02',
  }),
  RELAY_WALLET_TARGET_ETH: option(decimalOption(0.000001, 1_000).default(0.05), {
    description: 'ETH that a wallet has after a top-up.',
    example: '0.05',
  }),
  RELAY_TREASURY_DAILY_ETH: option(decimalOption(0, 10_000).default(0.25), {
    description: 'Most ETH that the treasury sends to the wallets within 24 hours.',
    example: '0.25',
  }),
  RELAY_BALANCE_CRON: option(cronOption.default('* * * * *'), {
    description: 'When the wallets are looked at, and topped up: a cron expression, UTC.',
    example: '* * * * *',
  }),
  RELAY_SWEEP_TO: option(addressOption.optional(), {
    description:
      'Cold address to which fees above the float are sent; absent: nothing is swept. Not a wallet of this relayer.',
    example: '0x000000000000000000000000000000000000c01d',
  }),
  RELAY_FLOAT_USDG: option(decimalOption(0, 1_000_000).default(10), {
    description: 'USDG that stays in a wallet when it is swept, in dollars.',
    example: '10',
  }),
  RELAY_SWEEP_LEAST_USDG: option(decimalOption(0.01, 1_000_000).default(10), {
    description: 'Less than this above the float is not swept, in dollars.',
    example: '10',
  }),
  RELAY_SWEEP_EVERY_HOURS: option(intOption(1, 8_760).default(24), {
    description: 'Least time from one sweep of a wallet to the next, in hours.',
    example: '24',
  }),
  RELAY_SWEEP_CRON: option(cronOption.default('23 * * * *'), {
    description: 'When a sweep is looked for: a cron expression, UTC.',
    example: '23 * * * *',
  }),
});

type MoneyConfig = Readonly<z.infer<typeof moneyOptions>>;

/** The treasury's account, or null where none is set. @throws ConfigError for a key that cannot be used */
export function treasuryOf(config: Partial<MoneyConfig>): LocalAccount | null {
  const { RELAY_TREASURY_KEYSTORE: path, RELAY_TREASURY_PRIVATE_KEY: key } = config;
  if (path === undefined && key === undefined) return null;
  const loaded = loadWallets({
    WALLET_KEYSTORE: path,
    WALLET_PASSPHRASE: config.RELAY_TREASURY_PASSPHRASE,
    WALLET_PRIVATE_KEYS: key,
  });
  if (loaded.tag === 'invalid') {
    const problem = loaded.problem
      .replaceAll('WALLET_PRIVATE_KEYS', 'RELAY_TREASURY_PRIVATE_KEY')
      .replaceAll(/\bWALLET_(KEYSTORE|PASSPHRASE)/g, 'RELAY_TREASURY_$1');
    throw new ConfigError(problem);
  }
  const [wallet, ...more] = loaded.wallets;
  if (wallet === undefined || more.length > 0) {
    throw new ConfigError('the treasury is one key: RELAY_TREASURY_… holds several');
  }
  return wallet.account;
}

/**
 * The treasury, once everything about the relayer's own money fits together.
 * @throws ConfigError
 */
export function checkedTreasury(
  config: MoneyConfig,
  deployment: Deployment,
  wallets: readonly Address[],
): LocalAccount | null {
  const treasury = treasuryOf(config);
  if (treasury !== null && wallets.includes(treasury.address)) {
    throw new ConfigError(`the treasury ${treasury.address} is one of the wallets`);
  }
  const { lowWei, targetWei } = fundRulesOf(config);
  if (targetWei <= lowWei) {
    throw new ConfigError('RELAY_WALLET_TARGET_ETH must be above RELAY_WALLET_LOW_ETH');
  }
  const { RELAY_SWEEP_TO: to } = config;
  const own = treasury === null ? wallets : [...wallets, treasury.address];
  const problem = to === undefined ? null : sweepProblem(to, deployment, own);
  if (problem !== null) throw new ConfigError(`RELAY_SWEEP_TO is ${to}: ${problem}`);
  return treasury;
}

const HOUR_MS = 3_600_000;

export function sweepRulesOf(config: MoneyConfig): SweepRules {
  return {
    floatUsdg: usdgOf(config.RELAY_FLOAT_USDG),
    leastUsdg: usdgOf(config.RELAY_SWEEP_LEAST_USDG),
    periodMs: config.RELAY_SWEEP_EVERY_HOURS * HOUR_MS,
  };
}

export function fundRulesOf(config: MoneyConfig): FundRules {
  return {
    lowWei: weiOf(config.RELAY_WALLET_LOW_ETH),
    targetWei: weiOf(config.RELAY_WALLET_TARGET_ETH),
    dailyWei: weiOf(config.RELAY_TREASURY_DAILY_ETH),
  };
}
