/** The two things that a session key signs (wire.md, Agent session, trade, cover), behind one shape. */
import type { Address, Hex, LocalAccount } from 'viem';
import { COVER_KIND } from '../../contracts-abi/cover-data.ts';
import {
  ACTION_KIND,
  ACTION_TYPES,
  type Action,
  type ActionJson,
  actionDigest,
  actionToJson,
  actionTypedData,
  COVER_ACTION_TYPES,
  type CoverAction,
  type CoverActionJson,
  coverActionDigest,
  coverActionToJson,
  coverActionTypedData,
  coverDomain,
  sessionDomain,
} from '../../contracts-abi/typed-data.ts';

export type Signable =
  | { type: 'trade'; module: Address; action: Action }
  | { type: 'cover'; module: Address; action: CoverAction };

/** The same with the action as JSON: what journals keep and relayers take. */
export type SignableJson =
  | { type: 'trade'; module: Address; action: ActionJson }
  | { type: 'cover'; module: Address; action: CoverActionJson };

/** The host's signer: a viem LocalAccount; in front of a key store or a device, one made by viem's `toAccount`. */
export type Signer = Pick<LocalAccount, 'address' | 'signTypedData'>;

export function toJson(signable: Signable): SignableJson {
  const { module } = signable;
  return signable.type === 'trade'
    ? { type: 'trade', module, action: actionToJson(signable.action) }
    : { type: 'cover', module, action: coverActionToJson(signable.action) };
}

/** The EIP-712 digest under our own domain. */
export function digestOf(signable: Signable): Hex {
  return signable.type === 'trade'
    ? actionDigest(signable.action, signable.module)
    : coverActionDigest(signable.action, signable.module);
}

/** The typed data as the service should have sent it. */
export function typedDataOf(signable: Signable) {
  return signable.type === 'trade'
    ? actionTypedData(signable.action, signable.module)
    : coverActionTypedData(signable.action, signable.module);
}

/** Signs under our own domain and types, whatever typed data came with the plan. */
export async function sign(signer: Signer, signable: Signable): Promise<Hex> {
  return signable.type === 'trade'
    ? await signer.signTypedData({
        domain: sessionDomain(signable.module),
        types: ACTION_TYPES,
        primaryType: 'Action',
        message: signable.action,
      })
    : await signer.signTypedData({
        domain: coverDomain(signable.module),
        types: COVER_ACTION_TYPES,
        primaryType: 'CoverAction',
        message: signable.action,
      });
}

/** The same terms with these fields replaced. */
export function replaced(signable: Signable, fields: { fee?: bigint; nonce?: bigint }): Signable {
  return signable.type === 'trade'
    ? { ...signable, action: { ...signable.action, ...fields } }
    : { ...signable, action: { ...signable.action, ...fields } };
}

export type KindName = 'buy' | 'sell' | 'cover-take' | 'cover-request' | 'cover-cancel';

/** Null for kinds that a session key does not sign. */
export function kindName(type: Signable['type'], kind: number): KindName | null {
  if (type === 'trade') {
    if (kind === ACTION_KIND.buy) return 'buy';
    return kind === ACTION_KIND.sell ? 'sell' : null;
  }
  if (kind === COVER_KIND.take) return 'cover-take';
  if (kind === COVER_KIND.request) return 'cover-request';
  return kind === COVER_KIND.cancel ? 'cover-cancel' : null;
}

/** Path of the relayer's route for it. */
export function routeOf(type: Signable['type']): string {
  return type === 'trade' ? '/relay/v1/account/execute' : '/relay/v1/account/cover';
}
