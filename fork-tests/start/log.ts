/** One readable log of several processes: time, process, level, message and the few fields that matter. */

const LEVEL_MARK: Record<string, string> = { warn: '!', error: '!!', fatal: '!!!' };
const HIDDEN = new Set(['level', 'time', 'process', 'name', 'pid', 'hostname', 'msg', 'err', 'v']);

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}

/** A pino JSON line as text; any other line as it stands. */
export function readableLine(processName: string, line: string): string {
  const column = processName.padEnd(8);
  if (!line.startsWith('{')) return `${column} ${line}`;
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line) as Record<string, unknown>;
  } catch {
    // expected: a line that only looks like JSON
    return `${column} ${line}`;
  }
  const mark = LEVEL_MARK[String(entry.level)] ?? ' ';
  const time = typeof entry.time === 'string' ? entry.time.slice(11, 19) : '';
  const fields = Object.entries(entry)
    .filter(([name, value]) => !HIDDEN.has(name) && value !== undefined)
    .map(([name, value]) => `${name}=${short(value)}`);
  const error = entry.err as { message?: string; stack?: string } | undefined;
  if (error !== undefined) fields.push(`error="${error.message ?? 'unknown'}"`);
  return `${time} ${column}${mark.padEnd(3)} ${typeof entry.msg === 'string' ? entry.msg : ''}  ${fields.join(' ')}`.trimEnd();
}
