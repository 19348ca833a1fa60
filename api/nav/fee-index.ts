/** The management fee as a closed form of time, digit by digit as FeeIndex.sol computes it. Pure. */
import { BPS, RAY } from '../../contracts-abi/constants.ts';

const YEAR = 31_536_000n;
const ONE = 10n ** 36n;
const MAX_EXPONENT = 4n * ONE;

/** -ln(1 - fee) x 1e36. */
export function feeRatePerYear(feeBps: number): bigint {
  const fee = (BigInt(feeBps) * ONE) / BPS;
  let rate = 0n;
  let power = fee;
  for (let n = 1n; power !== 0n; n += 1n) {
    rate += power / n;
    power = (power * fee) / ONE;
  }
  return rate;
}

/** The index `elapsed` seconds after genesis, x 1e27; RAY at genesis and before it. */
export function feeIndexAt(rate: bigint, elapsed: number): bigint {
  return elapsed <= 0 ? RAY : inverseExp((rate * BigInt(elapsed)) / YEAR);
}

function inverseExp(exponent: bigint): bigint {
  if (exponent > MAX_EXPONENT) {
    const root = inverseExp(exponent / 2n);
    return (root * root) / RAY;
  }
  let term = ONE;
  let sum = ONE;
  for (let n = 1n; term !== 0n; n += 1n) {
    term = (term * exponent) / (ONE * n);
    sum += term;
  }
  return (ONE * RAY + sum / 2n) / sum;
}
