/** Each RPC endpoint by itself, not through the client that hides one's trouble behind another. */
import type { Address } from 'viem';
import { z } from 'zod';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { faultLine } from '../fault-line.ts';
import { fail, type Finding, hostOf, ok, warn } from './finding.ts';

export type RpcReport = {
  url: string;
  about: string;
  /** Whether it has the contract that was asked for. */
  hasContract: boolean;
  /** Null where it is of no use. */
  head: { number: bigint; seconds: bigint; baseFee: bigint | null } | null;
  /** By the Date header of its answer; null without one. */
  clock: ClockReading | null;
  findings: Finding[];
};

/** What another machine's clock said, and ours in the middle of the asking: unix ms. */
export type ClockReading = { theirsMs: number; oursMs: number };

const answerSchema = z.array(
  z.object({ id: z.int(), result: z.unknown(), error: z.object({ code: z.number() }).optional() }),
);
const hex = z.string().regex(/^0x[0-9a-f]{1,64}$/i);
const blockSchema = z.object({ number: hex, timestamp: hex, baseFeePerGas: hex.optional() });

/** A call that any node can run: nobody pays nothing to nobody. */
const NOTHING = {
  from: '0x00000000000000000000000000000000000000aa',
  to: '0x00000000000000000000000000000000000000bb',
};
const callsFor = (contract: Address | null) =>
  [
    ['eth_chainId', []],
    ['eth_getBlockByNumber', ['latest', false]],
    ['eth_estimateGas', [NOTHING]],
    ['eth_simulateV1', [{ blockStateCalls: [{ calls: [NOTHING] }], validation: false }, 'latest']],
    ...(contract === null ? [] : [['eth_getCode', [contract, 'latest']] as const]),
  ] as const;

/** The Date header of a response beside our clock, or null. */
export function clockOf(response: Response, startedMs: number): ClockReading | null {
  const theirsMs = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(theirsMs)) return null;
  return { theirsMs, oursMs: (startedMs + Date.now()) / 2 };
}

/** @throws when it does not answer as JSON-RPC in time */
async function ask(
  url: string,
  calls: ReturnType<typeof callsFor>,
  timeoutMs: number,
): Promise<{ results: readonly unknown[]; clock: ClockReading | null }> {
  const startedMs = Date.now();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(
      calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params })),
    ),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const clock = clockOf(response, startedMs);
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const parsed = answerSchema.safeParse(await response.json());
  if (!parsed.success) throw new Error('its answer is no JSON-RPC batch');
  const results = calls.map((_, id) => {
    const answer = parsed.data.find((one) => one.id === id);
    return answer === undefined || answer.error !== undefined ? null : (answer.result ?? null);
  });
  return { results, clock };
}

/** @param contract of the deployment, which has code on its chain; null where there is no deployment file */
export async function checkRpc(
  url: string,
  index: number,
  contract: Address | null,
  timeoutMs: number,
  maxAgeMs: number,
): Promise<RpcReport> {
  const about = `rpc ${index + 1}`;
  const useless = (says: string, fix: string, clock: ClockReading | null = null): RpcReport => ({
    url,
    about,
    hasContract: false,
    head: null,
    clock,
    findings: [fail(about, `${hostOf(url)}: ${says}`, fix)],
  });
  let asked: Awaited<ReturnType<typeof ask>>;
  try {
    asked = await ask(url, callsFor(contract), timeoutMs);
  } catch (error) {
    return useless(reasonOf(error), 'check RPC_URLS, the network and the provider');
  }
  const { results, clock } = asked;
  const [chainId, rawBlock, gas, simulated, code] = results;
  if (typeof chainId !== 'string' || Number(chainId) !== CHAIN_ID) {
    const says = typeof chainId === 'string' ? `it serves chain ${Number(chainId)}` : 'no chain id';
    return useless(says, `RPC_URLS must serve chain ${CHAIN_ID}`, clock);
  }
  const block = blockSchema.safeParse(rawBlock);
  if (!block.success) return useless('it tells no head', 'ask the provider', clock);
  const head = {
    number: BigInt(block.data.number),
    seconds: BigInt(block.data.timestamp),
    baseFee: block.data.baseFeePerGas === undefined ? null : BigInt(block.data.baseFeePerGas),
  };
  const ageMs = Date.now() - Number(head.seconds) * 1_000;
  const says = `${hostOf(url)}: chain ${CHAIN_ID}, head ${head.number}, ${Math.round(ageMs / 1_000)} s old`;
  const findings: Finding[] = [];
  if (ageMs > maxAgeMs) {
    const fix = 'it lags or the chain stands still (or this clock is fast): compare with others';
    findings.push(warn(about, says, fix));
  } else if (ageMs < -5_000) {
    findings.push(warn(about, says, 'its head lies ahead of this clock: see the clock'));
  } else findings.push(ok(about, says));
  if (gas === null) {
    const fix = 'the sender cannot estimate gas there: use another endpoint';
    findings.push(fail(about, 'no eth_estimateGas', fix));
  }
  if (simulated === null) {
    const fix = 'jobs are simulated through Multicall3 instead, and foreign jobs not at all';
    findings.push(warn(about, 'no eth_simulateV1', fix));
  }
  const hasContract = typeof code === 'string' && code !== '0x';
  return { url, about, hasContract, head, clock, findings };
}

/**
 * Leaves out what serves the chain id and has no contract of the deployment, where another endpoint has it: nothing that
 * it says is about our chain. Where none has it, the deployment's own check says more.
 */
export function withoutStrangers(reports: readonly RpcReport[]): RpcReport[] {
  const someHave = reports.some(({ hasContract }) => hasContract);
  return reports.map((report) => {
    const { about, url, head, hasContract } = report;
    if (hasContract || head === null || !someHave) return report;
    const says = `${hostOf(url)}: chain ${CHAIN_ID}, but no contract of DEPLOYMENT_FILE, which others have`;
    const fix = 'it is behind or serves another chain, and is not used: take it out of RPC_URLS';
    return { ...report, head: null, findings: [fail(about, says, fix)] };
  });
}

const FAR_BEHIND_SECONDS = 10n;

/** Endpoints that lag behind the best of them. */
export function lagFindings(reports: readonly RpcReport[]): Finding[] {
  const best = reports.reduce(
    (most, { head }) => (head !== null && head.seconds > most ? head.seconds : most),
    0n,
  );
  return reports.flatMap(({ about, head }) => {
    if (head === null || best - head.seconds < FAR_BEHIND_SECONDS) return [];
    const says = `${best - head.seconds} s behind the best endpoint`;
    return [warn(about, says, 'put it last in RPC_URLS or leave it out')];
  });
}

const SKEW_WARN_MS = 5_000;
const SKEW_FAIL_MS = 60_000;

/** This machine's clock against those that answered: the median of them. */
export function clockFinding(readings: readonly ClockReading[]): Finding {
  const skews = readings.map(({ theirsMs, oursMs }) => oursMs - theirsMs).toSorted((a, b) => a - b);
  const skew = skews[Math.floor(skews.length / 2)];
  if (skew === undefined) {
    return warn('clock', 'nobody answered with a Date', 'compare this clock by hand');
  }
  // A Date header knows no milliseconds.
  const size = Math.max(0, Math.abs(skew) - 1_000);
  const words = `${Math.round(Math.abs(skew) / 1_000)} s ${skew > 0 ? 'ahead of' : 'behind'} ${skews.length} others`;
  const fix = 'switch NTP on: time limits and daily bounds go by this clock';
  if (size > SKEW_FAIL_MS) return fail('clock', words, fix);
  if (size > SKEW_WARN_MS) return warn('clock', words, fix);
  return ok('clock', words);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault';
  if (error.name === 'TimeoutError') return 'it does not answer in time';
  if (error instanceof SyntaxError) return 'its answer is not JSON';
  const code = (error.cause as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : faultLine(error);
}
