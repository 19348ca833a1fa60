/** Amounts and moments as an owner reads them. */
import { USD } from '../../contracts-abi/constants.ts';
import { formatDecimal } from '../../contracts-abi/rounding.ts';

/** USDG base units as dollars: whole cents, unless there are smaller ones. "$1,234.50" */
export function dollars(amount: bigint): string {
  const [whole = '0', fraction = ''] = formatDecimal(amount, 6).split('.');
  return `$${BigInt(whole).toLocaleString('en-US')}.${fraction.padEnd(2, '0')}`;
}

/** The same rounded up to whole dollars, for bounds. "$9" */
export function dollarsAtMost(amount: bigint): string {
  return `$${((amount + USD - 1n) / USD).toLocaleString('en-US')}`;
}

/** Unix seconds as a local date and time with its zone. */
export function moment(seconds: number, locale?: string, timeZone?: string): string {
  return new Intl.DateTimeFormat(locale, {
    dateStyle: 'medium',
    timeStyle: 'short',
    ...(timeZone === undefined ? {} : { timeZone }),
  })
    .format(new Date(seconds * 1_000))
    .concat(` (${zoneName(seconds, locale, timeZone)})`);
}

function zoneName(seconds: number, locale?: string, timeZone?: string): string {
  const parts = new Intl.DateTimeFormat(locale, {
    timeZoneName: 'short',
    ...(timeZone === undefined ? {} : { timeZone }),
  }).formatToParts(new Date(seconds * 1_000));
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'local time';
}
