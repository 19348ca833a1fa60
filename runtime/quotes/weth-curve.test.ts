import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { curveOf, type Scene, sceneOf, type TestPool } from './pool-fixture.ts';

/** Legs in thousandths of all the WETH that goes through the pool. */
const legs = fc.array(fc.bigInt({ min: 1n, max: 330n }), { minLength: 1, maxLength: 8 });
const RUNS = { numRuns: 150 };

async function wethOf({ pool, usdgFirst, usdg }: Scene): Promise<bigint> {
  return (await pool.exactInput(usdgFirst, usdg))?.amount ?? 0n;
}

/** Buys leg after leg what the curve says; `judge` sees what was paid, and where the pool stood. */
async function buyAll(
  scene: Scene,
  thousandths: readonly bigint[],
  judge: (paid: bigint, weth: bigint, got: bigint, before: TestPool) => Promise<void> | void,
): Promise<void> {
  const curve = await curveOf(scene, 'buy');
  const all = await wethOf(scene);
  let [pool, spent] = [scene.pool, 0n];
  for (const thousandth of thousandths) {
    const weth = (all * thousandth) / 1_000n;
    const paid = curve.costAfter(spent, weth);
    // More than was quoted is more than the budget.
    if (paid === null) break;
    const swapped = await pool.exactInput(scene.usdgFirst, paid);
    if (swapped === null) throw new Error('the pool does not take what the curve says');
    await judge(paid, weth, swapped.amount, pool);
    spent += paid;
    pool = swapped.after;
  }
}

async function sellAll(scene: Scene, thousandths: readonly bigint[]): Promise<bigint[]> {
  const curve = await curveOf(scene, 'sell');
  const all = await wethOf(scene);
  let [pool, brought] = [scene.pool, 0n];
  const short: bigint[] = [];
  for (const thousandth of thousandths) {
    const weth = (all * thousandth) / 1_000n;
    if (weth === 0n) continue;
    // Beyond what was quoted a sale yields nothing.
    if (brought + weth > (all * 12n) / 10n) break;
    const yielded = curve.yieldAfter(brought, weth);
    const swapped = await pool.exactInput(!scene.usdgFirst, weth);
    if (yielded === null || swapped === null) break;
    short.push(swapped.amount - yielded);
    brought += weth;
    pool = swapped.after;
  }
  return short;
}

describe('legs that share a pool', () => {
  it('get what they pay for, whatever liquidity lies on the way', async () => {
    await fc.assert(
      fc.asyncProperty(sceneOf(5), legs, async (scene, thousandths) => {
        await buyAll(scene, thousandths, (_paid, weth, got) => {
          expect(got).toBeGreaterThanOrEqual(weth);
        });
      }),
      RUNS,
    );
  });

  it('pay what the pool asks one after another, within one range of liquidity', async () => {
    await fc.assert(
      fc.asyncProperty(sceneOf(0), legs, async (scene, thousandths) => {
        await buyAll(scene, thousandths, async (paid, weth, _got, before) => {
          const exact = await before.exactOutput(scene.usdgFirst, weth);
          // A word of the bitmap may end within the swap, or several in the finest pool.
          expect(Number(paid - (exact?.amount ?? 0n))).toBeLessThanOrEqual(30);
        });
      }),
      RUNS,
    );
  });

  it('yield together what they say, whatever liquidity lies on the way', async () => {
    await fc.assert(
      fc.asyncProperty(sceneOf(5), legs, async (scene, thousandths) => {
        const short = await sellAll(scene, thousandths);
        expect(short.reduce((sum, each) => sum + each, 0n)).toBeGreaterThanOrEqual(0n);
      }),
      RUNS,
    );
  });

  it('yield what the pool gives one after another, within one range of liquidity', async () => {
    await fc.assert(
      fc.asyncProperty(sceneOf(0), legs, async (scene, thousandths) => {
        for (const short of await sellAll(scene, thousandths)) {
          expect(Number(short)).toBeLessThanOrEqual(30);
        }
      }),
      RUNS,
    );
  });

  it('lose little where liquidity changes on the way', async () => {
    await fc.assert(
      fc.asyncProperty(sceneOf(5), legs, async (scene, thousandths) => {
        let [paidFor, got] = [0n, 0n];
        await buyAll(scene, thousandths, (_paid, weth, received) => {
          paidFor += weth;
          got += received;
        });
        // Trades of up to 6% of the depth, with liquidity up to 20 times as thick in places.
        expect(Number(got - paidFor)).toBeLessThanOrEqual(Number(got) * 0.01 + 1e12);
      }),
      RUNS,
    );
  });
});
