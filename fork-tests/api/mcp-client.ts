/** Clients of the MCP endpoint, of both protocol eras. */
import { request as httpRequest } from 'node:http';
import {
  Client as CurrentClient,
  StreamableHTTPClientTransport as CurrentTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

export const CURRENT_VERSION = '2026-07-28';

export type ToolAnswer = {
  content: { type: string; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
};

type ListedTool = { name: string; outputSchema?: Record<string, unknown> };

export type McpClient = {
  list: () => Promise<ListedTool[]>;
  /** Fails on an answer that its tool's output schema does not allow. */
  call: (name: string, input?: Record<string, unknown>) => Promise<ToolAnswer>;
  close: () => Promise<void>;
};

/** Listing loads the output schemas that a client checks answers against. */
async function listed(client: Client | CurrentClient): Promise<McpClient> {
  await client.listTools();
  return {
    list: async () => (await client.listTools()).tools as ListedTool[],
    call: async (name, input = {}) =>
      (await client.callTool({ name, arguments: input })) as ToolAnswer,
    close: () => client.close(),
  };
}

/** The SDK's client of the protocol up to 2025-11-25. */
export async function legacyClient(url: string): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  return await listed(client);
}

/** The SDK's client of the protocol of 2026-07-28. */
export async function currentClient(url: string): Promise<McpClient> {
  const client = new CurrentClient(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: CURRENT_VERSION } } },
  );
  await client.connect(new CurrentTransport(new URL(`${url}/mcp`)));
  return await listed(client);
}

/** A request of 2026-07-28: its envelope, and the headers that repeat it. */
export function currentMessage(
  method: string,
  params: Record<string, unknown> = {},
): { body: object; headers: Record<string, string> } {
  const name = typeof params.name === 'string' ? { 'mcp-name': params.name } : {};
  return {
    headers: { 'mcp-protocol-version': CURRENT_VERSION, 'mcp-method': method, ...name },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': CURRENT_VERSION,
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
  };
}

export type Exchange = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json: Record<string, unknown>;
};

/** One request as it stands: with headers that fetch would add or refuse to send (Host, Accept). */
export function send(
  url: string,
  method: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Exchange> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      `${url}/mcp`,
      {
        method,
        headers: text === undefined ? headers : { 'content-type': 'application/json', ...headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          const answer = Buffer.concat(chunks).toString('utf8');
          const isJson = response.headers['content-type']?.includes('json') === true;
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: answer,
            json: isJson && answer !== '' ? (JSON.parse(answer) as Record<string, unknown>) : {},
          });
        });
      },
    );
    sent.once('error', reject);
    sent.end(text);
  });
}

export const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  send(url, 'POST', body, headers);
