import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Abi } from 'viem';
import { describe, expect, it } from 'vitest';
import * as generated from './generated/index.ts';

const page = readFileSync(new URL('./README.md', import.meta.url), 'utf8');
const solidity = readFileSync(new URL('./solidity/src/Constants.sol', import.meta.url), 'utf8');
const sources = new URL('./solidity/src/', import.meta.url);

/** Functions that change something, of every contract of ours that has any: "CoverMarket take". */
function changing(): string[] {
  const folders = ['accounts', 'basket', 'cover', 'governance', 'orders'];
  const own = (name: string) =>
    folders.some((folder) => existsSync(new URL(`${folder}/${name}.sol`, sources)));
  return Object.entries(generated as Record<string, unknown>).flatMap(([key, abi]) => {
    const name = key.charAt(0).toUpperCase() + key.slice(1, -'Abi'.length);
    if (!key.endsWith('Abi') || !own(name)) return [];
    return (abi as Abi).flatMap((item) =>
      item.type === 'function' && !['view', 'pure'].includes(item.stateMutability)
        ? [`${name} ${item.name}`]
        : [],
    );
  });
}

describe('the roles page', () => {
  it('lists every constant of the contracts with its value and a source, and no other', () => {
    const declared = [
      ...solidity.matchAll(/^ {4}(?:uint256|int24|address) internal constant (\w+) = ([\w ]+);/gm),
    ].map(([, name, value]) => `${name} = ${value}`);
    const rows = [...page.matchAll(/^\| `([A-Z_\d]+)` +\| `([\w ]+)` +\| (.+?) +\|$/gm)];
    expect(declared.length).toBe(solidity.match(/\bconstant\b/g)?.length);
    expect(rows.map(([, name, value]) => `${name} = ${value}`)).toEqual(declared);
    for (const [, name, , source] of rows) {
      expect(`${name}: ${source}`).toMatch(
        /interface\.md \d+|protocol\.md|wire\.md|rule|ours|scale|basis/,
      );
    }
  });

  it('says of every function that changes something who may call it, and what a pause does to it', () => {
    const rows = [
      ...page.matchAll(/^\| `(\w+)` +\| ((?:`\w+` *)+)\| [^|]+ \| (?:runs|refused) +\|$/gm),
    ].flatMap(([, contract, names = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${contract} ${name}`),
    );
    expect(rows.toSorted()).toEqual(changing().toSorted());
  });

  it('knows every contract: those without a row have nothing that changes', () => {
    const contracts = readdirSync(sources, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.sol') && !file.startsWith('testing'))
      .flatMap((file) => [
        ...readFileSync(new URL(file, sources), 'utf8').matchAll(/^contract (\w+)/gm),
      ])
      .map(([, name]) => name as string);
    const tabled = new Set(changing().map((line) => line.split(' ')[0]));
    const named = contracts.filter((name) => !tabled.has(name)).toSorted();
    expect(named).toEqual(['AccountsGenesis']);
    for (const name of named) expect(page).toContain(`\`${name}\``);
  });
});
