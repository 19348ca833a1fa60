/** What this service tells the page: the fixed facts, and the session (wire.md). Nothing is ever posted to it. */
import type { Address } from 'viem';
import type { PageConfig } from '../page-config.ts';

/** The Session of wire.md, as far as the page reads it. */
export type Session = {
  account: Address;
  deployed: boolean;
  moduleEnabled: boolean;
  active: boolean;
  paused: boolean;
  accountPaused: boolean;
  coverEnabled: boolean;
  usdgWei: string;
  dailyLimitUsdg: string;
  remainingTodayUsdg: string;
  coverDailyLimitUsdg: string;
  maxSlippageBps: number;
  validUntil: number;
  revokeEffect: string;
};

const TIMEOUT_MS = 15_000;

export async function fetchConfig(): Promise<PageConfig> {
  return (await getJson('approve/config.json')) as PageConfig;
}

export async function fetchSession(owner: Address, key: Address): Promise<Session> {
  return (await getJson(`v1/agent/session?owner=${owner}&key=${key}`)) as Session;
}

/** `path` is relative to the page, so that it works under any base path. @throws Error in words for the owner. */
async function getJson(path: string): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(path, {
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (cause) {
    throw new Error('The service does not answer. Check your connection.', { cause });
  }
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return body;
  const { error } = (body ?? {}) as { error?: unknown };
  const said = typeof error === 'string' ? error : `status ${response.status}`;
  throw new Error(`The service cannot tell the state of this key: ${said}.`);
}
