/** The one logger: pino JSON lines; a child per module; errors under `err`; bigints as decimal strings. */
import { type Logger, type LoggerOptions, pino, stdSerializers } from 'pino';
import { createLogSink, type LogSink } from './log-sink.ts';

/** 32 bytes of hex may be somebody's private key: never written where a request put it. */
export function redactSecrets(text: string): string {
  return text.replace(/(?:0x)?[0-9a-fA-F]{64,}/g, '[32 bytes]');
}

/** RPC URLs may carry an API key: only scheme and host are logged. */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return '[url]';
  const url = new URL(text);
  return `${url.protocol}//${url.host}`;
}

/** The same for every URL within a text. */
export function redactUrls(text: string): string {
  return text.replace(/\b(?:https?|wss?|postgres(?:ql)?):\/\/[^\s"'`<>]+/gi, redactUrl);
}

function plain(value: unknown, depth = 0): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (depth > 6) return '[deep]';
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => plain(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, plain(item, depth + 1)]),
  );
}

/** viem errors repeat the whole request with its calldata: keep the short message and the name. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const short = 'shortMessage' in error ? String(error.shortMessage) : null;
  const full = stdSerializers.err(error);
  return {
    type: full.type,
    message: redactSecrets(redactUrls(short ?? error.message).slice(0, 500)),
    stack:
      short === null ? redactSecrets(redactUrls(error.stack ?? '').slice(0, 2_000)) : undefined,
    code: 'code' in error ? error.code : undefined,
  };
}

/** Last lines get this long to reach a slow reader. */
const EXIT_FLUSH_MS = 500;

let stdout: LogSink | null = null;

/** One for the process: what is pending goes out at its end, however many loggers write. */
function stdoutSink(): LogSink {
  if (stdout === null) {
    const sink = createLogSink(1);
    process.once('exit', () => sink.flush(EXIT_FLUSH_MS));
    stdout = sink;
  }
  return stdout;
}

/** @param sink where lines go; absent: standard output. */
export function createLogger(
  processName: string,
  level: string,
  sink: { write(line: string): void } = stdoutSink(),
): Logger {
  const options: LoggerOptions = {
    name: processName,
    level,
    base: { process: processName },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: serializeError },
    formatters: {
      level: (label) => ({ level: label }),
      log: (object) => plain(object) as Record<string, unknown>,
    },
  };
  return pino(options, sink);
}

export type { Logger } from 'pino';
