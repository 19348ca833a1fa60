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
});
