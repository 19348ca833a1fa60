/**
 * A file that lines are appended to, with the one before it as `<path>.1`: both together never exceed the bound, and
 * each begins with the line that explains the rest.
 */
import { appendFile, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../../runtime/make-folder.ts';

export type RecordFile = {
  /**
   * Appends; `text` ends with a newline. Begins a new file first where it would not fit.
   * @returns false where it was left out, since even a file of its own does not hold it
   * @param anew what to append instead when it begins a file: there nothing can be "as before"
   */
  append(text: string, anew?: () => string): Promise<boolean>;
};

/** @param head the first line of every file, newline included */
export function createRecordFile(options: {
  path: string;
  /** Of both files together. */
  maxBytes: number;
  head: () => string;
}): RecordFile {
  const { path, head } = options;
  const most = options.maxBytes / 2;
  /** Null before the first append of this process. */
  let size: number | null = null;

  async function begin(): Promise<number> {
    makeFolder(dirname(path));
    const held = await sizeOf(path);
    // A process that was killed may have left half a line; ours begins on its own.
    const first = `${held > 0 && !(await endsWithNewline(path, held)) ? '\n' : ''}${head()}`;
    await appendFile(path, first, { mode: 0o600 });
    return held + Buffer.byteLength(first);
  }

  return {
    async append(text, anew) {
      size ??= await begin();
      let wanted = text;
      if (size + Buffer.byteLength(text) > most) {
        await rename(path, `${path}.1`);
        size = await begin();
        wanted = anew?.() ?? text;
      }
      const bytes = Buffer.byteLength(wanted);
      // What does not fit into a file of its own is left out: the bound is the operator's disk.
      if (size + bytes > most) return false;
      await appendFile(path, wanted, { mode: 0o600 });
      size += bytes;
      return true;
    },
  };
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    // expected: there is none yet
    return 0;
  }
}

async function endsWithNewline(path: string, size: number): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0] === 10;
  } finally {
    await file.close();
  }
}
