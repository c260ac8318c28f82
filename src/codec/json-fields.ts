/** JSON in records that people read too: under their names, values of the kind that is asked for. */
import type { Words } from '../kernel/words.ts';
import type { IdRange } from '../deadletters/letter-commands.ts';

export function fieldsOf(json: Uint8Array): Fields {
  return new Fields(JSON.parse(new TextDecoder().decode(json)));
}

export function jsonBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** The fields of an object. Each method throws where its field is not there, or not of its kind. */
export class Fields {
  readonly #value: object;

  constructor(value: unknown) {
    if (typeof value !== 'object' || value === null) throw new Error('an object is missing');
    this.#value = value;
  }

  has(name: string): boolean {
    return this.#at(name) !== undefined;
  }

  text(name: string): string {
    const value = this.#at(name);
    if (typeof value !== 'string') throw new Error(`${name} is no text`);
    return value;
  }

  texts<Name extends string>(...names: readonly Name[]): { readonly [One in Name]: string } {
    return Object.fromEntries(names.map((name) => [name, this.text(name)])) as { readonly [One in Name]: string };
  }

  numbers<Name extends string>(...names: readonly Name[]): { readonly [One in Name]: number } {
    return Object.fromEntries(names.map((name) => [name, this.number(name)])) as { readonly [One in Name]: number };
  }

  number(name: string): number {
    const value = this.#at(name);
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`${name} is no number`);
    return value;
  }

  /** Whole, and not below 0. */
  count(name: string): number {
    return countIn(this.#at(name), name);
  }

  counts(name: string): readonly number[] {
    return this.#items(name).map((item) => countIn(item, name));
  }

  flag(name: string): boolean {
    const value = this.#at(name);
    if (typeof value !== 'boolean') throw new Error(`${name} is neither true nor false`);
    return value;
  }

  time(name: string): number {
    const timeMs = Date.parse(this.text(name));
    if (Number.isNaN(timeMs)) throw new Error(`${name} is no time`);
    return timeMs;
  }

  oneOf<Name extends string>(name: string, names: Words<Name>): Name {
    const text = this.text(name);
    const found = names.find(text);
    if (found === undefined) throw new Error(`this version does not know the ${name} ${text}`);
    return found;
  }

  object(name: string): Fields {
    return new Fields(this.#at(name));
  }

  list(name: string): readonly Fields[] {
    return this.#items(name).map((item) => new Fields(item));
  }

  ranges(name: string): readonly IdRange[] {
    let last = -1;
    return this.#items(name).map((item): IdRange => {
      const [from, to]: readonly unknown[] = Array.isArray(item) ? item : [];
      const isRange = Number.isSafeInteger(from) && Number.isSafeInteger(to) && last < Number(from) && Number(from) <= Number(to);
      if (!isRange) throw new Error(`${name} are no ranges that rise`);
      last = Number(to);
      return { from: Number(from), to: last };
    });
  }

  #items(name: string): readonly unknown[] {
    const value = this.#at(name);
    if (!Array.isArray(value)) throw new Error(`${name} is no list`);
    return value;
  }

  #at(name: string): unknown {
    return Reflect.get(this.#value, name);
  }
}

function countIn(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw new Error(`${name} is no whole number from 0 up`);
  return value;
}
