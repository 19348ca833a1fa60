/**
 * Jobs of other services that speak this wire format, over contracts that are not ours: the operator lists contract
 * and selectors in a file, the sender is the executor, and the simulated change of the sender's own balance is the
 * only proof of profit. Nothing in the calldata is understood, so nothing may be owed to the contract: no allowance of
 * ours exists, no value goes along, and the tokens and contracts of our own protocol can never be listed.
 */
import { readFileSync } from 'node:fs';
import { type Address, type Hex, slice } from 'viem';
import { z } from 'zod';
import { contractsOf, type Deployment } from '../../contracts-abi/deployment.ts';
import { addressSchema, firstProblem } from '../../runtime/schema.ts';
import type { Job } from '../source/job.ts';
import { type Foreign, workKeyOf } from '../work.ts';
import type { Admission } from './admit.ts';
import type { ForeignContracts, KnownProtocol } from './known-protocol.ts';

export type ForeignRefusal = 'foreign_target' | 'foreign_value' | 'foreign_selector';

/** What moves or lends out tokens, on whatever contract: never part of a job. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  '0x095ea7b3', // approve(address,uint256)
  '0x39509351', // increaseAllowance(address,uint256)
  '0xa9059cbb', // transfer(address,uint256)
  '0x23b872dd', // transferFrom(address,address,uint256)
  '0xd505accf', // permit(address,address,uint256,uint256,uint8,bytes32,bytes32)
  '0xa22cb465', // setApprovalForAll(address,bool)
  '0x87517c45', // approve(address,address,uint160,uint48) of Permit2
]);

const selectorSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{8}$/, 'expected a selector: 0x and 8 hex characters')
  .transform((text) => text.toLowerCase() as Hex)
  .refine((selector) => !FORBIDDEN.has(selector), 'moves or lends out tokens: never part of a job');

const fileSchema = z.strictObject({
  contracts: z
    .array(
      z.strictObject({
        address: addressSchema,
        name: z.string().max(100).optional(),
        selectors: z.array(selectorSchema).min(1).max(64),
      }),
    )
    .max(256),
});

/**
 * Reads the operator's list: `{"contracts": [{"address": "0x…", "name": "…", "selectors": ["0x…"]}]}`.
 * @throws Error naming the file and what is wrong with it
 */
export function readAllowList(path: string, deployment: Deployment): ForeignContracts {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const why = cause instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read';
    throw new Error(`the allow-list ${path}: ${why}`, { cause });
  }
  const parsed = fileSchema.safeParse(json);
  if (!parsed.success) throw new Error(`the allow-list ${path}: ${firstProblem(parsed.error)}`);
  const ours = new Set(contractsOf(deployment).map(({ address }) => address.toLowerCase()));
  const listed = new Map<Address, Set<Hex>>();
  for (const { address, selectors } of parsed.data.contracts) {
    if (ours.has(address.toLowerCase())) {
      throw new Error(`the allow-list ${path}: ${address} belongs to the protocol itself`);
    }
    listed.set(address, new Set([...(listed.get(address) ?? []), ...selectors]));
  }
  return listed;
}

/** Decides about a job on a listed contract; its calldata goes out as it came. */
export function admitForeign(job: Job, known: KnownProtocol, source: number): Admission<Foreign> {
  const refuse = (why: ForeignRefusal): Admission<Foreign> => ({
    tag: 'refused',
    why,
    hostile: true,
  });
  const selectors = known.foreign.get(job.contract);
  if (selectors === undefined || job.tx.to !== job.contract) return refuse('foreign_target');
  if (job.tx.value !== 0n) return refuse('foreign_value');
  if (job.tx.data.length < 10 || !selectors.has(slice(job.tx.data, 0, 4))) {
    return refuse('foreign_selector');
  }
  return {
    tag: 'admitted',
    work: {
      type: 'foreign',
      key: workKeyOf(job.contract, job.id),
      source,
      contract: job.contract,
      id: job.id,
      ticker: job.ticker,
      vault: job.vault,
      promisedUsdg: job.feeUsdg,
      data: job.tx.data,
    },
  };
}
