import { encodeFunctionResult, multicall3Abi, numberToHex, RpcRequestError } from 'viem';
import { expect, test } from 'vitest';
import { addressOf } from '../firewall/fixture.ts';
import { createGasExtras } from './gas-extra.ts';
import { createSimulator } from './simulate.ts';

const word = (value: bigint) => ({
  success: true,
  returnData: numberToHex(value, { size: 32 }),
});

const noSuchMethod = (): Error =>
  new RpcRequestError({ body: {}, url: '', error: { code: -32_601, message: 'none' } });

test('where a node cannot run calls together no more are asked at once than are allowed', async () => {
  let open = 0;
  let peak = 0;
  let asked = 0;
  const request = async ({ method }: { method: string }): Promise<unknown> => {
    asked += 1;
    open += 1;
    peak = Math.max(peak, open);
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
    if (method === 'eth_simulateV1') throw noSuchMethod();
    if (method === 'eth_estimateGas') return numberToHex(1_000_000);
    const result = [word(0n), word(5n), word(5n)];
    return encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result });
  };
  const simulator = createSimulator({
    client: { request } as never,
    usdg: addressOf(7),
    multicall3: addressOf(8),
    timeoutMs: 1_000,
    extras: createGasExtras({ now: () => 0 }),
    mostTogether: 10,
    atOnce: 3,
    now: () => 0,
  });
  const ours = addressOf(1);
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      simulator.simulate(
        { from: ours, to: addressOf(9), data: numberToHex(index, { size: 4 }) },
        ours,
        () => ({ tag: 'other', text: 'reverted' }),
        { alike: 'fill', together: true },
      ),
    ),
  );
  expect(answers.every((answer) => answer.tag === 'passed' && answer.gainUsdg === 5n)).toBe(true);
  expect(asked).toBeGreaterThanOrEqual(60);
  // A simulation and its estimate each.
  expect(peak).toBeLessThanOrEqual(6);
});
