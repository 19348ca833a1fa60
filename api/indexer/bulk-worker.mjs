/** Where a worker of bulk-logs.ts begins: Node 20 has no TypeScript of its own, and tsx has to be told in each thread. */
import { register } from 'tsx/esm/api';

register();
export const { takeApart } = await import('./bulk-task.ts');
