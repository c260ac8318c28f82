/**
 * TOML, as files of client configuration have it:
 *
 *     [profile.prod]                 tables, dotted and quoted keys
 *     address = "prod:7233"          strings of all four kinds, lists, inline tables, true and false
 *     retries = 3                    numbers and times as the text that stands there: nothing here reads them
 */
export type TomlValue = string | boolean | readonly TomlValue[] | TomlTable;
export interface TomlTable extends ReadonlyMap<string, TomlValue> {}

export class TomlError extends Error {
  override readonly name = 'TomlError';
  /** From 1. */
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

type Table = Map<string, TomlValue>;

/** Throws a TomlError. */
export function parseToml(text: string): TomlTable {
  return new Reader(text.replaceAll('\r\n', '\n')).document();
}

const DEPTH_MAX = 32;
const escapes: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['t', '\t'],
  ['n', '\n'],
  ['f', '\f'],
  ['r', '\r'],
  ['e', '\u001b'],
  ['"', '"'],
  ['\\', '\\'],
]);

class Reader {
  readonly #text: string;
  #at = 0;
  /** Tables that a header named, or an inline table: nobody else may. */
  readonly #closed = new Set<TomlValue>();

  constructor(text: string) {
    this.#text = text;
  }

  document(): TomlTable {
    const root: Table = new Map();
    let table = root;
    for (this.#skip(true); this.#at < this.#text.length; this.#skip(true)) {
      if (this.#takes('[')) table = this.#header(root);
      else this.#pair(table, 0);
      this.#skip(false);
      if (this.#at < this.#text.length && !this.#takes('\n')) throw this.#wrong('expected the end of the line');
    }
    return root;
  }

  /** Behind its first bracket. */
  #header(root: Table): Table {
    const isOfList = this.#takes('[');
    const path = this.#key();
    if (!this.#takes(isOfList ? ']]' : ']')) throw this.#wrong(`expected ${isOfList ? ']]' : ']'}`);
    const name = path.pop() ?? '';
    const parent = this.#tableAt(root, path);
    const before = parent.get(name);
    if (isOfList) {
      const table: Table = new Map();
      if (before !== undefined && !Array.isArray(before)) throw this.#wrong(`${name} is here already`);
      parent.set(name, [...((before as readonly TomlValue[] | undefined) ?? []), table]);
      return table;
    }
    const table = before ?? new Map<string, TomlValue>();
    if (!(table instanceof Map) || this.#closed.has(table)) throw this.#wrong(`${name} is here already`);
    this.#closed.add(table);
    parent.set(name, table);
    return table;
  }

  #pair(table: Table, depth: number): void {
    const path = this.#key();
    const name = path.pop() ?? '';
    const into = this.#tableAt(table, path);
    if (into.has(name)) throw this.#wrong(`${name} is here already`);
    this.#skip(false);
    if (!this.#takes('=')) throw this.#wrong('expected =');
    this.#skip(false);
    into.set(name, this.#value(depth));
  }

  #tableAt(from: Table, path: readonly string[]): Table {
    let table = from;
    for (const name of path) {
      const found = table.get(name);
      const next = Array.isArray(found) ? found.at(-1) : (found ?? new Map<string, TomlValue>());
      if (!(next instanceof Map)) throw this.#wrong(`${name} is no table`);
      if (found === undefined) table.set(name, next);
      table = next;
    }
    return table;
  }

  /** `a."b c".d` */
  #key(): string[] {
    const path: string[] = [];
    do {
      this.#skip(false);
      const quoted = this.#string(false);
      const bare = quoted ?? this.#match(/[A-Za-z0-9_-]+/y);
      if (bare === undefined) throw this.#wrong('expected a key');
      path.push(bare);
      this.#skip(false);
    } while (this.#takes('.'));
    return path;
  }

  #value(depth: number): TomlValue {
    if (depth > DEPTH_MAX) throw this.#wrong('too many lists and tables inside each other');
    const text = this.#string(true);
    if (text !== undefined) return text;
    if (this.#takes('[')) return this.#list(depth);
    if (this.#takes('{')) return this.#inlineTable(depth);
    const word = this.#match(/\d{4}-\d\d-\d\d \d\d:[\d:.]+(?:Z|[+-]\d\d:\d\d)?|[A-Za-z0-9+_.:-]+/y);
    if (word === undefined) throw this.#wrong('expected a value');
    return word === 'true' ? true : word === 'false' ? false : word;
  }

  #list(depth: number): readonly TomlValue[] {
    const values: TomlValue[] = [];
    for (this.#skip(true); !this.#takes(']'); this.#skip(true)) {
      values.push(this.#value(depth + 1));
      this.#skip(true);
      if (this.#takes(']')) break;
      if (!this.#takes(',')) throw this.#wrong('expected , or ]');
    }
    return values;
  }

  #inlineTable(depth: number): TomlTable {
    const table: Table = new Map();
    for (this.#skip(true); !this.#takes('}'); this.#skip(true)) {
      this.#pair(table, depth + 1);
      this.#skip(true);
      if (this.#takes('}')) break;
      if (!this.#takes(',')) throw this.#wrong('expected , or }');
    }
    this.#closed.add(table);
    return table;
  }

  /** Undefined: none stands here. */
  #string(mayHaveLines: boolean): string | undefined {
    for (const quote of ['"', "'"]) {
      if (mayHaveLines && this.#takes(quote.repeat(3))) {
        this.#takes('\n');
        return this.#quoted(quote.repeat(3));
      }
      if (this.#takes(quote)) return this.#quoted(quote);
    }
    return undefined;
  }

  #quoted(end: string): string {
    let read = '';
    for (;;) {
      if (this.#takes(end)) {
        // A string of lines may end in up to two quotes of its own.
        while (end.length === 3 && this.#takes(end.slice(0, 1))) read += end.slice(0, 1);
        return read;
      }
      const char = this.#text[this.#at];
      if (char === undefined || (char === '\n' && end.length === 1)) throw this.#wrong(`a string without its closing ${end}`);
      this.#at += 1;
      read += char === '\\' && end.startsWith('"') ? this.#escape(end.length === 3) : char;
    }
  }

  #escape(mayHaveLines: boolean): string {
    if (mayHaveLines && this.#match(/[ \t]*\n[ \t\n]*/y) !== undefined) return '';
    const code = this.#match(/u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}/y);
    if (code !== undefined) {
      const point = Number.parseInt(code.slice(1), 16);
      if (point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)) return String.fromCodePoint(point);
      throw this.#wrong(`no character: \\${code}`);
    }
    const meant = escapes.get(this.#text[this.#at] ?? '');
    if (meant === undefined) throw this.#wrong(`unknown escape: \\${this.#text[this.#at] ?? ''}`);
    this.#at += 1;
    return meant;
  }

  /** Blanks and comments; `lines`: and ends of lines. */
  #skip(lines: boolean): void {
    this.#match(lines ? /(?:[ \t\n]|#[^\n]*)*/y : /[ \t]*(?:#[^\n]*)?/y);
  }

  #takes(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #wrong(message: string): TomlError {
    return new TomlError(message, this.#text.slice(0, this.#at).split('\n').length);
  }
}
