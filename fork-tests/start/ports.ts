/** Ports of the main job: checked before anything is started, so that a taken one costs nothing. */
import { createServer } from 'node:net';

export type PortUse = { variable: string; port: number; what: string };

/** True when something listens there already. */
export async function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(true));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(false)));
  });
}

/** One line per taken port that says what to do; empty when all are free. */
export async function takenPorts(uses: readonly PortUse[]): Promise<string[]> {
  const lines: string[] = [];
  for (const [index, { variable, port, what }] of uses.entries()) {
    const another = `${variable}=${port > 55_535 ? port - 10_000 : port + 10_000} npm start`;
    const twin = uses.slice(0, index).find((earlier) => earlier.port === port);
    if (twin !== undefined) {
      lines.push(
        `Port ${port} is given to the ${twin.what} and the ${what}. Choose another: ${another}`,
      );
    } else if (await isTaken(port)) {
      lines.push(
        `Port ${port} (${what}) is taken. Stop what uses it, or choose another: ${another}`,
      );
    }
  }
  return lines;
}
