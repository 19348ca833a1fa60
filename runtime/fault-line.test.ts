import { createPublicClient, http } from 'viem';
import { describe, expect, it } from 'vitest';
import { faultLine } from './fault-line.ts';
import { createLogger } from './logger.ts';

const URL_WITH_KEY = 'http://user:pw@127.0.0.1:1/v2/SECRETKEY123?apikey=TOPSECRET';
const SECRETS = /SECRETKEY123|TOPSECRET|user:pw/;

/** What viem throws where nobody listens. */
async function viemFault(): Promise<Error> {
  const client = createPublicClient({ transport: http(URL_WITH_KEY, { retryCount: 0 }) });
  const fault: unknown = await client.getBlockNumber().catch((error: unknown) => error);
  if (!(fault instanceof Error)) throw new Error('somebody listens on port 1');
  return fault;
}

describe('the line of a fault', () => {
  it('holds nothing of the RPC URL beyond scheme and host', async () => {
    const fault = await viemFault();
    expect(fault.message).toMatch(SECRETS);
    expect(faultLine(fault)).toBe('HTTP request failed.');
    const wrapped = new Error(`the marks failed: ${fault.message}`);
    expect(faultLine(wrapped)).toBe('the marks failed: HTTP request failed.');
    expect(faultLine(new TypeError(`Failed to parse URL from ${URL_WITH_KEY}`))).toBe(
      'Failed to parse URL from http://127.0.0.1:1',
    );
  });

  it('is one printable line, without 32 bytes of hex, and never empty', () => {
    expect(faultLine(new Error(`\nkey 0x${'ab'.repeat(32)}\u001b[31m!\nmore`))).toBe(
      'key [32 bytes] [31m!',
    );
    expect(faultLine(new RangeError(''))).toBe('RangeError');
    expect(faultLine('text')).toBe('unknown fault');
    expect(faultLine(new Error('x'.repeat(1_000)))).toHaveLength(300);
  });
});

describe('a logged error', () => {
  it('tells no URL beyond scheme and host, whoever wrote it into the message', async () => {
    const lines: string[] = [];
    const logger = createLogger('test', 'info', { write: (line) => void lines.push(line) });
    const fault = await viemFault();
    logger.error({ err: fault }, 'failed');
    logger.error({ err: new Error(`the marks failed: ${fault.message}`) }, 'failed');
    logger.error({ err: new Error(`no store at postgres://user:pw@db/x`) }, 'failed');
    expect(lines).toHaveLength(3);
    expect(lines.join('')).not.toMatch(SECRETS);
    expect(lines[2]).toContain('postgres://db');
  });
});
