import { describe, expect, it } from 'vitest';
import { redactSecrets, redactUrl } from './logger.ts';

describe('redaction', () => {
  it('removes 32 bytes of hex wherever they stand', () => {
    const key = 'ab'.repeat(32);
    expect(redactSecrets(`/v1/wallet/0x${key}?x=${key}`)).toBe(
      '/v1/wallet/[32 bytes]?x=[32 bytes]',
    );
    expect(redactSecrets('/v1/wallet/0x1111111111111111111111111111111111111111')).toContain(
      '0x1111',
    );
  });

  it('keeps no path or credentials of an RPC URL', () => {
    expect(redactUrl('https://user:pw@rpc.example/v2/KEY?x=1')).toBe('https://rpc.example');
    expect(redactUrl('not a url')).toBe('[url]');
  });
});
