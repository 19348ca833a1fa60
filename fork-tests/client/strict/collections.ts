/** Combinators of lists, tuples and maps; see shape.ts. */
import { at, type Infer, type Rule, type Shape, typeOf } from './shape.ts';

export function array<T>(item: Shape<T>, rules: readonly Rule<T[]>[] = []): Shape<T[]> {
  return {
    types: ['array'],
    check(value, place, notes): value is T[] {
      notes.seen.push({ place, types: this.types, deformed: [] });
      if (!Array.isArray(value)) {
        notes.fault(place, `array expected, ${typeOf(value)} found`);
        return false;
      }
      const before = notes.faults.length;
      for (const [index, element] of value.entries()) {
        item.check(element, at(place, index, '*'), notes);
      }
      if (notes.faults.length === before) {
        for (const rule of rules) {
          const message = rule(value as T[]);
          if (message !== undefined) notes.fault(place, message);
        }
      }
      return notes.faults.length === before;
    },
    deform: () => [],
    names: (name) => [name, ...item.names(`${name}.*`)],
  };
}

/** An array of exactly these elements, in this order. */
export function tuple<const S extends readonly Shape<unknown>[]>(
  ...items: S
): Shape<{ -readonly [K in keyof S]: Infer<S[K]> }> {
  type T = { -readonly [K in keyof S]: Infer<S[K]> };
  return {
    types: ['array'],
    check(value, place, notes): value is T {
      const deformed = this.deform(value);
      notes.seen.push({ place, types: this.types, deformed });
      if (!Array.isArray(value) || value.length !== items.length) {
        notes.fault(place, `array of ${items.length} expected`);
        return false;
      }
      return items
        .map((item, index) => item.check(value[index], at(place, index), notes))
        .every(Boolean);
    },
    deform: (value) => (Array.isArray(value) ? [value.slice(1), [...value, value[0]]] : []),
    names: (name) => [name, ...items.flatMap((item, index) => item.names(`${name}.${index}`))],
  };
}

type MapOptions<T> = {
  key?: RegExp;
  /** Whether an entry may be missing without breaking a rule; absent: none may. */
  open?: (name: string, entry: unknown) => boolean;
  rules?: readonly Rule<Record<string, T>>[];
};

/** An object whose keys are data (symbols, names of endpoints). */
export function map<T>(
  item: Shape<T>,
  { key = /^.+$/, open = () => false, rules = [] }: MapOptions<T> = {},
): Shape<Record<string, T>> {
  return {
    types: ['object'],
    check(value, place, notes): value is Record<string, T> {
      notes.seen.push({ place, types: this.types, deformed: [] });
      if (typeOf(value) !== 'object') {
        notes.fault(place, `object expected, ${typeOf(value)} found`);
        return false;
      }
      const before = notes.faults.length;
      for (const [name, element] of Object.entries(value as object)) {
        const entry = at(place, name, '*');
        if (open(name, element)) notes.optional.push(entry);
        if (!key.test(name)) notes.fault(entry, `key does not match ${key.source}`);
        item.check(element, entry, notes);
      }
      if (notes.faults.length === before) {
        for (const rule of rules) {
          const message = rule(value as Record<string, T>);
          if (message !== undefined) notes.fault(place, message);
        }
      }
      return notes.faults.length === before;
    },
    deform: () => [],
    names: (name) => [name, ...item.names(`${name}.*`)],
  };
}
