/** Nonces of session actions: the upper 96 bits bind key and epoch, the lower 160 are free (rule 18). */
import { randomBytes } from 'node:crypto';
import { type Address, encodeAbiParameters, keccak256 } from 'viem';
import { sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { ApiError } from '../../runtime/errors.ts';
import { ReadBatch, required } from '../chain/read-batch.ts';
import type { Service } from '../service.ts';
import type { Session } from './read-session.ts';

/** What `nonce >> 160` must equal for this key and epoch (rule 18). */
function nonceSpace(key: Address, epoch: number): bigint {
  const hash = keccak256(
    encodeAbiParameters([{ type: 'address' }, { type: 'uint32' }], [key, epoch]),
  );
  return BigInt(hash) & ((1n << 96n) - 1n);
}

/** 160 random bits in the key's space, seen unused on chain. */
export async function unusedNonce(service: Service, session: Session): Promise<bigint> {
  const { client, deployment } = service;
  const space = nonceSpace(session.key, session.epoch) << 160n;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const nonce = space | BigInt(`0x${randomBytes(20).toString('hex')}`);
    const batch = new ReadBatch();
    const used = batch.add({
      to: deployment.sessionModule,
      abi: sessionModuleAbi,
      functionName: 'nonceUsed',
      args: [session.account, nonce],
    });
    await batch.send(client, deployment.multicall3);
    if (!required(used, 'the nonce')) return nonce;
  }
  throw new ApiError('UPSTREAM', 'no unused nonce was found: retry');
}
