/**
 * The folder of keystore files on disk. What must hold: a file is there whole or not at all, readable by its owner
 * alone; no file of another key is ever written over; one command changes a folder at a time.
 */
import {
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { StoreHeldError } from '../store/errors.ts';
import { lockSqlite } from '../store/sqlite.ts';

/** Files of a command that was killed: encrypted, never read, removed by the next one that holds the folder. */
const UNFINISHED = '.unfinished-';

/** Keystore files at `path` in the order of their names, or the file itself; null when nothing is readable there. */
export function keystoreFiles(path: string): string[] | null {
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map((entry) => join(path, entry.name))
      .sort();
  } catch {
    // expected: a wrong path; the caller says so
    return null;
  }
}

/** The file's text, or the system's code of why not (EACCES, ENOENT …). */
export function readKeystore(
  file: string,
): { tag: 'text'; text: string } | { tag: 'unreadable'; code: string } {
  try {
    return { tag: 'text', text: readFileSync(file, 'utf8') };
  } catch (error) {
    // expected: no permission, or gone since the listing
    return { tag: 'unreadable', code: (error as NodeJS.ErrnoException).code ?? 'unreadable' };
  }
}

/** Whether others than the owner may read what is at `path`. */
export function othersMayRead(path: string): boolean {
  return (statSync(path).mode & 0o077) !== 0;
}

/**
 * Holds the folder for this process until `release` or the process's end, however it ends.
 * @returns null when another process holds it
 */
export function lockFolder(folder: string): { release(): void } | null {
  try {
    // The name begins with a dot: no process takes it for a key. It stays, empty: to remove it would be a race.
    return lockSqlite({ path: join(folder, '.keys'), inMemory: false });
  } catch (error) {
    if (error instanceof StoreHeldError) return null;
    throw error;
  }
}

/** Removes what killed commands left. Only while the folder is locked. */
export function removeUnfinished(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(UNFINISHED)) rmSync(join(folder, name), { force: true });
  }
}

/** Writes a new file, durably. @throws EEXIST when the name is taken */
export function writeNew(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  const written = writeUnfinished(folder, text);
  try {
    // Unlike a rename, a link never replaces what is there.
    linkSync(written, path);
  } finally {
    rmSync(written, { force: true });
  }
  syncFolder(folder);
  return path;
}

/**
 * Replaces a file's text, durably: whoever reads sees the old file or the new one. The owner stays the same, so that
 * a service's key remains the service's when the administrator rotates it.
 * @param onWritten told once the new text is durable under another name, before it takes the file's place
 */
export function replaceFile(path: string, text: string, onWritten?: () => void): void {
  const folder = dirname(path);
  const { uid, gid } = statSync(path);
  const written = writeUnfinished(folder, text);
  try {
    const made = statSync(written);
    if (made.uid !== uid || made.gid !== gid) chownSync(written, uid, gid);
    onWritten?.();
    renameSync(written, path);
  } catch (error) {
    rmSync(written, { force: true });
    throw error;
  }
  syncFolder(folder);
}

function writeUnfinished(folder: string, text: string): string {
  const path = join(folder, `${UNFINISHED}${randomBytes(8).toString('hex')}`);
  const file = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return path;
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
