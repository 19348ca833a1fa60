import { z } from 'zod';
import { intOption, option } from '../../runtime/config.ts';

const localPort = intOption(1, 65_535);
/** Ports of the main job; the processes' own options stand in their own groups. */
export const startOptions = z.object({
  LOCAL_CHAIN_PORT: option(localPort.default(8545), {
    description: 'Port of the local chain.',
    example: '8545',
  }),
  API_PORT: option(localPort.default(8080), { description: 'Port of the api.', example: '8080' }),
  RELAYER_PORT: option(localPort.default(8081), {
    description: 'Port of the relayer.',
    example: '8081',
  }),
  KEEPER_PORT: option(localPort.default(8082), {
    description: "Port of the keeper's metrics and health.",
    example: '8082',
  }),
  START_LOG_FILE: option(z.string().optional(), {
    description: 'Also append the raw JSON log of all processes to this file.',
    example: '.data/start.log',
  }),
});
