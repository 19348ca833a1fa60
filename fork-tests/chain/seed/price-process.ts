/**
 * The seeded price process of the local market. Pure: the same seed and the same steps give the same prices.
 *
 * log(price / start) of a token = beta x market + fair + noise, each an Ornstein-Uhlenbeck process:
 *   market  half-life 8 h,    spread 2%    common to all
 *   fair    half-life 24 h,   spread 4%    the slowly drifting fair value
 *   noise   half-life 20 min, spread 0.8%  what a chart shows and what makes triggers cross
 * A 200 s window moves by about 0.5% (one standard deviation), far from the 600 ticks (6%) at which a reference is no
 * longer calm (rule 1). The sum is clamped to plus or minus 30%.
 */

type Process = { theta: number; sigma: number };

const MARKET = process(8 * 3_600, 0.02);
const FAIR = process(24 * 3_600, 0.04);
const NOISE = process(20 * 60, 0.008);
const BOUND = 0.3;

export type Quoted = { symbol: string; price: number; beta: number };

export type PriceProcess = {
  /** Advances by so many seconds and returns dollars per whole token, by symbol. */
  step(seconds: number): Map<string, number>;
};

/** `start` fixes the order in which randomness is drawn: keep it the same between runs. */
export function createPriceProcess(seed: number, start: readonly Quoted[]): PriceProcess {
  const normal = gaussian(mulberry32(seed));
  let market = 0;
  const states = start.map((quoted) => ({ ...quoted, fair: 0, noise: 0 }));
  return {
    step(seconds) {
      market = advance(MARKET, market, seconds, normal());
      const prices = new Map<string, number>();
      for (const state of states) {
        state.fair = advance(FAIR, state.fair, seconds, normal());
        state.noise = advance(NOISE, state.noise, seconds, normal());
        const log = state.beta * market + state.fair + state.noise;
        prices.set(state.symbol, state.price * Math.exp(Math.max(-BOUND, Math.min(BOUND, log))));
      }
      return prices;
    },
  };
}

/** Exact transition of the process over any step, so that coarse and fine steps have one distribution. */
function advance({ theta, sigma }: Process, x: number, seconds: number, normal: number): number {
  const decay = Math.exp(-theta * seconds);
  return x * decay + sigma * Math.sqrt((1 - decay * decay) / (2 * theta)) * normal;
}

function process(halfLifeSeconds: number, spread: number): Process {
  const theta = Math.LN2 / halfLifeSeconds;
  return { theta, sigma: spread * Math.sqrt(2 * theta) };
}

/** A 32-bit generator, uniform in [0, 1): small, fast and good enough for prices. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function gaussian(uniform: () => number): () => number {
  return () => {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    return radius * Math.cos(2 * Math.PI * uniform());
  };
}
