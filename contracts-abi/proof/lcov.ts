// Reads the coverage that forge wrote.

export type FileCoverage = {
  file: string;
  lines: Map<number, number>; // line → times run
  branches: Map<string, { line: number; taken: number }>; // "line,block,branch" → times taken
};

/** Adds the records of one lcov text to those read before; a line or branch that any run reached was reached. */
export function readLcov(text: string, files: Map<string, FileCoverage> = new Map()) {
  let current: FileCoverage | undefined;
  for (const row of text.split('\n')) {
    const [kind = '', rest = ''] = row.split(/:(.*)/s);
    if (kind === 'SF') {
      current = files.get(rest) ?? { file: rest, lines: new Map(), branches: new Map() };
      files.set(rest, current);
    } else if (kind === 'DA' && current !== undefined) {
      const [line = 0, hits = 0] = rest.split(',').map(Number);
      current.lines.set(line, (current.lines.get(line) ?? 0) + hits);
    } else if (kind === 'BRDA' && current !== undefined) {
      const [line = '', block = '', branch = '', taken = ''] = rest.split(',');
      const key = `${line},${block},${branch}`;
      const before = current.branches.get(key)?.taken ?? 0;
      const times = taken === '-' ? 0 : Number(taken);
      current.branches.set(key, { line: Number(line), taken: before + times });
    }
  }
  return files;
}

export type Share = { found: number; hit: number };

export const linesOf = ({ lines }: FileCoverage): Share => ({
  found: lines.size,
  hit: [...lines.values()].filter((hits) => hits > 0).length,
});

export const branchesOf = ({ branches }: FileCoverage): Share => ({
  found: branches.size,
  hit: [...branches.values()].filter(({ taken }) => taken > 0).length,
});

export const add = (a: Share, b: Share): Share => ({
  found: a.found + b.found,
  hit: a.hit + b.hit,
});

/** Per cent; a file without branches has them all. */
export const percent = ({ found, hit }: Share) => (found === 0 ? 100 : (100 * hit) / found);

/** Line numbers that nothing reached, and those of branches that nothing took. */
export function missing({ lines, branches }: FileCoverage) {
  const missed = [...lines].filter(([, hits]) => hits === 0).map(([line]) => line);
  const untaken = [...branches.values()].filter(({ taken }) => taken === 0).map(({ line }) => line);
  return {
    lines: missed.toSorted((a, b) => a - b),
    branches: untaken.toSorted((a, b) => a - b),
  };
}
