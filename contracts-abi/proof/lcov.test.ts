import { describe, expect, it } from 'vitest';
import { add, branchesOf, linesOf, missing, percent, readLcov, type FileCoverage } from './lcov.ts';

const RUN = `TN:
SF:src/a/One.sol
DA:3,2
DA:4,0
FN:3,One.f
BRDA:3,0,0,1
BRDA:3,0,1,-
BRDA:4,1,0,0
end_of_record
SF:src/Two.sol
DA:1,1
end_of_record
`;

const one = (files: Map<string, FileCoverage>) => files.get('src/a/One.sol') as FileCoverage;

describe('lcov', () => {
  it('counts lines and branches, a dash as a branch not taken', () => {
    const files = readLcov(RUN);
    expect([...files.keys()]).toEqual(['src/a/One.sol', 'src/Two.sol']);
    expect(linesOf(one(files))).toEqual({ found: 2, hit: 1 });
    expect(branchesOf(one(files))).toEqual({ found: 3, hit: 1 });
    expect(missing(one(files))).toEqual({ lines: [4], branches: [3, 4] });
  });

  it('adds runs up: what one of them reached was reached', () => {
    const files = readLcov(
      'SF:src/a/One.sol\nDA:4,1\nBRDA:3,0,1,2\nend_of_record\n',
      readLcov(RUN),
    );
    expect(linesOf(one(files))).toEqual({ found: 2, hit: 2 });
    expect(missing(one(files))).toEqual({ lines: [], branches: [4] });
  });

  it('gives a file without branches all of them', () => {
    expect(percent({ found: 0, hit: 0 })).toBe(100);
    expect(percent(add({ found: 1, hit: 1 }, { found: 3, hit: 2 }))).toBe(75);
  });
});
