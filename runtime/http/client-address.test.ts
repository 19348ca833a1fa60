import type { IncomingMessage } from 'node:http';
import express from 'express';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../config.ts';
import { clientAddress, type TrustProxy } from './client-address.ts';
import { httpOptions } from './options.ts';

function requestFrom(peer: string, forwarded?: string): IncomingMessage {
  return {
    socket: { remoteAddress: peer },
    connection: { remoteAddress: peer },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  } as unknown as IncomingMessage;
}

const PROXIES = ['10.0.0.0/8', 'fd00::/8', 'loopback'];

describe('the address of a client', () => {
  it.each<[string, TrustProxy, string, string | undefined, string]>([
    ['nobody is trusted', 0, '203.0.113.7', '198.51.100.1', '203.0.113.7'],
    ['one proxy', 1, '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['one proxy, a forged hop before it', 1, '10.0.0.1', '6.6.6.6, 198.51.100.1', '198.51.100.1'],
    ['two proxies', 2, '10.0.0.1', '6.6.6.6, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['a proxy that sent no header', 1, '10.0.0.1', undefined, '10.0.0.1'],
    ['a trusted range', PROXIES, '10.9.9.9', '198.51.100.1', '198.51.100.1'],
    ['a stranger who forges the header', PROXIES, '203.0.113.7', '10.0.0.1', '203.0.113.7'],
    [
      'a chain of trusted ones',
      PROXIES,
      '127.0.0.1',
      '6.6.6.6, 2001:db8::1, fd00::7, 10.0.0.3',
      '2001:db8::1',
    ],
    ['a mapped peer', PROXIES, '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a proxy that adds the port', 1, '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['an IPv6 client with a port', 1, '10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['no address at all', 1, '10.0.0.1', 'unknown', '10.0.0.1'],
    ['a secret in its place', 1, '10.0.0.1', `0x${'ab'.repeat(32)}`, '10.0.0.1'],
  ])('%s', (_name, trust, peer, forwarded, expected) => {
    expect(clientAddress(trust)(requestFrom(peer, forwarded))).toBe(expected);
  });

  it('is what Express calls request.ip, for any chain of addresses', () => {
    const address = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.constantFrom('10.1.2.3', '127.0.0.1', '::1', 'fd00::1', '::ffff:10.0.0.9'),
    );
    const trust = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(PROXIES));
    fc.assert(
      fc.property(address, fc.array(address, { maxLength: 5 }), trust, (peer, hops, setting) => {
        const app = express();
        app.set('trust proxy', setting);
        const request = requestFrom(peer, hops.length === 0 ? undefined : hops.join(', '));
        const ours = clientAddress(setting)(request);
        // Express reads its own setting from the request's app.
        const theirs = Object.create(app.request, {
          app: { value: app },
          socket: { value: request.socket },
          connection: { value: request.socket },
          headers: { value: request.headers },
        }) as { ip: string };
        expect(ours).toBe(theirs.ip);
      }),
      { numRuns: 500 },
    );
  });
});

describe('HTTP_TRUST_PROXY', () => {
  const read = (text: string) =>
    loadConfig(httpOptions, { HTTP_TRUST_PROXY: text }).HTTP_TRUST_PROXY;

  it('is a number of proxies, or addresses, CIDRs and names of ranges', () => {
    expect(loadConfig(httpOptions, {}).HTTP_TRUST_PROXY).toBe(0);
    expect(read('2')).toBe(2);
    expect(read('10.0.0.0/8, fd00::/8,loopback')).toEqual(['10.0.0.0/8', 'fd00::/8', 'loopback']);
  });

  it.each(['11', '-1', '10.0.0.0/33', '10.0.0.0/0', 'proxy.internal', '10.0.0.1,', 'true'])(
    'refuses %s',
    (text) => {
      expect(() => read(text)).toThrow(ConfigError);
      expect(() => read(text)).toThrow(/HTTP_TRUST_PROXY is .*CIDR/);
    },
  );
});
