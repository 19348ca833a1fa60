/** Settings of `npm run deploy`. The key comes as everywhere (runtime/keys), never from a flag. */
import { type Hex, isAddress, isHash, zeroAddress } from 'viem';
import { z } from 'zod';
import { chainOptions, intOption, option } from '../../../runtime/config.ts';
import { keyOptions } from '../../../runtime/keys/wallets.ts';

const addressOption = z
  .string()
  .refine((text) => isAddress(text), 'expected an address: 0x and 40 hex characters')
  .refine((text) => text !== zeroAddress, 'the zero address can hold no role');

/** Of a pool: more cost more than they are good for. */
export const MOST_SLOTS = 10_000;
/** What a reference takes (rule 1), with a margin. */
export const REFERENCE_SLOTS = 720;

const hashListOption = z
  .string()
  .default('')
  .transform((text) => text.split(',').map((hash) => hash.trim().toLowerCase()))
  .transform((hashes) => hashes.filter((hash) => hash !== ''))
  .refine((hashes) => hashes.every((hash) => isHash(hash)), 'expected hashes, by comma')
  .transform((hashes): ReadonlySet<Hex> => new Set(hashes as Hex[]));

export const deployOptions = chainOptions.extend(keyOptions.shape).extend({
  DEPLOY_OWNER: option(addressOption.optional(), {
    description:
      'Owner of pause, registry and cover market, who accepts afterwards; absent: the deployer.',
    example: '0x0000000000000000000000000000000000000001',
  }),
  DEPLOY_GUARDIAN: option(addressOption.optional(), {
    description: 'Guardian, who can pause; absent: the deployer.',
    example: '0x0000000000000000000000000000000000000002',
  }),
  DEPLOY_TREASURY: option(addressOption.optional(), {
    description: 'Where the protocol fees go; absent: the deployer.',
    example: '0x0000000000000000000000000000000000000003',
  }),
  DEPLOY_SEED_SHARES: option(intOption(1, 1_000_000).default(1), {
    description:
      'Whole shares that each basket opens with: the deployer holds their constituents, and one share of each stays locked for ever.',
    example: '1',
  }),
  DEPLOY_POOL_SLOTS: option(intOption(0, MOST_SLOTS).default(REFERENCE_SLOTS), {
    description:
      'Observation slots that reference pools are raised to: 700 make a reference, 4500 a cover market; 0 leaves them.',
    example: '720',
  }),
  DEPLOY_COVER_WEEKS: option(intOption(0, 27).default(26), {
    description: 'Weeks of the cover market to publish.',
    example: '26',
  }),
  DEPLOY_PLAN_FILE: option(z.string().min(1).optional(), {
    description:
      'The plan to deploy, as a dry run writes it; absent: what the live chain’s pools allow now.',
    example: '.data/deployment.json.plan',
  }),
  DEPLOY_TRUSTED_CODE: option(hashListOption, {
    description:
      'Hashes (keccak256) of code that you compared with a source of your own, by comma: a Uniswap router or factory of another build than the published one is refused otherwise, but for those at the live chain’s addresses.',
    example: '',
  }),
  DEPLOY_WAIT_SECONDS: option(intOption(5, 3_600).default(120), {
    description: 'Longest wait for one transaction to be mined.',
    example: '120',
  }),
});

export type DeployConfig = Readonly<z.infer<typeof deployOptions>>;
