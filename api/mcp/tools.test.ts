import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { ENDPOINTS } from '../endpoints/index.ts';
import type { RouteContext } from '../http/context.ts';
import { typedTwice } from '../openapi/walk.ts';
import { inputSchemaOf } from './schemas.ts';
import { type JsonObject, listed } from './tool.ts';
import { TOOLS } from './tools.ts';

const shown = TOOLS.map((tool) => listed(tool, 'basket_'));
const named = (name: string) => {
  const tool = TOOLS.find((tool) => tool.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool;
};
const ajv = () => new Ajv2020({ strict: false, validateFormats: false });
const address = '0x00000000000000000000000000000000000000AA';

describe('the tools', () => {
  it('are those of wire.md', () => {
    expect(shown.map(({ name }) => name)).toEqual(
      [
        'markets',
        'basket',
        'account',
        'buy',
        'sell',
        'order',
        'guide',
        'agent_session',
        'agent_trade',
        'cover',
        'agent_cover',
      ].map((name) => `basket_${name}`),
    );
  });

  it('leave a model room: names, descriptions and inputs within 12,000 characters', () => {
    const text = JSON.stringify(
      shown.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    );
    expect(text.length).toBeLessThanOrEqual(12_000);
  });

  it.each(shown.map((tool) => [tool.name, tool] as const))(
    '%s says what it is and takes',
    (_, tool) => {
      expect(tool.title).not.toBe('');
      expect(tool.annotations).toMatchObject({ title: tool.title, readOnlyHint: true });
      const properties = tool.inputSchema.properties as Record<string, JsonObject>;
      for (const [name, property] of Object.entries(properties)) {
        const told = property.description ?? property.enum;
        expect(told, `${tool.name}.${name}`).toBeDefined();
        expect(name).not.toBe('pretty');
      }
      expect(typedTwice(tool.inputSchema)).toEqual([]);
      expect(() => ajv().compile(tool.inputSchema)).not.toThrow();
      if (tool.outputSchema !== undefined) {
        // MCP wants an object at the root, whose choices are objects each.
        expect(typedTwice(tool.outputSchema).filter((at) => at !== '')).toEqual([]);
        expect(() => ajv().compile(tool.outputSchema ?? {})).not.toThrow();
      }
    },
  );

  it.each(
    shown
      .filter(({ outputSchema }) => outputSchema !== undefined)
      .map((tool) => [tool.name, tool] as const),
  )(
    '%s holds its errors, and no empty answer, to its output schema',
    (_, { outputSchema = {} }) => {
      const valid = ajv().compile(outputSchema);
      expect(valid({ error: 'no', code: 'BAD_REQUEST', retryable: false, next: 'rebuild' })).toBe(
        true,
      );
      expect(valid({ error: 'no', code: 'BAD_REQUEST', retryable: 'no' })).toBe(false);
      expect(valid({})).toBe(false);
    },
  );

  it('take what their routes take, by the routes’ own schemas', () => {
    const required = { ticker: 'A', address };
    for (const [name, input, accepted] of [
      ['buy', { ...required, amountUsdg: 1 }, true],
      ['buy', { ...required, amountUsdg: 0 }, false],
      ['buy', { ...required, amountUsdg: '1' }, false],
      ['sell', { ...required, shares: 'max', fraction: 0.5 }, true],
      ['sell', { ...required, shares: 1e18 }, false],
      ['agent_session', { owner: address, key: address }, true],
      ['agent_session', { owner: address, key: `0x${'ab'.repeat(32)}` }, false],
      ['agent_session', { owner: address, key: address, x: 1 }, false],
    ] as const) {
      const valid = ajv().compile(named(name).inputSchema);
      expect([name, input, valid(input)]).toEqual([name, input, accepted]);
    }
    for (const [tool, id] of [
      ['buy', 'buildBuy'],
      ['sell', 'buildSell'],
      ['agent_trade', 'agentTrade'],
    ] as const) {
      const endpoint = ENDPOINTS.find((endpoint) => endpoint.id === id);
      const { properties } = inputSchemaOf(
        endpoint !== undefined && 'body' in endpoint ? endpoint.body : undefined,
      );
      const own = named(tool).inputSchema.properties as object;
      expect(Object.keys(own)).toEqual(Object.keys(properties));
    }
  });
});

describe('an order', () => {
  const run = async (input: JsonObject) => {
    await named('order').run({} as RouteContext, input);
  };

  it('has a kind', async () => {
    await expect(run({})).rejects.toThrow('kind: expected limit, exit or cancel');
    await expect(run({ kind: 'stop' })).rejects.toThrow('kind: expected limit, exit or cancel');
  });

  it('is not built without what belongs to another kind: a stop that is ignored protects nobody', async () => {
    await expect(
      run({ kind: 'limit', ticker: 'A', amountUsdg: 10, address, stopNav: 90 }),
    ).rejects.toThrow('stopNav: not part of an order of kind limit');
    await expect(
      run({ kind: 'cancel', orderId: `0x${'ab'.repeat(32)}`, ticker: 'A' }),
    ).rejects.toThrow('ticker: not part of an order of kind cancel');
  });

  it('needs what its kind needs', async () => {
    await expect(run({ kind: 'limit', ticker: 'A', address })).rejects.toThrow(/amountUsdg/);
    await expect(run({ kind: 'exit', ticker: 'A', address, shares: '1' })).rejects.toThrow(
      /stopNav/,
    );
  });
});
