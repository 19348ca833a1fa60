/**
 * Which of several processes on one PostgreSQL database leads: a session advisory lock on a connection of its own,
 * which the server drops with that connection, however its process ends. Holding it is a matter of a moment: what only
 * the leader may write must be fenced besides, by the term.
 */
import { Client } from 'pg';
import { faultLine } from '../fault-line.ts';
import { endWithin, lockQuery } from './postgres.ts';

export type Leadership = {
  /**
   * Takes the lead where nobody has it, or makes sure of it. Never throws: a process that cannot ask the server does
   * not lead. Returns which time it is that this process leads (1, 2 …), null while another does.
   */
  claim(): Promise<number | null>;
  /** Whether the lead of that term is still held, as far as this process knows; costs nothing. */
  holds(term: number): boolean;
  /** Why the last claim could not ask the server, for an operator; null where it could. */
  fault(): string | null;
  /** Gives the lead back. */
  release(): Promise<void>;
};

/** Where there is one process: it leads. */
export const alone: Leadership = {
  claim: async () => 1,
  holds: () => true,
  fault: () => null,
  release: async () => undefined,
};

/**
 * Longer than this the server keeps no lock of a machine that is gone or of a process that hangs; and no question to it
 * takes longer.
 */
const SILENCE_MS = 5_000;
/** By which the server knows that the leader lives, whatever its rounds take. */
const HEARTBEAT_MS = 1_000;

/**
 * @param name of what is led, the same in every process.
 * @param onLost told at once when a lead is gone that was not given back: what only a leader may do must stop.
 */
export function contend(
  url: string,
  name: string,
  onLost: () => void = () => undefined,
): Leadership {
  let client: Client | null = null;
  let leads = false;
  let term = 0;
  let fault: string | null = null;
  let heartbeat: NodeJS.Timeout | null = null;

  const drop = async (gone: Client): Promise<void> => {
    if (client === gone) {
      client = null;
      if (heartbeat !== null) clearInterval(heartbeat);
      heartbeat = null;
      const led = leads;
      leads = false;
      if (led) onLost();
    }
    await endWithin(gone);
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
    // expected: PostgreSQL before 14 does not have it, and keeps the lock of a process that hangs
    await fresh.query(`set idle_session_timeout = ${SILENCE_MS}`).catch(() => undefined);
    return fresh;
  };
  const live = (held: Client): void => {
    heartbeat = setInterval(() => {
      held.query('select 1').catch(() => drop(held));
    }, HEARTBEAT_MS);
    heartbeat.unref();
  };
  return {
    claim: async () => {
      let asked: Client | null = client;
      try {
        asked ??= await connect();
        if (leads) {
          await asked.query('select 1');
          fault = null;
          return leads ? term : null;
        }
        const answer = await asked.query<{ held: boolean }>(lockQuery(name));
        fault = null;
        if (answer.rows[0]?.held !== true || client !== asked) return null;
        leads = true;
        live(asked);
        term += 1;
        return term;
      } catch (error) {
        // expected: the server restarts or is out of reach
        fault = faultLine(error);
        const failed = asked ?? client;
        if (failed !== null) await drop(failed);
        return null;
      }
    },
    holds: (asked) => leads && asked === term,
    fault: () => fault,
    release: async () => {
      leads = false;
      if (client !== null) await drop(client);
    },
  };
}
