/** Settings of the api, from the environment. */
import { z } from 'zod';
import {
  baseUrlOption,
  chainOptions,
  intOption,
  listOption,
  logOptions,
  option,
  publicUrlOption,
  storeOptions,
} from '../runtime/config.ts';
import { httpOptions, portOption } from '../runtime/http/server.ts';

/** A name, an IPv4 or an IPv6 address. */
const HOSTNAME = /^(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[?[0-9a-fA-F:]+\]?)$/;

/** Sessions tell the page who asks whom in the query of this address. */
const approvalUrlOption = publicUrlOption
  .refine((url) => !url.includes('#'), 'expected a URL without fragment (#)')
  .refine((url) => {
    const { searchParams } = new URL(url);
    return !searchParams.has('owner') && !searchParams.has('key');
  }, 'expected a URL without owner and key in its query: each session puts its own there');

export const apiOptions = z.object({
  ...logOptions.shape,
  ...chainOptions.shape,
  ...storeOptions.shape,
  ...httpOptions.shape,
  API_PORT: option(portOption.default(8080), { description: 'Port of the api.', example: '8080' }),
  PUBLIC_BASE_URL: option(baseUrlOption.default('http://127.0.0.1:8080'), {
    description: 'Address of the api as clients see it; every URL it returns is built from it.',
    example: 'https://api.example.org',
  }),
  RELAYER_URL: option(baseUrlOption.default('http://127.0.0.1:8081'), {
    description: 'Address of the relayer as clients see it, without a path.',
    example: 'https://relay.example.org',
  }),
  APPROVAL_URL: option(approvalUrlOption.optional(), {
    description:
      "Address of the owner's approval page as clients see it; absent: the page that the api serves, /approve under PUBLIC_BASE_URL.",
    example: 'https://app.example.org/approve',
  }),
  CHAIN_RPC_PUBLIC: option(publicUrlOption.optional(), {
    description:
      'RPC address that the root document names to clients; absent: the origin of the first of RPC_URLS.',
    example: 'https://rpc.example.org',
  }),
  CHAIN_EXPLORER: option(baseUrlOption.default('https://robinhoodchain.blockscout.com'), {
    description: 'Block explorer that the root document names.',
    example: 'https://explorer.example.org',
  }),
  MCP_TOOL_PREFIX: option(
    z
      .string()
      .regex(/^[A-Za-z0-9_-]{0,32}$/, 'expected at most 32 letters, digits, _ and -')
      .default('basket_'),
    { description: 'What the names of all MCP tools begin with.', example: 'basket_' },
  ),
  MCP_ALLOWED_HOSTS: option(
    listOption(
      z.string().regex(HOSTNAME, 'expected hostnames without scheme, port or path'),
    ).default([]),
    {
      description:
        'Comma-separated hostnames that requests to /mcp may name in Host, and whose pages may call it, beside that of PUBLIC_BASE_URL, the address listened on and this machine itself.',
      example: 'mcp.example.org,inspector.example.org',
    },
  ),
  MARKS_INTERVAL_MS: option(intOption(50, 60_000).default(1_000), {
    description:
      'How often the marks of all baskets are read, in milliseconds. Below 1000 it is how often the head is looked at: they are read when it is another one, and once a second.',
    example: '1000',
  }),
  MARKS_STALE_AFTER_MS: option(intOption(500, 3_600_000).default(15_000), {
    description:
      'Without an answer or a new block for this long the marks are not live and /ready says so.',
    example: '15000',
  }),
  READ_BUDGET_MS: option(intOption(100, 120_000).default(3_000), {
    description:
      'Longest that a read takes, in milliseconds, whatever hangs behind it: then 502, and marks older than this are not live while the chain does not answer. Jobs and payouts have deadlines of their own.',
    example: '3000',
  }),
  BUILD_BUDGET_MS: option(intOption(100, 120_000).default(8_000), {
    description:
      'The same for all that quotes: builds of transactions and of agent trades, and sell routes, over HTTP and MCP alike.',
    example: '8000',
  }),
  COST_INTERVAL_MS: option(intOption(500, 3_600_000).default(30_000), {
    description: 'In how many milliseconds the buy cost of every basket is measured once.',
    example: '30000',
  }),
  CATALOG_INTERVAL_MS: option(intOption(1_000, 86_400_000).default(300_000), {
    description: 'How often baskets, texts and pools are read again, in milliseconds.',
    example: '300000',
  }),
  INDEX_INTERVAL_MS: option(intOption(50, 60_000).default(1_000), {
    description: 'How often new logs are read, in milliseconds.',
    example: '1000',
  }),
  INDEX_MAX_RANGE: option(intOption(1, 1_000_000).default(10_000), {
    description: 'Most blocks asked for in one getLogs; shrinks by itself where the node refuses.',
    example: '10000',
  }),
  INDEX_OVERLAP_BLOCKS: option(intOption(0, 2_000).default(50), {
    description:
      'By so many blocks a node may lag: the newest are read again. To lower it from above 50, begin with an empty database.',
    example: '50',
  }),
});

export type ApiConfig = Readonly<z.infer<typeof apiOptions>>;
