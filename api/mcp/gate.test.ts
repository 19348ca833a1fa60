import { describe, expect, it } from 'vitest';
import { allowedHostnames } from './gate.ts';

describe('hosts that may be named', () => {
  it.each([
    ['https://api.example.org/base', '127.0.0.1', [], ['api.example.org']],
    ['http://127.0.0.1:8080', '0.0.0.0', [], []],
    ['http://127.0.0.1:8080', '::', [], []],
    ['http://127.0.0.1:8080', '10.1.2.3', [], ['10.1.2.3']],
    ['http://127.0.0.1:8080', 'fd00::1', [], ['[fd00::1]']],
    [
      'http://127.0.0.1:8080',
      '127.0.0.1',
      ['MCP.Example.org', 'fd00::2'],
      ['mcp.example.org', '[fd00::2]'],
    ],
  ])('of %s on %s with %j are this machine and %j', (publicUrl, listenHost, added, more) => {
    expect(allowedHostnames({ publicUrl, listenHost, added })).toEqual([
      'localhost',
      '127.0.0.1',
      '[::1]',
      ...more,
    ]);
  });
});
