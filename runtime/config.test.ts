import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  booleanOption,
  chainOptions,
  ConfigError,
  decimalOption,
  intOption,
  loadConfig,
  option,
  portOption,
  renderEnvExample,
  urlListOption,
} from './config.ts';

const schema = z.object({
  API_PORT: option(portOption.default(8080), { description: 'Port.', example: '8080' }),
  RPC_URLS: option(urlListOption, { description: 'RPC.', example: 'http://127.0.0.1:8545' }),
  KEY: option(
    z
      .string()
      .regex(/^0x[0-9a-f]{64}$/, 'expected a private key')
      .optional(),
    {
      description: 'Key.',
      example: '0x…',
      secret: true,
    },
  ),
  MARGIN: option(decimalOption(0, 10).default(1.5), { description: 'Margin.', example: '1.5' }),
  ON: option(booleanOption.default(true), { description: 'On.', example: 'true' }),
});

describe('configuration', () => {
  it('gives typed values and defaults, frozen', () => {
    const config = loadConfig(schema, { RPC_URLS: 'http://a:1/, https://b/x', API_PORT: '' });
    expect(config).toEqual({
      API_PORT: 8080,
      RPC_URLS: ['http://a:1', 'https://b/x'],
      MARGIN: 1.5,
      ON: true,
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('names every wrong variable, what was wrong and an example', () => {
    const load = () => loadConfig(schema, { API_PORT: '80a', MARGIN: '11', ON: 'yes' });
    expect(load).toThrow(ConfigError);
    expect(load).toThrow(/API_PORT is "80a": expected a whole number.*API_PORT=8080/);
    expect(load).toThrow(/RPC_URLS is not set/);
    expect(load).toThrow(/MARGIN is "11"/);
    expect(load).toThrow(/ON is "yes": expected true or false/);
  });

  it('never repeats the value of a secret', () => {
    const load = () => loadConfig(schema, { RPC_URLS: 'http://a', KEY: 'hunter2' });
    expect(load).toThrow(/KEY is set: expected a private key/);
    expect(load).not.toThrow(/hunter2/);
    // A provider's key stands in an RPC URL.
    const urls = () =>
      loadConfig(chainOptions, { RPC_URLS: 'http://a/v2/hunter2,wss://b/hunter2' });
    expect(urls).toThrow(/RPC_URLS is set: expected an http/);
    expect(urls).not.toThrow(/hunter2/);
  });

  it('bounds numbers and refuses what is no number', () => {
    const port = z.object({ N: option(intOption(1, 5), { description: '', example: '3' }) });
    for (const N of ['0', '6', '1.5', '', ' 3', '3e0', 'NaN']) {
      expect(() => loadConfig(port, { N })).toThrow(ConfigError);
    }
    expect(loadConfig(port, { N: '5' }).N).toBe(5);
  });

  it('renders a group of .env.example', () => {
    expect(renderEnvExample('api', schema)).toContain('# Port.\n#API_PORT=8080\n');
  });
});
