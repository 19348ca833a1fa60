/** Revert data to an error's name and arguments, and that to what the client is told. Pure. */
import { decodeErrorResult, type Hex, parseAbi, size } from 'viem';
import {
  basketVaultAbi,
  basketZapperAbi,
  navOracleAbi,
  protocolPauseAbi,
  sessionModuleAbi,
} from '../contracts-abi/generated/index.ts';
import { ACTION_KIND, type Action } from '../contracts-abi/typed-data.ts';
import type { ErrorCode } from '../runtime/errors.ts';
import type { Session } from './checks/session.ts';
import type { Refusal } from './refusal.ts';

/** Errors of parts that are not ours (OpenZeppelin 5), beside Error(string) and Panic, which viem knows. */
const foreignErrors = parseAbi([
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error SafeERC20FailedOperation(address token)',
  'error ReentrancyGuardReentrantCall()',
  'error EnforcedPause()',
]);

const errors = [
  ...sessionModuleAbi,
  ...basketZapperAbi,
  ...basketVaultAbi,
  ...navOracleAbi,
  ...protocolPauseAbi,
  ...foreignErrors,
].filter((item) => item.type === 'error');

/** What a contract chose to say is cut: it may be a hundred kilobytes. */
const MAX_REVERT_BYTES = 4_096;
const MAX_TEXT = 300;
const MAX_WRAPPERS = 4;

export type DecodedRevert = {
  /** Name of the innermost known error; null when nothing is known of it. */
  name: string | null;
  /** "TooMuchUsdg(120, 100)", or words of the contract. */
  text: string;
  /** True when it came out of a call that the account made, not from the module itself. */
  inner: boolean;
};

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`;
  return String(value);
}

/** Never throws: unknown data is said to be unknown. */
export function decodeRevert(data: Hex | null): DecodedRevert {
  let inner = false;
  let rest = data;
  for (let depth = 0; depth <= MAX_WRAPPERS; depth += 1) {
    if (rest === null || rest === '0x') return { name: null, text: 'no reason given', inner };
    if (size(rest) > MAX_REVERT_BYTES) {
      return {
        name: null,
        text: `${size(rest)} bytes of revert data, starting ${rest.slice(0, 10)}`,
        inner,
      };
    }
    let decoded: { errorName: string; args?: readonly unknown[] };
    try {
      decoded = decodeErrorResult({ abi: errors, data: rest });
    } catch {
      // Expected: an error of a contract that is not ours.
      return { name: null, text: `unknown error ${rest.slice(0, 10)}`, inner };
    }
    const args = decoded.args ?? [];
    if (decoded.errorName !== 'ModuleCallFailed') {
      const text =
        decoded.errorName === 'Error' && typeof args[0] === 'string'
          ? args[0]
          : `${decoded.errorName}(${args.map(textOf).join(', ')})`;
      return { name: decoded.errorName, text: text.slice(0, MAX_TEXT), inner };
    }
    inner = true;
    rest = args[0] as Hex;
  }
  return { name: null, text: 'wrapped too deep', inner };
}

/** Errors of the module itself that have a code of their own (wire.md, Relayer). */
const MODULE_CODES: Readonly<Record<string, ErrorCode>> = {
  BadSignature: 'BAD_SIGNATURE',
  GrantInactive: 'SESSION_INACTIVE',
  GrantExpired: 'SESSION_INACTIVE',
  OwnerChanged: 'SESSION_INACTIVE',
  WrongNonceSpace: 'SESSION_INACTIVE',
  NonceUsed: 'NONCE_USED',
  DeadlinePast: 'EXPIRED',
  SlippageAboveGrant: 'SESSION_LIMIT',
  FeeTooHigh: 'SESSION_LIMIT',
  DailyFeesExceeded: 'SESSION_LIMIT',
  DailyLimitExceeded: 'SESSION_LIMIT',
  NoReference: 'NO_REFERENCE',
  NoSpot: 'NO_REFERENCE',
  Paused: 'PAUSED',
};

/** The refusal of an action whose simulation reverted. */
export function refusalOfRevert(decoded: DecodedRevert, action: Action, session: Session): Refusal {
  const details = { revert: decoded.text };
  // An error out of a call that the account made could carry any name: the names of the module do not count there,
  // but for the pause, which the zapper has too.
  const own = decoded.name === null ? undefined : MODULE_CODES[decoded.name];
  if (own !== undefined && (!decoded.inner || own === 'PAUSED')) {
    return { code: own, message: `the action would revert: ${decoded.text}`, details };
  }
  if (decoded.inner && isShortOfUsdg(decoded, action, session)) {
    return { code: 'INSUFFICIENT_FUNDS', message: 'the account holds too little USDG', details };
  }
  return {
    code: 'SIMULATION_FAILED',
    message: `the action would revert: ${decoded.text}`,
    details,
  };
}

/**
 * True when a buy failed moving USDG that the account does not have: a balance error, or any failure of a transfer
 * while the account holds less than the action may spend.
 */
function isShortOfUsdg(decoded: DecodedRevert, action: Action, session: Session): boolean {
  if (action.kind !== ACTION_KIND.buy || session.usdg >= action.limit + action.fee) return false;
  return (
    decoded.name === 'ERC20InsufficientBalance' ||
    decoded.name === 'SafeERC20FailedOperation' ||
    /exceeds balance|^STF$|insufficient/i.test(decoded.text)
  );
}
