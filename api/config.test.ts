import { describe, expect, it } from 'vitest';
import { loadConfig } from '../runtime/config.ts';
import { apiOptions } from './config.ts';

describe('settings of the api', () => {
  it('takes no base address with a query or a fragment, which would swallow every path', () => {
    for (const url of ['https://x.example/b?a=1', 'https://x.example/#a', 'https://x.example/?']) {
      for (const name of ['PUBLIC_BASE_URL', 'RELAYER_URL']) {
        const load = () =>
          loadConfig(apiOptions, { RPC_URLS: 'http://a', DEPLOYMENT_FILE: 'x', [name]: url });
        expect(load).toThrow(new RegExp(`${name} is .*without query`));
      }
    }
    const { PUBLIC_BASE_URL, APPROVAL_URL } = loadConfig(apiOptions, {
      RPC_URLS: 'http://a',
      PUBLIC_BASE_URL: 'https://x.example/basket/',
      APPROVAL_URL: 'https://x.example/approve?from=agent',
    });
    expect([PUBLIC_BASE_URL, APPROVAL_URL]).toEqual([
      'https://x.example/basket',
      'https://x.example/approve?from=agent',
    ]);
  });

  it.each(['PUBLIC_BASE_URL', 'RELAYER_URL', 'APPROVAL_URL', 'CHAIN_RPC_PUBLIC', 'CHAIN_EXPLORER'])(
    'takes no %s with a name or password in it, which all clients would be told, and repeats neither',
    (name) => {
      for (const userinfo of ['alice:hunter2', ':hunter2', 'hunter2', 'a@hunter2']) {
        const given = { RPC_URLS: 'http://a', [name]: `https://${userinfo}@x.example/basket` };
        const load = () => loadConfig(apiOptions, given);
        expect(load).toThrow(
          new RegExp(`${name} is set: expected a URL without name and password`),
        );
        expect(load).not.toThrow(/hunter2/);
      }
      const other = { RPC_URLS: 'http://a', [name]: 'ftp:alice:hunter2@x.example' };
      expect(() => loadConfig(apiOptions, other)).not.toThrow(/hunter2/);
      expect(() => loadConfig(apiOptions, { RPC_URLS: 'http://a', [name]: 'x' })).toThrow(
        `${name} is "x": expected an http:// or https:// URL`,
      );
    },
  );

  it.each([
    ['?owner=0x1', 'without owner and key'],
    ['?from=agent&key', 'without owner and key'],
    ['#/approve', 'without fragment'],
    ['#', 'without fragment'],
    ['/?a=%23#owner', 'without fragment'],
  ])('takes no address of an approval page that ends with %s', (end, why) => {
    const given = { RPC_URLS: 'http://a', APPROVAL_URL: `https://x.example/approve${end}` };
    expect(() => loadConfig(apiOptions, given)).toThrow(why);
  });
});
