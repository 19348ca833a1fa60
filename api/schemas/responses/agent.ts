/** What the agent routes answer (wire.md, Agent session, trade, cover). */
import { z } from 'zod';
import { CHAIN_ID } from '../../../contracts-abi/constants.ts';
import { addressText, hexText, tickerText, urlText, weiText } from './scalars.ts';

export const sessionBody = z
  .object({
    owner: addressText,
    account: addressText.meta({
      description: 'Deterministic per owner; named even before it exists on chain.',
    }),
    key: addressText,
    chainId: z.literal(CHAIN_ID),
    module: addressText.meta({ description: 'The session module.' }),
    deployed: z.boolean(),
    moduleEnabled: z.boolean(),
    coverEnabled: z.boolean(),
    active: z.boolean(),
    paused: z.boolean().meta({ description: 'By the protocol or by the owner.' }),
    accountPaused: z.boolean().meta({ description: 'By the owner, for the whole account.' }),
    usdgWei: weiText,
    dailyLimitUsdg: weiText,
    remainingTodayUsdg: weiText.meta({
      description: 'Turnover left today (UTC), USDG base units.',
    }),
    coverDailyLimitUsdg: weiText.meta({
      description: 'Premiums and cover fees a day (UTC) where coverEnabled, USDG base units.',
    }),
    maxSlippageBps: z.int().min(0).max(1_000),
    validUntil: z.int().meta({ description: 'Unix seconds.' }),
    approvalUrl: urlText.meta({ description: 'Where the owner approves this key.' }),
    relayerUrl: urlText.meta({ description: 'Full URL to post {action, signature} to.' }),
    revokeEffect: z.string(),
  })
  .meta({ id: 'Session' });

const typeFields = z.array(z.object({ name: z.string(), type: z.string() })).readonly();

const action = z
  .object({
    account: addressText,
    key: addressText,
    kind: z.int().min(0).max(1).meta({ description: '0 buy, 1 sell.' }),
    vault: addressText,
    amount: weiText.meta({ description: 'Shares to mint or to sell, 1e18 units.' }),
    limit: weiText.meta({ description: 'USDG base units: buy most spent, sell least received.' }),
    slippageBps: z.int().min(0).max(1_000),
    data: hexText.meta({ description: 'The swap calls.' }),
    nonce: weiText,
    deadline: z.int().meta({ description: 'Unix seconds.' }),
    fee: weiText.meta({ description: 'Network fee, USDG base units.' }),
  })
  .meta({ id: 'Action' });

/** EIP-712 domain of a session key's signature. */
export function domainBody(name: string) {
  return z.object({
    name: z.literal(name),
    version: z.literal('1'),
    chainId: z.literal(CHAIN_ID),
    verifyingContract: addressText,
  });
}

/** Nothing is simulated before it is signed. */
export const awaitsSignature = z.object({ ok: z.null(), skipped: z.string() });

export const tradePlan = z
  .object({
    ticker: tickerText,
    status: sessionBody,
    action,
    typedData: z.object({
      domain: domainBody('basket account'),
      types: z.object({ EIP712Domain: typeFields, Action: typeFields }),
      primaryType: z.literal('Action'),
      message: action,
    }),
    relayerUrl: urlText,
    simulation: awaitsSignature,
  })
  .meta({ id: 'TradePlan' });
