/** Settings of the one HTTP server, shared by every process. */
import { z } from 'zod';
import { intOption, option } from '../config.ts';
import { trustOption } from './client-address.ts';

export const httpOptions = z.object({
  HTTP_HOST: option(z.string().min(1).default('127.0.0.1'), {
    description: 'Address to listen on.',
    example: '127.0.0.1',
  }),
  HTTP_BODY_LIMIT_BYTES: option(intOption(1_024, 10_000_000).default(262_144), {
    description: 'Largest request body, in bytes.',
    example: '262144',
  }),
  HTTP_TRUST_PROXY: option(trustOption.default(0), {
    description:
      'Reverse proxies whose X-Forwarded-For is believed: how many stand in front, or their addresses, CIDRs and the names loopback, linklocal, uniquelocal, comma-separated (0: none).',
    example: '10.0.0.0/8,fd00::/8',
  }),
  HTTP_REQUESTS_PER_MINUTE: option(intOption(0, 1_000_000).default(6_000), {
    description:
      'Requests a client address (IPv6: a /64) may make in a minute; 0 turns the limit off.',
    example: '6000',
  }),
});
