/** NAV history against the oracle itself, and that nothing but the chain decides its rows. */
import { describe, expect, test } from 'vitest';
import { navOracleAbi, uniswapV3PoolAbi } from '../../contracts-abi/generated/index.ts';
import { useFork } from '../harness/fork.ts';
import { openNavScene, minutesOf } from './nav-scene.ts';

const fork = useFork();

/** One against USDG alone, one with constituents through WETH. */
const TICKERS = ['MAG7', 'CRYP'] as const;

async function mineAt(time: number): Promise<void> {
  await fork.client.setNextBlockTimestamp({ timestamp: BigInt(time) });
  await fork.client.mine({ blocks: 1 });
}

type Reading = { block: bigint; time: number; nav: bigint };

/** What the oracle answers at every block of the fork since `from`. */
async function oracleReadings(ticker: string, from: bigint): Promise<Reading[]> {
  const head = await fork.client.getBlockNumber();
  const readings: Reading[] = [];
  for (let blockNumber = from; blockNumber <= head; blockNumber += 1n) {
    const [{ timestamp }, nav] = await Promise.all([
      fork.client.getBlock({ blockNumber }),
      fork.client.readContract({
        address: fork.deployment.oracle,
        abi: navOracleAbi,
        functionName: 'spotNav',
        args: [fork.vault(ticker)],
        blockNumber,
      }),
    ]);
    readings.push({ block: blockNumber, time: Number(timestamp), nav });
  }
  return readings;
}

async function tradedBlocks(fromBlock: bigint): Promise<Set<bigint>> {
  const event = uniswapV3PoolAbi.find((item) => item.type === 'event' && item.name === 'Swap');
  if (event?.type !== 'event') throw new Error('no Swap in the ABI');
  const logs = await fork.client.getLogs({ event, fromBlock });
  return new Set(logs.map(({ blockNumber }) => blockNumber));
}

/** Six minutes: moves of one pool, of several, of WETH, there and back, and two minutes without any. */
async function market(): Promise<{ from: bigint; opens: number; closes: number }> {
  const opens = Math.ceil(((await fork.now()) + 1) / 60) * 60;
  await mineAt(opens);
  const from = await fork.client.getBlockNumber();
  await fork.pushPrice('NVDA', 1.02);
  await fork.pushPrice('NVDA', 0.97);
  await mineAt(opens + 60);
  await fork.pushPrice('WETH', 1.03);
  await fork.pushPrice('TSLA', 0.98);
  await fork.pushPrice('WETH', 0.96);
  await mineAt(opens + 120);
  await mineAt(opens + 180);
  await mineAt(opens + 240);
  await fork.pushPrice('AAPL', 1.01);
  await mineAt(opens + 300);
  await fork.pushPrice('WETH', 1.01);
  const closes = opens + 360;
  await mineAt(closes);
  return { from, opens, closes };
}

describe('NAV history', () => {
  test('is what the oracle said at each block, to the last base unit', async () => {
    const { from, opens, closes } = await market();
    const scene = await openNavScene(fork);
    await scene.sync();
    for (const ticker of TICKERS) {
      const readings = await oracleReadings(ticker, from);
      // The first block of a second is one that was mined for its time alone.
      const at = (time: number) => readings.find((reading) => reading.time === time)?.nav;
      const traded = await tradedBlocks(from);
      const candles = await minutesOf(scene, fork.vault(ticker), closes, 7);
      expect(candles.map(({ t }) => t)).toEqual([0, 1, 2, 3, 4, 5, 6].map((m) => opens + m * 60));
      for (const { t, o, h, l, c } of candles.slice(0, 6)) {
        const inside = readings.filter(({ time }) => time >= t && time < t + 60);
        // Between swaps the fee alone moves the NAV: start, end and every block with a swap are the whole story.
        const telling = inside.filter(({ block }, index) => index === 0 || traded.has(block));
        const navs = [...telling.map(({ nav }) => nav), at(t + 60) ?? 0n];
        expect({ t, c }).toEqual({ t, c: at(t + 60) });
        const most = navs.reduce((a, b) => (a > b ? a : b));
        const least = navs.reduce((a, b) => (a < b ? a : b));
        expect({ t, o }).toEqual({ t, o: at(t) });
        expect({ t, h }).toEqual({ t, h: most });
        // A block with a swap also found a NAV, lower than the block before by the fee since: 2e-8 a minute at most.
        expect(l <= least && least - l < least / 10_000_000n, `${t}: ${l}, ${least}`).toBe(true);
      }
      // A NAV of the past is at the prices that its minute opened with.
      expect(await scene.navs.navAt(fork.vault(ticker), opens + 240)).toBe(at(opens + 240));
      expect(await scene.navs.navAt(fork.vault(ticker), closes)).toBe(at(closes));
    }
    await scene.close();
  });

  test('is the same rows at once, in ranges of eleven blocks, interrupted, and after a reorg', async () => {
    const fresh = await openNavScene(fork);
    const small = await openNavScene(fork, 11);
    await small.sync();
    const snapshot = await fork.client.snapshot();
    await fork.pushPrice('NVDA', 1.05);
    await fork.pushPrice('WETH', 1.05);
    await small.sync();
    const doomed = await small.rows();
    await fork.client.revert({ id: snapshot });
    const { closes } = await market();
    await small.sync();
    await fresh.sync();
    const rows = await fresh.rows();
    expect(rows.spans?.length).toBeGreaterThan(1_000);
    expect(rows.spans).not.toEqual(doomed.spans);
    expect(await small.rows()).toEqual(rows);

    // The process that lost its rows and one that learns of baskets one after the other.
    const late = await openNavScene(fork);
    await late.sync(['MAG7', 'CORE']);
    await late.sync(['MAG7', 'CORE', 'CRYP']);
    await late.sync();
    expect(await late.rows()).toEqual(rows);
    for (const ticker of TICKERS) {
      const vault = fork.vault(ticker);
      const whole = await minutesOf(fresh, vault, closes, 5_000);
      expect(await minutesOf(late, vault, closes, 5_000)).toEqual(whole);
      expect(whole.length).toBeGreaterThan(2_000);
      expect(
        whole.every(({ t }, index) => index === 0 || t === (whole[index - 1]?.t ?? 0) + 60),
      ).toBe(true);
    }
    await Promise.all([fresh.close(), small.close(), late.close()]);
  });
});
