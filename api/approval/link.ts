/** The link that an agent hands to an owner: `?owner=0x…&key=0x…`, as approvalUrl of a session writes it. */
import { type Address, getAddress, isAddress, isAddressEqual, zeroAddress } from 'viem';

export type Link =
  | { tag: 'ok'; owner: Address; key: Address }
  /** `why` is for the owner; nothing of the link is repeated in it. */
  | { tag: 'bad'; why: string };

const NAMES = { owner: "your wallet's address (owner)", key: "the agent's public key (key)" };

/** Reads `location.search`. Anything else in the link is ignored. */
export function readLink(search: string): Link {
  const query = new URLSearchParams(search);
  const read: Partial<Record<keyof typeof NAMES, Address>> = {};
  for (const name of ['owner', 'key'] as const) {
    const given = query.getAll(name);
    const [text] = given;
    if (text === undefined || text === '') return bad(`The link lacks ${NAMES[name]}.`);
    if (given.length > 1) return bad(`The link names ${NAMES[name]} more than once.`);
    if (/^(0x)?[0-9a-fA-F]{64}$/.test(text)) {
      return bad(
        `The link holds a private key where ${NAMES[name]} belongs. Treat that key as leaked: whoever has seen the link can use it. Make a new one and share its public address only.`,
      );
    }
    // A checksum that does not fit means that a digit is wrong.
    if (!isAddress(text)) return bad(`The link does not hold ${NAMES[name]} in a valid form.`);
    const address = getAddress(text);
    if (isAddressEqual(address, zeroAddress)) return bad(`The link names nobody as ${name}.`);
    read[name] = address;
  }
  const { owner, key } = read;
  if (owner === undefined || key === undefined) return bad('The link is not complete.');
  if (isAddressEqual(owner, key)) {
    return bad(
      'The link names your own wallet as the agent. An agent must have a key of its own: one that holds yours could take everything.',
    );
  }
  return { tag: 'ok', owner, key };
}

function bad(why: string): Link {
  return { tag: 'bad', why: `${why} Nothing was done. Ask your agent for a new link.` };
}
