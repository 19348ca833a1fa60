import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePort } from '../e2e/stack.ts';
import { takenPorts } from './ports.ts';

it('names every port that is taken or given twice, with a port that exists to use instead', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const free = await freePort();
  const use = (variable: string, at: number, what: string) => ({ variable, port: at, what });
  const lines = await takenPorts([
    use('LOCAL_CHAIN_PORT', port, 'local chain'),
    use('API_PORT', free, 'api'),
    use('RELAYER_PORT', free, 'relayer'),
  ]);
  server.close();
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain(`Port ${port} (local chain) is taken`);
  expect(lines[1]).toContain(`Port ${free} is given to the api and the relayer`);
  for (const line of lines) {
    const offered = Number(/_PORT=(\d+)/.exec(line)?.[1]);
    expect(offered).toBeGreaterThan(1_023);
    expect(offered).toBeLessThan(65_536);
  }
});
