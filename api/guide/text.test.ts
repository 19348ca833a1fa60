import { afterEach, describe, expect, it, vi } from 'vitest';
import { ERROR_TABLE } from '../../runtime/errors.ts';
import { ENDPOINTS } from '../endpoints/index.ts';
import { ADVICE } from './advice.ts';
import { type GuideFacts, guideText } from './text.ts';

const facts: GuideFacts = {
  urls: {
    base: 'https://api.test/base',
    relayer: 'https://relay.test/relay/v1/account/execute',
    relayerCover: 'https://relay.test/relay/v1/account/cover',
    approval: 'https://app.test/approve',
    rpc: 'https://rpc.test',
    explorer: 'https://explorer.test',
  },
  usdg: '0x00000000000000000000000000000000000000d6',
  sessionModule: '0x00000000000000000000000000000000000000e5',
  baskets: Array.from({ length: 15 }, (_, at) => ({ ticker: `BSK${at}`, ordersEnabled: at !== 3 })),
  toolPrefix: 'idx-',
  endpoints: ENDPOINTS,
};
const text = guideText(facts);

describe('the guide', () => {
  it('is about 1,200 tokens', () => {
    const tokens = text.split(/\s+/).filter((word) => word !== '').length * 1.33;
    expect(tokens).toBeGreaterThan(900);
    expect(tokens).toBeLessThan(1_500);
  });

  it('names where everything is', () => {
    for (const fact of [...Object.values(facts.urls), facts.usdg, facts.sessionModule]) {
      expect(text).toContain(fact);
    }
    for (const { ticker } of facts.baskets) expect(text).toMatch(new RegExp(`\\b${ticker}\\b`));
    expect(text).toContain('https://api.test/base/mcp, tools named idx-');
    expect(text).toContain('Not for BSK3 (NO_REFERENCE)');
    expect(guideText({ ...facts, baskets: [] })).not.toContain('BSK');
  });

  it('names no route that is not there', () => {
    const routes = ENDPOINTS.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    const named = text.match(/(?:GET|POST) \/[\w/{}]+/g) ?? [];
    expect(named.length).toBeGreaterThan(10);
    for (const route of named) expect(routes).toContain(route);
  });

  it('has every code with its status, and what to do', () => {
    for (const [code, { advice }] of Object.entries(ADVICE)) {
      const { status } = ERROR_TABLE[code as keyof typeof ADVICE];
      expect(text).toMatch(new RegExp(`^- ${code} [\\d/]*${status}[\\d/]*: `, 'm'));
      expect(text).toContain(advice);
    }
    // Statuses that a code has on some route alone.
    expect(text).toMatch(/^- UNKNOWN_BASKET 400\/404: /m);
    expect(text).toMatch(/^- INSUFFICIENT_SHARES 400\/422: /m);
    expect(text).toMatch(/^- ORDER_NOT_OPEN 409\/422: /m);
  });

  it('tells the rules that cost money when they are not known', () => {
    expect(text).toContain('NEVER send a private key');
    expect(text).toMatch(/402 .*only action\.fee .*requiredFee, same nonce and deadline/);
    expect(text).toContain('nonceUsed(account, nonce)');
    expect(text).toContain('Send sharesWei back unchanged');
  });
});

describe('its numbers', () => {
  afterEach(() => {
    vi.doUnmock('../../contracts-abi/constants.ts');
    vi.resetModules();
  });

  it.each([
    ['CHAIN_ID', 31_337, 'chain 31337'],
    ['MINT_FEE_BPS', 33n, 'Mint 0.33%'],
    ['SELL_FEE_BPS', 44n, 'sell 0.44%'],
    ['MIN_MANAGEMENT_FEE_BPS', 11n, '0.11% to 0.95% a year'],
    ['MAX_MANAGEMENT_FEE_BPS', 77n, '0.5% to 0.77% a year'],
    ['MIN_EXECUTOR_FEE', 1_500_000n, 'the larger of $1.50 and'],
    ['EXECUTOR_FEE_BPS', 22n, 'and 0.22%'],
    ['MAX_EXECUTOR_FEE_BPS', 120n, 'at most 1.2%'],
    ['MIN_TRADE', 7_000_000n, 'At least $7 of basket value'],
    ['MIN_ORDER', 6_000_000n, 'at least $6'],
    ['MAX_NETWORK_FEE', 12_000_000n, 'Refuse above $12'],
    ['MAX_SESSION_SLIPPAGE_BPS', 900n, '1 to 900'],
    ['REFERENCE_WINDOW', 900n, '15-minute average'],
  ])('follow the constants: %s', async (name, value, told) => {
    expect(text).not.toContain(told);
    vi.resetModules();
    vi.doMock('../../contracts-abi/constants.ts', async (original) => ({
      ...(await original<object>()),
      [name]: value,
    }));
    const { guideText } = await import('./text.ts');
    expect(guideText(facts)).toContain(told);
  });

  it('follow the schemas of requests', async () => {
    expect(text).toContain('Optional slippageBps, default 50');
    expect(text).toContain('Default expiryDays 30');
    vi.resetModules();
    vi.doMock('../schemas/common.ts', async (original) => {
      const common = await original<typeof import('../schemas/common.ts')>();
      return {
        ...common,
        slippageSchema: common.slippageSchema.unwrap().default(70),
        expiryDaysSchema: common.expiryDaysSchema.unwrap().default(8),
      };
    });
    const { guideText } = await import('./text.ts');
    vi.doUnmock('../schemas/common.ts');
    expect(guideText(facts)).toContain('Optional slippageBps, default 70');
    expect(guideText(facts)).toContain('Default expiryDays 8');
  });
});
