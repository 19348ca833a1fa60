/**
 * The page's script, bundled from its sources the first time somebody asks for it: no build step that could be
 * forgotten, no artefact that could be stale. esbuild is there wherever this runs, since tsx runs on it.
 */
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('page/main.ts', import.meta.url));

/** Browsers of the last years; wallets' own are seldom older. */
const TARGET = 'es2022';

/** @throws with esbuild's own lines where the sources do not bundle. */
export async function bundlePage(): Promise<Buffer> {
  // Loaded here, so that a process whose page nobody opens never starts it.
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: TARGET,
    legalComments: 'none',
    logLevel: 'silent',
  });
  const [script] = outputFiles;
  if (script === undefined) throw new Error('esbuild made no script');
  return Buffer.from(script.contents);
}
