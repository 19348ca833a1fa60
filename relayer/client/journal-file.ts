/**
 * The package's `./relayer-client/journal-file`: the journal as a file of one JSON line per record, for Node.
 *
 * What must hold: a record that `append` resolved for is on disk; a line that a crash tore was never resolved, so it is
 * taken away and nothing before it is; one process at a time has the file.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../../runtime/make-folder.ts';
import { lockSqlite } from '../../runtime/store/sqlite.ts';
import { type Journal, JournalError, type JournalRecord, readRecord } from './journal.ts';

export type FileJournal = Journal & {
  /**
   * Forgets intents that ended before `before` (unix milliseconds). An id that is forgotten can be run again: choose ids
   * that never come back, or keep them for longer than they might.
   */
  prune: (before: number) => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Opens or makes the file, readable by its owner alone: signatures stand in it. Folders are made too.
 * @throws JournalError when a whole line is not JSON; StoreHeldError when another process has the file
 * @example const journal = await openFileJournal('.data/agent.journal');
 */
export async function openFileJournal(path: string): Promise<FileJournal> {
  makeFolder(dirname(path));
  const lock = lockSqlite({ path, inMemory: false });
  let file: FileHandle | null = null;
  let records: unknown[];
  try {
    file = await openDurably(path);
    records = await readWhole(file, path);
  } catch (error) {
    await file?.close();
    lock.release();
    throw error;
  }
  let held: FileHandle = file;
  let fault: unknown = null;
  /** Appends one after another: lines never interleave. */
  let turn: Promise<void> = Promise.resolve();

  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const mine = turn.then(async () => {
      if (fault !== null) {
        throw new JournalError(`${path} failed before: open it again`, { cause: fault });
      }
      try {
        await work();
      } catch (error) {
        // Half a line may be on disk: what followed it would be lost with it.
        fault = error;
        throw error;
      }
    });
    turn = mine.catch(() => undefined);
    return mine;
  };

  return {
    read: async () => {
      await turn;
      return records;
    },
    append: (record) =>
      inTurn(async () => {
        await held.appendFile(line(record));
        await held.datasync();
        records.push(record);
      }),
    prune: (before) =>
      inTurn(async () => {
        const kept = unendedBefore(records.map(readLine), before);
        const fresh = `${path}.new`;
        const next = await open(fresh, 'w', 0o600);
        try {
          await next.writeFile(kept.map(line).join(''));
          await next.datasync();
        } finally {
          await next.close();
        }
        await rename(fresh, path);
        await syncFolder(path);
        await held.close();
        held = await open(path, 'a+', 0o600);
        records = kept;
      }),
    close: async () => {
      await turn;
      await held.close();
      lock.release();
    },
  };
}

const line = (record: unknown): string => `${JSON.stringify(record)}\n`;

/** Checked, and kept as it stands in the file. */
function readLine(record: unknown): JournalRecord {
  readRecord(record);
  return record as JournalRecord;
}

/** All records of intents that have no end, or one at `before` or later. */
function unendedBefore(records: readonly JournalRecord[], before: number): JournalRecord[] {
  const ended = new Map<string, boolean>();
  for (const { id, state, at } of records) ended.set(id, state === 'settled' && at < before);
  return records.filter(({ id }) => ended.get(id) === false);
}

async function openDurably(path: string): Promise<FileHandle> {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND;
  const file = await open(path, flags, 0o600);
  await syncFolder(path);
  return file;
}

/** A new name is on disk once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The records; a last line without its end is cut off the file. */
async function readWhole(file: FileHandle, path: string): Promise<unknown[]> {
  const bytes = await file.readFile();
  const whole = bytes.lastIndexOf(0x0a) + 1;
  const lines = bytes.subarray(0, whole).toString('utf8').split('\n').slice(0, -1);
  const records = lines.map((text, index) => {
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw new JournalError(`${path}: line ${index + 1} is damaged`, { cause });
    }
  });
  if (whole < bytes.length) {
    await file.truncate(whole);
    await file.datasync();
  }
  return records;
}
