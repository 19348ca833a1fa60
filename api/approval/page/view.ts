/** Shows the session in plain words. */
import type { Address } from 'viem';
import type { PageConfig } from '../page-config.ts';
import { percentText } from '../terms.ts';
import { dollars, moment } from '../words.ts';
import { button, element, show, write } from './elements.ts';
import type { Session } from './service.ts';

export type State = 'none' | 'active' | 'paused' | 'expired' | 'ended' | 'off';

/** What the session amounts to; `now` in unix seconds. */
export function stateOf(session: Session, now: number): State {
  if (session.validUntil === 0) return 'none';
  if (session.active) return session.paused ? 'paused' : 'active';
  if (session.validUntil < now) return 'expired';
  return session.moduleEnabled ? 'ended' : 'off';
}

const WORDS: Record<State, { title: string; note: string }> = {
  none: { title: 'Not approved.', note: 'The agent can do nothing yet.' },
  active: { title: 'Active.', note: 'The agent can trade within these limits.' },
  paused: { title: 'Paused.', note: '' },
  expired: { title: 'Expired.', note: 'The agent can do nothing until you approve it again.' },
  ended: { title: 'Revoked.', note: 'The agent can do nothing until you approve it again.' },
  off: {
    title: 'Switched off.',
    note: 'The trading module of your account is switched off. Approving switches it on again.',
  },
};

export function showLink(owner: Address, key: Address, config: PageConfig): void {
  write('key', key);
  write('owner', owner);
  write('chain', `${config.chain.name}, chain id ${config.chain.id}`);
  write('fund-chain', config.chain.name);
  write('usdg', config.usdg);
}

export function showSession(session: Session, now: number): void {
  write('account', session.account);
  write(
    'account-note',
    session.deployed
      ? 'A Safe that your wallet alone controls.'
      : 'Not opened yet: your first approval opens it at this address, a Safe that your wallet alone controls.',
  );
  const state = stateOf(session, now);
  write('state', WORDS[state].title);
  element('state').dataset.state =
    state === 'active' ? 'active' : state === 'none' ? 'none' : 'stopped';
  write('state-note', state === 'paused' ? pausedBy(session) : WORDS[state].note);
  show('grant', state === 'active' || state === 'paused');
  write('grant-limit', dollars(BigInt(session.dailyLimitUsdg)));
  write('grant-left', dollars(BigInt(session.remainingTodayUsdg)));
  write('grant-slippage', `${percentText(session.maxSlippageBps)}%`);
  write('grant-until', session.validUntil === 0 ? '' : moment(session.validUntil));
  const cover = dollars(BigInt(session.coverDailyLimitUsdg));
  write('grant-cover', session.coverEnabled ? `On, at most ${cover} a day` : 'Off');
  write('revoke-effect', session.revokeEffect);
  show('stopping', session.deployed);
  // A grant outlives a module that is switched off for a while.
  show('revoke', session.active || state === 'off');
  write('pause', session.accountPaused ? 'Let the agents go on' : 'Pause all agents');
  showMoney(session);
}

function pausedBy(session: Session): string {
  return session.accountPaused
    ? 'You paused every agent of this account.'
    : 'The whole protocol is paused by its guardian; it goes on by itself within 7 days.';
}

function showMoney(session: Session): void {
  const usdg = BigInt(session.usdgWei);
  write('fund-address', session.account);
  write(
    'money-note',
    usdg === 0n
      ? 'Your account holds no USDG yet: the agent has nothing to trade with. Send USDG to your account:'
      : `Your account holds ${dollars(usdg)} in USDG. To add more, send USDG to your account:`,
  );
  const copy = button('copy');
  // Only pages on https or this machine may write to the clipboard.
  copy.hidden = navigator.clipboard === undefined;
}

/** `link` opens the transaction at the explorer. */
export function showSent(hash: string, link: string | null): void {
  const at = element('sent');
  at.textContent = 'Transaction ';
  const code = document.createElement('code');
  code.textContent = hash;
  if (link === null) {
    at.append(code);
    return;
  }
  const anchor = document.createElement('a');
  anchor.href = link;
  anchor.target = '_blank';
  anchor.rel = 'noopener noreferrer';
  anchor.append(code);
  at.append(anchor);
}
