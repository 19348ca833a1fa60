/** What a caller hands in, checked, and how two of them compare. */
import { getAddress } from 'viem/utils';
import type { Intent } from './types.ts';

/**
 * The intent with its address checksummed.
 * @throws TypeError for a caller's mistake; nothing is written then.
 */
export function checkedIntent(intent: Intent): Intent {
  const { key, kind, to, data, value, gas, from } = intent;
  if (key === '' || key.length > 300 || kind === '') throw new TypeError('an intent needs a key');
  if (!/^0x[0-9a-fA-F]{40}$/.test(to)) throw new TypeError(`intent ${key}: "to" is no address`);
  if (!/^0x([0-9a-fA-F]{2})*$/.test(data)) {
    throw new TypeError(`intent ${key}: "data" is not bytes`);
  }
  if (value < 0n || (gas !== undefined && gas <= 0n)) {
    throw new TypeError(`intent ${key}: an amount is out of range`);
  }
  if (from !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(from)) {
    throw new TypeError(`intent ${key}: "from" is no address`);
  }
  return {
    ...intent,
    to: getAddress(to.toLowerCase()),
    ...(from === undefined ? {} : { from: getAddress(from.toLowerCase()) }),
  };
}

/** Whether both would do the same on the chain. */
export function sameTerms(a: Intent, b: Intent): boolean {
  return (
    a.to.toLowerCase() === b.to.toLowerCase() &&
    a.data.toLowerCase() === b.data.toLowerCase() &&
    a.value === b.value &&
    a.from?.toLowerCase() === b.from?.toLowerCase()
  );
}
