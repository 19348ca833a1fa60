/** Settings of the local chain's process. */
import { z } from 'zod';
import { logOptions, option, portOption, urlOption } from '../../runtime/config.ts';

export const chainProcessOptions = logOptions.extend({
  LOCAL_CHAIN_PORT: option(portOption.default(8545), {
    description: 'Port of the local chain.',
    example: '8545',
  }),
  DEPLOYMENT_FILE: option(z.string().min(1).default('.data/deployment.json'), {
    description: 'Where the deployment of the local chain is written.',
    example: '.data/deployment.json',
  }),
  FORK_RPC_URL: option(urlOption.optional(), {
    description: 'Fork this chain and deploy on top, instead of the seeded local chain.',
    example: 'https://rpc.example.org',
  }),
});
