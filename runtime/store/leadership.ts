/**
 * Which of several processes on one PostgreSQL database leads: a session advisory lock on a connection of its own,
 * which the server drops with that connection, however its process ends. Holding it is a matter of a moment: what only
 * the leader may write must be fenced besides, by the term.
 */
import { Client } from 'pg';
import { lockQuery } from './postgres.ts';

export type Leadership = {
  /**
   * Takes the lead where nobody has it, or makes sure of it. Never throws: a process that cannot ask the server does
   * not lead. Returns which time it is that this process leads (1, 2 …), null while another does.
   */
  claim(): Promise<number | null>;
  /** Gives the lead back. */
  release(): Promise<void>;
};

/** Where there is one process: it leads. */
export const alone: Leadership = {
  claim: async () => 1,
  release: async () => undefined,
};

/** Longer than this the server keeps no lock of a machine that is gone; and no question to it takes longer. */
const SILENCE_MS = 5_000;

/** @param name of what is led, the same in every process. */
export function contend(url: string, name: string): Leadership {
  let client: Client | null = null;
  let leads = false;
  let term = 0;

  const drop = async (gone: Client): Promise<void> => {
    if (client === gone) {
      client = null;
      leads = false;
    }
    // expected: a broken connection has nothing to end
    await gone.end().catch(() => undefined);
  };
  const connect = async (): Promise<Client> => {
    const fresh = new Client({
      connectionString: url,
      connectionTimeoutMillis: SILENCE_MS,
      query_timeout: SILENCE_MS,
      keepAlive: true,
    });
    fresh.on('error', () => void drop(fresh));
    fresh.on('end', () => void drop(fresh));
    client = fresh;
    await fresh.connect();
    // The server's side of a connection that nobody closed: 2 + 3 x 1 s.
    await fresh.query(
      'set tcp_keepalives_idle = 2; set tcp_keepalives_interval = 1; set tcp_keepalives_count = 3',
    );
    return fresh;
  };
  return {
    claim: async () => {
      let asked: Client | null = client;
      try {
        asked ??= await connect();
        if (leads) {
          await asked.query('select 1');
          return leads ? term : null;
        }
        const answer = await asked.query<{ held: boolean }>(lockQuery(name));
        if (answer.rows[0]?.held !== true || client !== asked) return null;
        leads = true;
        term += 1;
        return term;
      } catch {
        // expected: the server restarts or is out of reach; the store's own check tells of it
        const failed = asked ?? client;
        if (failed !== null) await drop(failed);
        return null;
      }
    },
    release: async () => {
      if (client !== null) await drop(client);
    },
  };
}
