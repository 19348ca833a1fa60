/**
 * The combinators of the strict parser. A shape says what the documents (interface.md, wire.md) allow at one place of
 * a body, and nothing of it comes from the server's own schemas.
 *
 * What must hold: a field that the documents require cannot be left out or be of another JSON type unnoticed; a field
 * that they do not name is allowed and noted, so that a test can list what was let through and why (`Notes`).
 */

export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

export type Place = {
  /** Keys and indexes from the root of the body. */
  readonly path: readonly (string | number)[];
  /** The same with `*` for indexes and for the keys of maps: the name of the field. */
  readonly name: string;
};

export type Fault = { at: string; message: string };

/** What one parse saw. */
export class Notes {
  readonly faults: Fault[] = [];
  /** Places whose absence the documents allow: optional fields, extra fields of ours, entries of open maps. */
  readonly optional: Place[] = [];
  /** Fields that neither the documents nor the list of our extras name. */
  readonly unknown: Place[] = [];
  /** Every place that was checked, with the JSON types allowed there and values of the right type that are not. */
  readonly seen: {
    place: Place;
    types: readonly JsonType[];
    deformed: readonly unknown[];
  }[] = [];

  fault(at: Place, message: string): void {
    this.faults.push({ at: at.path.join('/'), message });
  }
}

export interface Shape<T> {
  readonly types: readonly JsonType[];
  /** Adds to the notes; returns whether the value is a T. */
  check(value: unknown, at: Place, notes: Notes): value is T;
  /** Values of an allowed JSON type that must be refused where this one was accepted. */
  deform(value: unknown): readonly unknown[];
  /** Names of all places below and including `name`. */
  names(name: string): string[];
}

export type Infer<S> = S extends Shape<infer T> ? T : never;

export const ROOT: Place = { path: [], name: '' };

export function at(place: Place, key: string | number, name: string | number = key): Place {
  return {
    path: [...place.path, key],
    name: place.name === '' ? `${name}` : `${place.name}.${name}`,
  };
}

export function typeOf(value: unknown): JsonType | 'none' {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'boolean' || type === 'number' || type === 'string' || type === 'object'
    ? type
    : 'none';
}

/** A rule over a value whose parts are sound; the message says what it breaks, undefined means it holds. */
export type Rule<T> = (value: T) => string | undefined;

type Leaf<T> = {
  type: JsonType;
  rule: Rule<T>;
  deform?: (value: T) => readonly unknown[];
};

export function leaf<T>({ type, rule, deform }: Leaf<T>): Shape<T> {
  return {
    types: [type],
    check(value, place, notes): value is T {
      notes.seen.push({ place, types: this.types, deformed: this.deform(value) });
      const found = typeOf(value);
      const message = found === type ? rule(value as T) : `${type} expected, ${found} found`;
      if (message !== undefined) notes.fault(place, message);
      return message === undefined;
    },
    deform: (value) => (typeOf(value) === type ? (deform?.(value as T) ?? []) : []),
    names: (name) => [name],
  };
}

export function literal<const L extends string | number | boolean>(...allowed: L[]): Shape<L> {
  return leaf<L>({
    type: typeof allowed[0] as JsonType,
    rule: (value) => (allowed.includes(value) ? undefined : `none of ${allowed.join(', ')}`),
    deform: (value) => {
      if (typeof value === 'string') return [`${value}_`, value === '' ? 'x' : ''];
      return typeof value === 'number' ? [value + 1] : [!value];
    },
  });
}

/** Always null here. */
export const nothing = leaf<null>({ type: 'null', rule: () => undefined });

export function nullable<T>(inner: Shape<T>): Shape<T | null> {
  const types = [...inner.types, 'null'] as const;
  return {
    types,
    check(value, place, notes): value is T | null {
      if (value === null) {
        notes.seen.push({ place, types, deformed: [] });
        return true;
      }
      const from = notes.seen.length;
      const holds = inner.check(value, place, notes);
      // The first note of the inner shape is this place itself.
      const own = notes.seen[from];
      if (own !== undefined) notes.seen[from] = { ...own, types };
      return holds;
    },
    deform: (value) => (value === null ? [] : inner.deform(value)),
    names: (name) => inner.names(name),
  };
}

type Fields = Record<string, Shape<unknown>>;
export type Parsed<R extends Fields, O extends Fields> = {
  [K in keyof R]: Infer<R[K]>;
} & { [K in keyof O]?: Infer<O[K]> };

export type ObjectShape<R extends Fields, O extends Fields> = Shape<Parsed<R, O>> & {
  readonly required: R;
  readonly options: ObjectOptions<R, O>;
};

type ObjectOptions<R extends Fields, O extends Fields> = {
  /** Fields that the documents mark with `?`. */
  optional?: O;
  /** Extra fields of ours: may be missing, of this shape when present. */
  ours?: Fields;
  /** Fields of a sibling form, which must be absent from this one. */
  absent?: readonly string[];
  rules?: readonly Rule<Parsed<R, O>>[];
};

export function object<R extends Fields, O extends Fields = { [K in never]: Shape<unknown> }>(
  required: R,
  options: ObjectOptions<R, O> = {},
): ObjectShape<R, O> {
  const loose: Fields = { ...options.optional, ...options.ours };
  return {
    required,
    options,
    types: ['object'],
    check(value, place, notes): value is Parsed<R, O> {
      notes.seen.push({ place, types: this.types, deformed: [] });
      if (typeOf(value) !== 'object') {
        notes.fault(place, `object expected, ${typeOf(value)} found`);
        return false;
      }
      const before = notes.faults.length;
      const fields = value as Record<string, unknown>;
      for (const [key, shape] of Object.entries(required)) {
        if (Object.hasOwn(fields, key)) shape.check(fields[key], at(place, key), notes);
        else notes.fault(at(place, key), 'missing');
      }
      for (const key of Object.keys(fields)) {
        if (Object.hasOwn(required, key)) continue;
        const field = at(place, key);
        notes.optional.push(field);
        const shape = loose[key];
        if (options.absent?.includes(key) === true) notes.fault(field, 'belongs to another form');
        else if (shape === undefined) notes.unknown.push(field);
        else shape.check(fields[key], field, notes);
      }
      if (notes.faults.length === before) {
        for (const rule of options.rules ?? []) {
          const message = rule(value as Parsed<R, O>);
          if (message !== undefined) notes.fault(place, message);
        }
      }
      return notes.faults.length === before;
    },
    deform: () => [],
    names: (name) => [
      name,
      ...Object.entries({ ...required, ...loose }).flatMap(([key, shape]) =>
        shape.names(at({ path: [], name }, key).name),
      ),
    ],
  };
}

type Forms = readonly (readonly [value: unknown, shape: Shape<unknown>])[];

/** One of several objects, told apart by a field's value. */
export function oneOf<const F extends Forms>(field: string, forms: F): Shape<Infer<F[number][1]>> {
  return {
    types: ['object'],
    check(value, place, notes): value is Infer<F[number][1]> {
      const tag =
        typeOf(value) === 'object' ? (value as Record<string, unknown>)[field] : undefined;
      const form = forms.find(([wanted]) => wanted === tag);
      if (form !== undefined) return form[1].check(value, place, notes);
      notes.fault(
        place,
        `${field} is none of ${forms.map(([wanted]) => String(wanted)).join(', ')}`,
      );
      return false;
    },
    deform: () => [],
    names: (name) => [...new Set(forms.flatMap(([, shape]) => shape.names(name)))],
  };
}

/** The shape with some rules more. */
export function ruled<T>(shape: Shape<T>, ...rules: readonly Rule<T>[]): Shape<T> {
  return {
    ...shape,
    check(value, place, notes): value is T {
      if (!shape.check(value, place, notes)) return false;
      const messages = rules.flatMap((rule) => rule(value) ?? []);
      for (const message of messages) notes.fault(place, message);
      return messages.length === 0;
    },
  };
}

export class StrictParseError extends Error {
  override readonly name = 'StrictParseError';
  readonly faults: readonly Fault[];
  constructor(faults: readonly Fault[]) {
    super(faults.map(({ at: where, message }) => `${where || '(root)'}: ${message}`).join('\n'));
    this.faults = faults;
  }
}

export function notesOf(shape: Shape<unknown>, value: unknown): Notes {
  const notes = new Notes();
  shape.check(value, ROOT, notes);
  return notes;
}

/** @throws StrictParseError naming every place that breaks the shape */
export function parse<T>(shape: Shape<T>, value: unknown): T {
  const notes = new Notes();
  if (!shape.check(value, ROOT, notes)) throw new StrictParseError(notes.faults);
  return value;
}
