/**
 * What JSON.parse forgives and a signed order must not: a key given twice (the last one silently wins, so a proxy or a
 * log in front may have read another order than we did) and nesting that no body of ours has.
 */
export type JsonTextProblem = { tag: 'duplicate_key' } | { tag: 'too_deep' };

const MAX_DEPTH = 8;

/**
 * @param text JSON that already parsed without an error.
 * @returns the first problem, or null.
 */
export function jsonTextProblem(text: string): JsonTextProblem | null {
  // One entry per open bracket: the keys seen of an object, or null for an array.
  const open: (Set<string> | null)[] = [];
  let index = 0;
  while (index < text.length) {
    const char = text[index];
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : null);
      if (open.length > MAX_DEPTH) return { tag: 'too_deep' };
    } else if (char === '}' || char === ']') {
      open.pop();
    } else if (char === '"') {
      const end = stringEnd(text, index);
      const keys = open.at(-1);
      if (keys instanceof Set && nextIsColon(text, end)) {
        const key = JSON.parse(text.slice(index, end)) as string;
        if (keys.has(key)) return { tag: 'duplicate_key' };
        keys.add(key);
      }
      index = end;
      continue;
    }
    index += 1;
  }
  return null;
}

/** Index just past the closing quote of the string that opens at `start`. */
function stringEnd(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index + 1;
}

function nextIsColon(text: string, from: number): boolean {
  let index = from;
  while (/\s/.test(text[index] ?? '')) index += 1;
  return text[index] === ':';
}
