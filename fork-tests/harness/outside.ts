/** Writes to the SQLite file of a process under test from a connection of its own, between two of its transactions. */
import Database from 'libsql';

const WITHIN_MS = 10_000;

/** @returns how many rows changed. @throws what SQLite says but that the file is busy, and that after a while. */
export async function writeFromOutside(file: string, statement: string): Promise<number> {
  const other = new Database(file);
  const end = Date.now() + WITHIN_MS;
  try {
    for (;;) {
      try {
        // A prepared statement that meets the lock would stay open, and keep the file locked itself after the close.
        other.exec(statement);
        const [row] = other.prepare('select changes() as count').all() as { count: number }[];
        return row?.count ?? 0;
      } catch (error) {
        // expected: what holds the lock needs the event loop to go on
        if ((error as { code?: string }).code !== 'SQLITE_BUSY' || Date.now() > end) throw error;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    other.close();
  }
}
