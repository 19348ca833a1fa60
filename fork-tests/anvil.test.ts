/** Our end of a real Anvil: nothing of it is left, however it went. */
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'vitest';
import { type Anvil, rpc, startAnvil } from './anvil.ts';
import { until } from './keeper/use-keeper.ts';

/** More blocks than it keeps in memory. */
async function withStatesOnDisk(): Promise<Anvil> {
  const anvil = await startAnvil();
  for (let turn = 0; turn < 3; turn += 1) await rpc(anvil.url, 'anvil_mine', ['0x200']);
  await until('states are on disk', () =>
    Promise.resolve(existsSync(anvil.states) && readdirSync(anvil.states).length > 0),
  );
  return anvil;
}

const ENDS: [string, (anvil: Anvil) => Promise<void>][] = [
  ['stopped', (anvil) => anvil.stop()],
  [
    'killed',
    (anvil) => {
      process.kill(anvil.pid, 'SIGKILL');
      return anvil.exited;
    },
  ],
];

test.for(ENDS)('an Anvil that is %s leaves no states on the disk', async ([, end]) => {
  const anvil = await withStatesOnDisk();
  await end(anvil);
  await until('its folder is gone', () => Promise.resolve(!existsSync(anvil.states)));
});
