/** The seeded chain on an Anvil of its own, as `npm start` has it but without its market. */
import { type Anvil, type AnvilOptions, startAnvil } from '../../anvil.ts';
import { CHAIN_ARGUMENTS } from '../../chain/arguments.ts';
import type { Manifest } from '../../chain/seed/manifest.ts';
import { loadChain, seededChain } from '../../chain/state/load.ts';

/** @param options of Anvil; absent: a block per transaction. The caller stops it. */
export async function startBenchChain(
  say: (line: string) => void,
  options: AnvilOptions = {},
): Promise<{ anvil: Anvil; manifest: Manifest }> {
  const chain = await seededChain(say);
  const anvil = await startAnvil({
    ...options,
    args: [...CHAIN_ARGUMENTS, ...(options.args ?? [])],
  });
  try {
    return { anvil, manifest: await loadChain(anvil.url, chain) };
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}
