/**
 * Requests per second of `/v1/markets?prices=0` from the real api, with every protection on, over a bare Express 5
 * route that sends the same bytes. Each server is a process of its own; autocannon's connections are the same for all.
 *
 * The api's access log is really written in the figure that is judged (`ratio`): its lines are of level debug, so the
 * process runs at that level. `ratioAtDefaultLevel` is that of the default level, where only faults are written.
 * `usualRatio` is what the usual middleware stack with the same protections reaches.
 */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startApiProcess } from './measure/api-process.ts';
import { startBenchChain } from './measure/chain.ts';
import { requestsPerSecond } from './measure/load.ts';
import { type ServerProcess, startServerProcess } from './measure/process.ts';
import { sideBySide } from './measure/rounds.ts';
import type { Bench } from './types.ts';

const here = dirname(fileURLToPath(import.meta.url));
const PATH = '/v1/markets?prices=0';
const ROUNDS = 5;
const SIDE_ROUNDS = 3;
const SECONDS = 2;
const CONNECTIONS = 20;
/** The most that the setting allows: on, and never reached. */
const LIMIT = '1000000';

const settings = (level: string) => ({ HTTP_REQUESTS_PER_MINUTE: LIMIT, LOG_LEVEL: level });

function startOther(name: 'bare' | 'usual', body: string): Promise<ServerProcess> {
  return startServerProcess({
    entry: join(here, 'reads', `${name}-entry.ts`),
    readyPath: PATH,
    env: (port, folder) => {
      const bodyFile = join(folder, 'body.json');
      writeFileSync(bodyFile, body);
      return {
        PORT: String(port),
        BODY_FILE: bodyFile,
        HTTP_REQUESTS_PER_MINUTE: LIMIT,
        LOG_LEVEL: 'debug',
      };
    },
  });
}

export const bench: Bench = async ({ say }) => {
  const { anvil, manifest } = await startBenchChain(say);
  const servers: ServerProcess[] = [];
  const started = async (server: Promise<ServerProcess>): Promise<ServerProcess> => {
    servers.push(await server);
    return server;
  };
  try {
    const api = await started(startApiProcess(anvil.url, manifest, settings('debug')));
    const quiet = await started(startApiProcess(anvil.url, manifest, settings('info')));
    const body = await (await fetch(`${api.url}${PATH}`)).text();
    const bare = await started(startOther('bare', body));
    const usual = await started(startOther('usual', body));
    const rate = (server: ServerProcess) => () =>
      requestsPerSecond({
        url: `${server.url}${PATH}`,
        connections: CONNECTIONS,
        seconds: SECONDS,
      });
    const against = (name: string, ours: ServerProcess, rounds: number) =>
      sideBySide({
        rounds,
        ours: rate(ours),
        baseline: rate(bare),
        say: (line) => say(`${name}: ${line}`),
      });
    const judged = await against('api, access log written', api, ROUNDS);
    const lines = api.output().split('\n').length;
    const atDefault = await against('api, default log level', quiet, SIDE_ROUNDS);
    const usually = await against('usual stack', usual, SIDE_ROUNDS);
    return {
      ratio: judged.ratio,
      ratios: judged.ratios,
      oursPerSecond: judged.ours,
      bareExpressPerSecond: judged.baseline,
      ratioAtDefaultLevel: atDefault.ratio,
      usualRatio: usually.ratio,
      bodyBytes: Buffer.byteLength(body),
      logLines: lines,
      connections: CONNECTIONS,
    };
  } finally {
    for (const server of servers.toReversed()) await server.stop();
    await anvil.stop();
  }
};
