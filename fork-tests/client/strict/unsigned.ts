/** What the unsigned plans for an agent's key share: parts of their typed data and the simulation that waits. */
import { addr, words } from './formats.ts';
import { chainId } from './marks.ts';
import { tuple } from './collections.ts';
import { literal, nothing, object } from './shape.ts';

/** One field of a struct, in its place. */
export const member = (name: string, type: string) =>
  object({ name: literal(name), type: literal(type) });

/** Signers that follow eth_signTypedData_v4 ask for it; others leave it out. */
export const EIP712_DOMAIN = tuple(
  member('name', 'string'),
  member('version', 'string'),
  member('chainId', 'uint256'),
  member('verifyingContract', 'address'),
);

export const domain = (name: string) =>
  object({ name: literal(name), version: literal('1'), chainId, verifyingContract: addr });

/** Only what is signed can be simulated. */
export const unsimulated = object({ ok: nothing, skipped: words }, { absent: ['gas', 'reason'] });
