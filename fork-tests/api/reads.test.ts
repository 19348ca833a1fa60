import { describe, expect, test } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork);

describe('marks', () => {
  test('look', async () => {
    const m = await api.until(
      '/v1/markets?pretty=1',
      (a) => a.text.includes('"buyCostBps"') && !/MAG7[\s\S]{0,200}buyCostBps": null/.test(a.text),
    );
    console.error(m.text);
    const b = await api.get('/v1/baskets/PREIPO?pretty=1');
    console.error(b.text);
    const buy = await api.post('/v1/tx/buy', {
      ticker: 'MAG7',
      amountUsdg: 1000,
      address: fork.accounts.alice.account.address,
    });
    console.error(buy.text.slice(0, 300), buy.text.slice(-900));
    expect(m.status).toBe(200);
  });
});
