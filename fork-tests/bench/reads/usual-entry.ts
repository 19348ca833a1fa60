/** The usual middleware stack in a process of its own: BODY_FILE on PORT. */
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { createMetrics } from '../../../runtime/metrics.ts';
import { stopWhenStdinEnds } from './stdin.ts';
import { usualStack } from './usual-stack.ts';

const text = readFileSync(process.env.BODY_FILE ?? '', 'utf8');
usualStack({
  logger: pino({ level: process.env.LOG_LEVEL ?? 'info' }),
  metrics: createMetrics('usual'),
  requestsPerMinute: Number(process.env.HTTP_REQUESTS_PER_MINUTE),
  body: () => text,
}).listen(Number(process.env.PORT), '127.0.0.1');
stopWhenStdinEnds();
