/** A slot as a row, and back. */
import type { Address, Hex } from 'viem';
import type { ActionJson, CoverActionJson } from '../contracts-abi/typed-data.ts';
import type { SlotRow } from './migrations.ts';
import { signedActionFromJson, signedActionToJson } from './signed-action.ts';
import type { Slot, SlotId, Version } from './slots.ts';

/** Its primary key. */
export function idRow(id: SlotId) {
  return { module: id.module, account: id.account, nonce: id.nonce.toString() };
}

/** The columns that change with the version. */
export function versionRow({ digest, action, signature }: Version) {
  return {
    digest,
    action: JSON.stringify(signedActionToJson(action)),
    signature,
    deadline: action.deadline,
  };
}

/** The row of a slot that a version makes. */
export function freshRow(version: Version, at: number): SlotRow {
  return {
    ...idRow(version.id),
    ...versionRow(version),
    key: version.action.key,
    state: 'open',
    attempt: 0,
    was_broadcast: 0,
    quote_fee: null,
    quote_expires_at: null,
    quote_terms: null,
    next_fee: null,
    claim_seq: null,
    claimed_at: null,
    is_free: 0,
    created_at: at,
    updated_at: at,
  };
}

export function slotOf(row: SlotRow): Slot {
  return {
    id: {
      module: row.module as Address,
      account: row.account as Address,
      nonce: BigInt(row.nonce),
    },
    state: row.state,
    digest: row.digest as Hex,
    action: signedActionFromJson(JSON.parse(row.action) as ActionJson | CoverActionJson),
    signature: row.signature as Hex,
    attempt: row.attempt,
    wasBroadcast: row.was_broadcast === 1,
    quote:
      row.quote_fee === null || row.quote_expires_at === null || row.quote_terms === null
        ? null
        : {
            fee: BigInt(row.quote_fee),
            expiresAt: row.quote_expires_at,
            terms: row.quote_terms as Hex,
          },
    nextFee: row.next_fee === null ? null : BigInt(row.next_fee),
    claimSeq: row.claim_seq,
    claimedAt: row.claimed_at,
    updatedAt: row.updated_at,
  };
}
