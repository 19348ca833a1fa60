/**
 * libsecp256k1, where its package has a binary for the machine: a signature or a recovery in 0.1 ms, where JavaScript
 * takes 1 to 5 ms of the one thread that also answers everybody else.
 */

export type NativeCurve = typeof import('secp256k1/bindings.js').default;

async function load(): Promise<NativeCurve | null> {
  try {
    return (await import('secp256k1/bindings.js')).default;
  } catch {
    // Expected: the package has no binary for this machine.
    return null;
  }
}

/** Null: everything is done in JavaScript. */
export const nativeCurve: NativeCurve | null = await load();
