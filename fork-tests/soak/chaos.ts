/** Every kind of fault that an RPC endpoint has been seen to make, one burst after the other. */
import type { Fault, Proxy } from '../proxy/proxy.ts';

type Burst = { name: string; method: string; fault: Fault };

const SEND = 'eth_sendRawTransaction';
const error = (forwarded: boolean): Fault => ({
  fault: 'error',
  code: -32_000,
  message: 'internal error',
  forwarded,
});

export const BURSTS: readonly Burst[] = [
  { name: 'delay', method: '*', fault: { fault: 'delay', ms: 700 } },
  { name: 'drop', method: '*', fault: { fault: 'drop', forwarded: false } },
  { name: 'drop after send', method: SEND, fault: { fault: 'drop', forwarded: true } },
  { name: '429', method: '*', fault: { fault: 'http', status: 429 } },
  { name: '429 on send', method: SEND, fault: { fault: 'http', status: 429 } },
  { name: '503', method: '*', fault: { fault: 'http', status: 503 } },
  { name: 'stale block', method: '*', fault: { fault: 'stale', blocks: 3 } },
  { name: 'error', method: '*', fault: error(false) },
  { name: 'error after send', method: SEND, fault: error(true) },
  {
    name: 'no receipt',
    method: 'eth_getTransactionReceipt',
    fault: { fault: 'result', result: null },
  },
  { name: 'replay of a send', method: SEND, fault: { fault: 'replay', times: 1 } },
  { name: 'hang', method: '*', fault: { fault: 'hang' } },
  {
    name: 'nonsense',
    method: '*',
    fault: { fault: 'rewrite', rewrite: (reply) => ({ ...reply, result: '0x' }) },
  },
];

export type Chaos = {
  /** Calls that each kind of fault met. */
  hits(): Record<string, number>;
  stop(): Promise<void>;
};

/** Bursts in turn with quiet between, each hitting one call in `oneIn`; those of sends are longer and hit every send. */
export function startChaos(
  proxy: Proxy,
  { burstMs = 1_500, sendBurstMs = 5_000, quietMs = 2_000, oneIn = 3, offset = 0 } = {},
): Chaos {
  const hits: Record<string, number> = {};
  const ending = new AbortController();
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        ending.signal.removeEventListener('abort', end);
        resolve();
      }, ms);
      ending.signal.addEventListener('abort', end, { once: true });
      if (ending.signal.aborted) end();
    });
  const run = async (): Promise<void> => {
    for (let turn = offset; !ending.signal.aborted; turn += 1) {
      const burst = BURSTS[turn % BURSTS.length];
      if (burst === undefined) return;
      const { name, method, fault } = burst;
      let seen = 0;
      const where = (): boolean => method === SEND || (seen += 1) % oneIn === 0;
      const rule = proxy.on(method, { where }, fault);
      await pause(method === SEND ? sendBurstMs : burstMs);
      rule.remove();
      hits[name] = (hits[name] ?? 0) + rule.hits;
      await pause(quietMs);
    }
  };
  const running = run();
  return {
    hits: () => ({ ...hits }),
    stop: async () => {
      ending.abort();
      await running;
    },
  };
}
