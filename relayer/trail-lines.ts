/** The words of the trail. Pure. */
import type { IntentState } from '../runtime/sender/types.ts';
import type { Outcome } from './answer.ts';

type Line = { what: string; detail: string };

/** What a client was told. */
export function outcomeLine(outcome: Outcome): Line {
  if (outcome.tag === 'answered') {
    const { status, body } = outcome.answer;
    return { what: 'answered', detail: `${status} ${plain(body.hash)}` };
  }
  const { code, check, message, details = {} } = outcome.refusal;
  const told = Object.entries(details).filter(([name]) => name !== 'receipt');
  const more = told.map(([name, value]) => `${name} ${plain(value)}`);
  const name = check === undefined ? code : `${code} (${check})`;
  const detail = [`${name}: ${message}`, ...more].join('; ');
  return { what: code === 'FEE_REQUIRED' ? 'quoted' : 'refused', detail };
}

/** Where the sender says that an action's intent stands. */
export function stateLine(state: IntentState): Line {
  switch (state.tag) {
    case 'queued':
      return { what: 'queued', detail: 'waits for a nonce' };
    case 'broadcast':
      return { what: 'broadcast', detail: `${state.hash} by ${state.wallet} nonce ${state.nonce}` };
    case 'mined':
    case 'reverted': {
      const { hash, blockNumber, gasUsed, effectiveGasPrice, confirmed } = state;
      const what = confirmed ? `${state.tag}, confirmed` : state.tag;
      return {
        what,
        detail: `${hash} in block ${blockNumber}, gas ${gasUsed} at ${effectiveGasPrice} wei`,
      };
    }
    case 'refused':
      return { what: 'not sent', detail: `${state.reason}: ${state.message}` };
    case 'cancelled':
      return { what: 'cancelled', detail: `nonce ${state.nonce} taken back by ${state.hash}` };
    case 'superseded':
      return { what: 'superseded', detail: `nonce ${state.nonce} of ${state.wallet} was used` };
  }
  return state satisfies never;
}

function plain(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : JSON.stringify(value);
}
