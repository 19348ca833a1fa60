/** The form of limits: its first values, what is typed, what is wrong with it. */
import {
  DAYS,
  DEFAULT_COVER_LIMIT,
  DEFAULT_DAYS,
  DEFAULT_SLIPPAGE_BPS,
  percentText,
  readTerms,
  suggestedDailyLimit,
  type Terms,
  type TermsErrors,
  worstDay,
} from '../terms.ts';
import { formatDecimal } from '../../../contracts-abi/rounding.ts';
import { dailyFeeCap } from '../../../contracts-abi/network-fees.ts';
import { dollars, dollarsAtMost } from '../words.ts';
import { input, select, show, write } from './elements.ts';
import type { Session } from './service.ts';

const FIELDS = ['dailyLimit', 'slippage', 'days', 'coverLimit'] as const;

/** Those of the grant there is or was, else the defaults. */
export function fillForm(session: Session): void {
  const granted = session.validUntil > 0;
  const usdg = (amount: bigint) => formatDecimal(amount, 6);
  const limit = BigInt(session.dailyLimitUsdg);
  input('dailyLimit').value = usdg(granted ? limit : suggestedDailyLimit(BigInt(session.usdgWei)));
  input('slippage').value = percentText(granted ? session.maxSlippageBps : DEFAULT_SLIPPAGE_BPS);
  const coverLimit = BigInt(session.coverDailyLimitUsdg);
  input('coverLimit').value = usdg(coverLimit > 0n ? coverLimit : DEFAULT_COVER_LIMIT);
  input('cover').checked = session.coverEnabled;
  const days = select('days');
  for (const each of DAYS) {
    const text = each === 1 ? '1 day' : `${each} days`;
    days.add(new Option(text, String(each), false, each === DEFAULT_DAYS));
  }
}

function read() {
  return readTerms({
    dailyLimit: input('dailyLimit').value,
    slippage: input('slippage').value,
    days: select('days').value,
    coverEnabled: input('cover').checked,
    coverLimit: input('coverLimit').value,
  });
}

/** The terms, or null after the first wrong field got the focus. */
export function submittedTerms(): Terms | null {
  const given = read();
  if (given.tag === 'ok') return given.terms;
  showErrors(given.errors);
  FIELDS.map((field) => [field, given.errors[field]] as const)
    .filter(([, error]) => error !== undefined)
    .slice(0, 1)
    .forEach(([field]) => input(field).focus());
  return null;
}

/** After every change: what the limits mean. Errors are shown once a field is left, not while it is typed. */
export function explainTerms(left?: string): void {
  show('cover-field', input('cover').checked);
  const given = read();
  if (given.tag === 'ok') {
    showErrors({});
    const { terms } = given;
    const most = dollarsAtMost(worstDay(terms));
    const cover = terms.coverEnabled ? ', cover included' : '';
    write(
      'worst',
      `If this key is stolen, it can lose you at most about ${most} a day${cover}, until you revoke it. It cannot withdraw anything: the loss would be bad prices and fees, which a thief's friends may earn.`,
    );
    write('fee-cap', dollars(dailyFeeCap(terms.dailyLimit)));
    return;
  }
  write('worst', '');
  if (left !== undefined) showErrors({ ...given.errors }, left);
}

function showErrors(errors: TermsErrors, only?: string): void {
  for (const field of FIELDS) {
    if (only !== undefined && field !== only) continue;
    const error = errors[field] ?? '';
    write(`${field}-error`, error);
    if (error === '') input(field).removeAttribute('aria-invalid');
    else input(field).setAttribute('aria-invalid', 'true');
  }
}
