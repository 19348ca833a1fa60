/**
 * Every way to spoil one field of a body: leave it out, give it another JSON type, give it a value of its type that the
 * documents refuse. A strict parser refuses each, apart from what the documents allow; `survivors` are those that it
 * did not refuse, by the field's name.
 */
import { type JsonType, type Notes, notesOf, type Place, type Shape, typeOf } from './shape.ts';

export type Outcome = {
  /** Mutants tried. */
  tried: number;
  /** Fields whose absence went through. */
  deletions: Set<string>;
  /** Fields whose absence the documents allow, and that were present here. */
  optional: Set<string>;
  /** Fields with a type that they took instead of theirs, as `nav → null`. */
  retypes: Set<string>;
  /** The same that the documents allow (`num|null`). */
  alternatives: Set<string>;
  /** Spoilt values that went through, as `nav = 1.23456789012`. */
  deformed: Set<string>;
  /** Fields that neither the documents nor the list of our extras know. */
  unknown: Set<string>;
};

const TYPES: readonly JsonType[] = ['null', 'boolean', 'number', 'string', 'array', 'object'];

/** The value as another type, as near to it as that type comes. */
const CASTS: Readonly<Record<JsonType, (value: unknown) => readonly unknown[]>> = {
  null: () => [null],
  boolean: () => [true, false],
  number: (value) => [Number.isFinite(Number(value)) ? Number(value) : 2, 0, 1],
  string: (value) => [JSON.stringify(value), ''],
  array: (value) => [[], [value]],
  object: (value) => [{}, { value }],
};

type Holder = Record<string | number, unknown>;

function holderOf(body: unknown, { path }: Place): { holder: Holder; key: string | number } {
  let holder = body as Holder;
  for (const key of path.slice(0, -1)) holder = holder[key] as Holder;
  return { holder, key: path.at(-1) ?? '' };
}

/** Tries every mutant of the body; the body is as before afterwards. */
export function mutate(shape: Shape<unknown>, body: unknown): Outcome {
  const sound: Notes = notesOf(shape, body);
  if (sound.faults.length > 0)
    throw new Error(`sound bodies only: ${JSON.stringify(sound.faults)}`);
  const outcome: Outcome = {
    tried: 0,
    deletions: new Set(),
    optional: new Set(sound.optional.map(({ name }) => name)),
    retypes: new Set(),
    alternatives: new Set(),
    deformed: new Set(),
    unknown: new Set(sound.unknown.map(({ name }) => name)),
  };
  const passes = (): boolean => {
    outcome.tried += 1;
    return notesOf(shape, body).faults.length === 0;
  };
  const deletable = new Map(
    [...sound.seen, ...sound.unknown.map((place) => ({ place }))].map(({ place }) => [
      place.path.join('/'),
      place,
    ]),
  );
  for (const place of deletable.values()) {
    const { holder, key } = holderOf(body, place);
    // An element of a list is no field: a list may be shorter.
    if (place.path.length === 0 || Array.isArray(holder)) continue;
    const value = holder[key];
    delete holder[key];
    if (passes()) outcome.deletions.add(place.name);
    holder[key] = value;
  }
  for (const { place, types, deformed } of sound.seen) {
    if (place.path.length === 0) continue;
    const { holder, key } = holderOf(body, place);
    const value = holder[key];
    for (const type of TYPES) {
      if (type === typeOf(value)) continue;
      const note = `${place.name} → ${type}`;
      if (types.includes(type)) outcome.alternatives.add(note);
      for (const other of CASTS[type](value)) {
        holder[key] = other;
        if (passes()) outcome.retypes.add(note);
      }
    }
    for (const spoilt of deformed) {
      holder[key] = spoilt;
      if (passes()) outcome.deformed.add(`${place.name} = ${JSON.stringify(spoilt)}`);
    }
    holder[key] = value;
  }
  return outcome;
}
