/** The grant: given, alive, and the one that the action's nonce was made for. */
import { type Address, encodeAbiParameters, hexToBigInt, keccak256 } from 'viem';
import { type Check, PASSED, refuse } from '../refusal.ts';
import type { Session } from './session.ts';

/** How many earlier epochs are recognised as such; older nonces are merely not this key's. */
const EPOCHS_BACK = 16;

/** uint96(uint256(keccak256(abi.encode(key, epoch)))) (rule 18 of protocol-rules.md). */
export function nonceSpace(key: Address, epoch: number): bigint {
  const hash = keccak256(
    encodeAbiParameters([{ type: 'address' }, { type: 'uint32' }], [key, epoch]),
  );
  return hexToBigInt(hash) & ((1n << 96n) - 1n);
}

/** Cover needs to be turned on besides. */
export function checkCoverEnabled(session: Session): Check {
  return session.grant.coverEnabled
    ? PASSED
    : refuse('SESSION_INACTIVE', 'the owner has not turned Cover on for this key');
}

export function checkGrant(action: { key: Address; nonce: bigint }, session: Session): Check {
  const { grant } = session;
  if (!grant.active) {
    return refuse('SESSION_INACTIVE', 'the owner has not granted this key, or has revoked it');
  }
  if (session.blockTime > grant.validUntil) {
    return refuse('SESSION_INACTIVE', 'the grant of this key has expired');
  }
  const space = action.nonce >> 160n;
  if (space === session.nonceSpace) return PASSED;
  for (let epoch = grant.epoch - 1; epoch >= Math.max(0, grant.epoch - EPOCHS_BACK); epoch -= 1) {
    if (space === nonceSpace(action.key, epoch)) {
      return refuse('SESSION_INACTIVE', 'the action was built under an earlier grant of this key');
    }
  }
  return refuse('BAD_REQUEST', 'nonce: not in the nonce space of this key');
}
