import { describe, expect, it } from 'vitest';
import { loadConfig } from '../runtime/config.ts';
import { keeperOptions } from './config.ts';

describe('settings of the keeper', () => {
  it.each([
    [
      'a query, which would swallow the path of the jobs',
      'https://x.example/b?a=1',
      'without query',
    ],
    ['a fragment', 'https://x.example/#jobs', 'fragment'],
    ['a password, which fetch refuses', 'https://u:hunter2@x.example', 'without name and password'],
  ])('take no API with %s', (_, url, why) => {
    for (const given of [url, `http://127.0.0.1:8080,${url}`]) {
      const load = () => loadConfig(keeperOptions, { API_URLS: given });
      expect(load).toThrow(why);
      expect(load).not.toThrow(/hunter2/);
    }
  });

  it('take at least one API', () => {
    expect(() => loadConfig(keeperOptions, { API_URLS: ' , ' })).toThrow('at least one URL');
  });

  it('take APIs behind a path', () => {
    const { API_URLS } = loadConfig(keeperOptions, {
      API_URLS: 'https://a.example/basket/, http://b:1',
    });
    expect(API_URLS).toEqual(['https://a.example/basket', 'http://b:1']);
  });
});
