/** One `npm start` per chain port: a second one would take the first one's folder away before it meets a taken port. */
import { rmSync } from 'node:fs';
import { StoreHeldError } from '../../runtime/store/errors.ts';
import { lockSqlite } from '../../runtime/store/sqlite.ts';

/**
 * Holds `folder` for this process until `release` or its end, however it ends.
 * @returns null when another process holds it.
 */
export function lockFolder(folder: string): { release(): void } | null {
  try {
    const held = lockSqlite({ path: folder, inMemory: false });
    return {
      release: () => {
        held.release();
        for (const end of ['lock', 'lock-journal']) rmSync(`${folder}.${end}`, { force: true });
      },
    };
  } catch (error) {
    // expected: somebody else is starting or running
    if (error instanceof StoreHeldError) return null;
    throw error;
  }
}
