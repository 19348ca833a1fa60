import { describe, expect, it } from 'vitest';
import { openStore } from '../store/store.ts';
import { mapError } from './error-mapper.ts';

function coded(code: string): Error {
  return Object.assign(new Error('of the store'), { code });
}

describe('faults of the store', () => {
  it.each([
    ...['ECONNREFUSED', 'ECONNRESET', '57P01', '57P03', '08006', '57014'].map(coded),
    coded('SQLITE_BUSY'),
    new Error('Client has encountered a connection error and is not queryable'),
    new Error('Connection terminated unexpectedly'),
    new Error('timeout exceeded when trying to connect'),
    new Error('a round failed', { cause: coded('ECONNREFUSED') }),
  ])('%s is UPSTREAM, to be retried, and says nothing of its inside', (error) => {
    const mapped = mapError(error);
    expect([mapped.code, mapped.status, mapped.retryable]).toEqual(['UPSTREAM', 502, true]);
    expect(mapped.message).toBe('the store cannot be reached now: retry');
  });

  it('of a real server that is not there are too', async () => {
    const refused: unknown = await openStore({
      url: 'postgres://nobody@127.0.0.1:1/none',
      migrations: {},
    }).catch((error: unknown) => error);
    expect(mapError(refused).code).toBe('UPSTREAM');
  });

  it.each([coded('23505'), coded('42P01'), coded('SQLITE_CONSTRAINT'), new Error('terminated')])(
    'that are our own stay SERVER: %s',
    (error) => {
      expect(mapError(error).code).toBe('SERVER');
    },
  );
});
