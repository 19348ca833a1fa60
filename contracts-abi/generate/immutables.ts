/**
 * Names of the immutables in a contract's code: the compiler tells their places by the ids of their declarations, which
 * are found in the syntax trees of the sources. Ids are of one compilation: where a build left the trees of some files
 * as an earlier one wrote them, the declarations of a contract's bases are not found, and that is an error here.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where it stands in the code, in bytes: each place is a word of 32. */
export type Immutable = { type: 'address' | 'bytes32' | 'uint256'; places: number[] };

export type References = Record<string, { start: number; length: number }[]>;

type Declaration = {
  nodeType: string;
  id: number;
  name: string;
  mutability?: string;
  typeDescriptions?: { typeIdentifier?: string };
};
type Definition = Declaration & { linearizedBaseContracts?: number[]; nodes?: Declaration[] };
type Compiled = { ast?: { nodes: Definition[] } };

export type Definitions = ReadonlyMap<number, Definition>;

/** Thrown where artifacts are of several compilations. */
export class MixedBuildError extends Error {}

/** Every contract, interface and library of the build, by the id of its definition. */
export function definitionsIn(out: string): Definitions {
  const found = new Map<number, Definition>();
  for (const source of readdirSync(out).filter((name) => name.endsWith('.sol'))) {
    for (const file of readdirSync(join(out, source))) {
      const { ast } = JSON.parse(readFileSync(join(out, source, file), 'utf8')) as Compiled;
      for (const node of ast?.nodes ?? []) {
        if (node.nodeType === 'ContractDefinition') found.set(node.id, node);
      }
    }
  }
  return found;
}

/** By name, in the order of their first places. */
export function immutablesOf(
  contract: string,
  references: References,
  definitions: Definitions,
): Record<string, Immutable> {
  const own = [...definitions.values()].filter(({ name }) => name === contract);
  if (own.length !== 1) throw new MixedBuildError(`${contract}: ${own.length} definitions of it`);
  const bases = (own[0]?.linearizedBaseContracts ?? []).map((id) => definitions.get(id));
  const declared = bases.flatMap((base) => base?.nodes ?? []);
  const named = Object.entries(references).map(([id, spans]) => {
    const declaration = declared.find((node) => String(node.id) === id);
    if (bases.includes(undefined) || declaration?.mutability !== 'immutable') {
      throw new MixedBuildError(`${contract}: no immutable of it is declared under id ${id}`);
    }
    if (spans.some(({ length }) => length !== 32)) {
      throw new Error(`${contract}: ${declaration.name} is not a word of 32 bytes`);
    }
    const places = spans.map(({ start }) => start).toSorted((a, b) => a - b);
    return [declaration.name, { type: typeOf(declaration), places }] as const;
  });
  if (new Set(named.map(([name]) => name)).size !== named.length) {
    throw new Error(`${contract}: two of its immutables have one name`);
  }
  return Object.fromEntries(
    named.toSorted(([, a], [, b]) => (a.places[0] ?? 0) - (b.places[0] ?? 0)),
  );
}

function typeOf({ name, typeDescriptions }: Declaration): Immutable['type'] {
  const type = typeDescriptions?.typeIdentifier ?? '';
  if (type === 't_address' || type.startsWith('t_contract$')) return 'address';
  if (type === 't_bytes32' || type.startsWith('t_userDefinedValueType$_ShortString')) {
    return 'bytes32';
  }
  if (/^t_uint\d+$/.test(type)) return 'uint256';
  throw new Error(`${name}: immutables of type ${type} are not known here`);
}
