import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../runtime/errors.ts';
import { createLogger } from '../../runtime/logger.ts';
import type { RouteContext } from '../http/context.ts';
import { createToolCaller } from './call.ts';
import { createMcpFetch } from './serve.ts';
import { createToolServer } from './server.ts';
import type { Tool } from './tool.ts';

const CURRENT = '2026-07-28';

/** A tool that does as it is told, behind the real servers of both eras. */
function serving(run: Tool['run']) {
  const registry = new Registry();
  const calls = new Counter({
    name: 'calls',
    help: 'calls',
    labelNames: ['tool', 'outcome'] as const,
    registers: [registry],
  });
  const tool: Tool = {
    name: 'thing',
    title: 'Thing',
    description: 'A thing.',
    inputSchema: { type: 'object' },
    outputSchema: { type: 'object' },
    openWorld: false,
    run,
  };
  const tools = createToolServer({
    tools: [tool],
    prefix: 'x_',
    websiteUrl: 'http://127.0.0.1',
    caller: createToolCaller({
      context: {} as RouteContext,
      logger: createLogger('test', 'silent'),
      calls,
    }),
  });
  const fetchMcp = createMcpFetch(tools, () => undefined);
  const call = (era: Era, method: string, params: object, signal?: AbortSignal) => {
    const { headers, body } = messageOf(era, method, params);
    const request = new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    return fetchMcp(request, { parsedBody: body });
  };
  const calling = (era: Era, signal?: AbortSignal) =>
    call(era, 'tools/call', { name: 'x_thing', arguments: {} }, signal);
  return { call, calling, outcomes: async () => (await calls.get()).values };
}

type Era = 'legacy' | 'current';

function messageOf(era: Era, method: string, params: object) {
  if (era === 'legacy') return { headers: {}, body: { jsonrpc: '2.0', id: 7, method, params } };
  const name = 'name' in params ? { 'mcp-name': String(params.name) } : {};
  return {
    headers: { 'mcp-protocol-version': CURRENT, 'mcp-method': method, ...name },
    body: {
      jsonrpc: '2.0',
      id: 7,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': CURRENT,
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
  };
}

function heapAfterCollection(): number {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

describe.each(['legacy', 'current'] as const)('a call of the %s protocol', (era) => {
  it('answers once, as text and structured alike', async () => {
    const { calling, outcomes } = serving(async () => ({ nav: 1.23456789012, id: 5 }));
    const answer = await calling(era);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    const { id, result } = (await answer.json()) as {
      id: number;
      result: { content: { text: string }[]; structuredContent: object; isError?: boolean };
    };
    expect(id).toBe(7);
    // Eight significant digits, as over HTTP.
    expect(result.structuredContent).toEqual({ nav: 1.2345679, id: 5 });
    expect(JSON.parse(String(result.content[0]?.text))).toEqual(result.structuredContent);
    expect(result.isError).toBeUndefined();
    expect(await outcomes()).toMatchObject([
      { labels: { tool: 'thing', outcome: 'ok' }, value: 1 },
    ]);
  });

  it('that is refused says what to do next', async () => {
    const { calling, outcomes } = serving(async () => {
      throw new ApiError('SESSION_LIMIT', 'over the limit', { details: { left: '5' } });
    });
    const { result } = (await (await calling(era)).json()) as { result: object };
    expect(result).toMatchObject({
      isError: true,
      structuredContent: {
        error: 'over the limit',
        code: 'SESSION_LIMIT',
        retryable: false,
        left: '5',
        next: 'ask_owner',
      },
    });
    expect(await outcomes()).toMatchObject([{ labels: { outcome: 'SESSION_LIMIT' } }]);
  });

  it('that fails says nothing of its inside', async () => {
    const { calling } = serving(async () => {
      throw new Error('the password is hunter2');
    });
    const text = await (await calling(era)).text();
    expect(text).not.toContain('hunter2');
    expect(JSON.parse(text)).toMatchObject({
      result: {
        isError: true,
        structuredContent: { code: 'SERVER', retryable: true, next: 'wait' },
      },
    });
  });

  it.each([
    ['arguments null', 'tools/call', { name: 'x_thing', arguments: null }],
    ['arguments that are a list', 'tools/call', { name: 'x_thing', arguments: [1] }],
    ['arguments that are a text', 'tools/call', { name: 'x_thing', arguments: 'x' }],
    ['no name', 'tools/call', { arguments: {} }],
    ['a name that is no text', 'tools/call', { name: 1, arguments: {} }],
    ['a cursor that is no text', 'tools/list', { cursor: 1 }],
  ])('with %s has its params refused in words', async (_, method, params) => {
    const { call, outcomes } = serving(async () => ({}));
    const { id, error } = (await (await call(era, method, params)).json()) as {
      id: number;
      error: { code: number; message: string };
    };
    expect({ id, code: error.code }).toEqual({ id: 7, code: -32_602 });
    expect(error.message).toMatch(/^params\.(name|arguments|cursor): expected an? \w+$/);
    expect(await outcomes()).toEqual([]);
  });

  it('whose client leaves is let go of at once, while the tool still runs', async () => {
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const { calling } = serving(() => {
      started();
      return new Promise(() => {});
    });
    const leaving = new AbortController();
    const answer = calling(era, leaving.signal);
    await running;
    leaving.abort();
    expect((await answer).status).toBe(499);
  });

  it('leaves nothing behind, answered, failed or abandoned', async () => {
    let turn = 0;
    const { calling } = serving(() => {
      turn += 1;
      if (turn % 3 === 0) return new Promise(() => {});
      if (turn % 3 === 1) throw new Error('broken');
      return Promise.resolve({});
    });
    const batch = async (count: number) => {
      for (let i = 0; i < count; i += 1) {
        const leaving = new AbortController();
        const answer = calling(era, leaving.signal);
        setImmediate(() => leaving.abort());
        await answer;
      }
    };
    await batch(100);
    const before = heapAfterCollection();
    await batch(400);
    // A server that stays is about 20 kB with its schemas: 400 of them would be 8 MB.
    expect(heapAfterCollection() - before).toBeLessThan(3_000_000);
  });

  it('of a tool that is not there, or with a key for a method, repeats neither', async () => {
    const { call } = serving(async () => ({}));
    const secret = `0x${'ab'.repeat(32)}`;
    for (const [method, params] of [
      ['tools/call', { name: secret, arguments: {} }],
      [secret, {}],
    ] as const) {
      const text = await (await call(era, method, params)).text();
      expect(JSON.parse(text)).toMatchObject({ id: 7, error: { code: expect.any(Number) } });
      expect(text).not.toContain('abab');
    }
  });
});
