/** A query as tokens, one at a time: the parser stops at the first that it cannot use, and says where that is as Temporal does. */
import { utf8Bytes } from '../kernel/utf8.ts';

export type TokenKind =
  | 'end'
  /** What no token can be: an open quote, a character without meaning. */
  | 'error'
  /** Neither letter nor digit nor operator; to a parser that reads bytes, the first byte of a character. */
  | 'stranger'
  | 'name'
  /** Reserved; `text` is in lower case. */
  | 'keyword'
  | 'string'
  | 'integer'
  | 'float'
  /** `0x1f` */
  | 'hexNumber'
  /** `x'1f'` and `b'01'` */
  | 'hex'
  | 'bits'
  /** `:name` and `?`; `::name` */
  | 'parameter'
  | 'listParameter'
  | 'operator';

export type Token = {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  /** The place behind its last character; that of a stranger is before it. */
  readonly end: number;
};

/** Words that the grammar of Temporal's parser, MySQL's, keeps for itself: no names, unless in back-quotes. */
const reserved = new Set(
  (
    'add and as asc auto_increment between binary by case collate convert create cross current_date current_time current_timestamp substr ' +
    'substring database databases default delete desc describe distinct div drop else end escape exists explain false for force from group group_concat ' +
    'having if ignore in index inner insert interval into is join key left like limit localtime localtimestamp lock match maxvalue mod ' +
    'natural next not null on or order outer regexp rename replace right rlike schema select separator set show starts_with straight_join table ' +
    'tables then to true union unique update use using utc_date utc_time utc_timestamp values when where'
  ).split(' '),
);

/** What may stand behind a backslash and is not itself then. */
const escapes = new Map(Object.entries({ 0: '\0', b: '\b', n: '\n', r: '\r', t: '\t', Z: '\u001a' }));

/** Operators, the longest first. */
const operators = '<=> ->> <> <= << >= >> != && || -> = < > ! , ; ( ) + - * / % ^ ~ & | .'.split(' ');

const blank = /[ \n\r\t]*/y;
const word = /[A-Za-z_@][A-Za-z_@0-9]*/y;
const number = /0[xX][0-9a-fA-F]*|\d+(?:\.\d*)?(?:[eE][+-]?\d*)?|\.\d+(?:[eE][+-]?\d*)?/y;
const letter = /[A-Za-z_@]/y;
const hexDigits = /[0-9a-fA-F]*/y;
const bitDigits = /[01]*/y;
const parameter = /::?(?:[A-Za-z_@][A-Za-z_@0-9.]*)?/y;
const plain = { "'": /[^'\\]*/y, '"': /[^"\\]*/y } as const;

export class Lexer {
  readonly #text: string;
  #at = 0;
  /** Where the token begins that is read. */
  #start = 0;
  #questions = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Position of a token as Temporal counts: in bytes, and one character further than what was read. */
  position(token: Token): number {
    return utf8Bytes(this.#text.slice(0, token.end)) + (token.kind === 'stranger' ? 2 : 1);
  }

  next(): Token {
    const problem = this.#skip();
    if (problem !== undefined) return problem;
    this.#start = this.#at;
    const first = this.#text.charAt(this.#at);
    if (first === '') return this.#token('end', '');
    if (first === "'" || first === '"') return this.#string(first);
    if (first === '`') return this.#quotedName();
    if (first === ':') return this.#parameter();
    if (first === '?') return this.#question();
    return this.#word() ?? this.#number() ?? this.#operator() ?? this.#stranger();
  }

  /** Blanks and comments; a token when a comment has no end. */
  #skip(): Token | undefined {
    for (;;) {
      this.#match(blank);
      const two = this.#text.slice(this.#at, this.#at + 2);
      if (two === '/*') {
        this.#start = this.#at;
        const end = this.#text.indexOf('*/', this.#at + 2);
        if (end < 0) return this.#token('error', this.#take(this.#text.length));
        this.#at = end + 2;
      } else if (two === '--' || two === '//' || two.startsWith('#')) {
        const end = this.#text.indexOf('\n', this.#at);
        this.#at = end < 0 ? this.#text.length : end + 1;
      } else return undefined;
    }
  }

  #word(): Token | undefined {
    const text = this.#match(word);
    if (text === '') return undefined;
    if (this.#text.charAt(this.#at) === "'") {
      if (text === 'x' || text === 'X') return this.#digits('hex', hexDigits);
      if (text === 'b' || text === 'B') return this.#digits('bits', bitDigits);
    }
    const keyword = text.toLowerCase();
    return reserved.has(keyword) ? this.#token('keyword', keyword) : this.#token('name', text);
  }

  #digits(kind: 'hex' | 'bits', pattern: RegExp): Token {
    this.#at++;
    const text = this.#match(pattern);
    if (this.#text.charAt(this.#at) !== "'") return this.#token('error', text);
    this.#at++;
    return this.#token(kind === 'hex' && text.length % 2 === 1 ? 'error' : kind, text);
  }

  #number(): Token | undefined {
    const text = this.#match(number);
    if (text === '') return undefined;
    letter.lastIndex = this.#at;
    if (letter.test(this.#text)) return this.#token('error', text);
    if (/^0[xX]/.test(text)) return this.#token('hexNumber', text);
    return this.#token(/^\d+$/.test(text) ? 'integer' : 'float', text);
  }

  #operator(): Token | undefined {
    const text = operators.find((operator) => this.#text.startsWith(operator, this.#at));
    if (text === undefined) return undefined;
    this.#at += text.length;
    return this.#token('operator', text === '<>' ? '!=' : text);
  }

  #stranger(): Token {
    const char = this.#text.charAt(this.#at);
    return this.#token('stranger', char < '\u0080' ? char : '\uFFFD');
  }

  #string(quote: "'" | '"'): Token {
    this.#at++;
    let text = '';
    for (;;) {
      text += this.#match(plain[quote]);
      const stop = this.#take(1);
      const next = this.#text.charAt(this.#at);
      if (stop === '' || (stop === '\\' && next === '')) return this.#token('error', text);
      if (stop === quote && next !== quote) return this.#token('string', text);
      text += stop === '\\' ? (escapes.get(next) ?? next) : quote;
      this.#at++;
    }
  }

  #quotedName(): Token {
    this.#at++;
    let text = '';
    for (;;) {
      const end = this.#text.indexOf('`', this.#at);
      if (end < 0) return this.#token('error', text + this.#take(this.#text.length));
      text += this.#text.slice(this.#at, end);
      this.#at = end + 1;
      if (this.#text.charAt(this.#at) !== '`') return this.#token(text === '' ? 'error' : 'name', text);
      text += '`';
      this.#at++;
    }
  }

  #parameter(): Token {
    const text = this.#match(parameter);
    if (text.endsWith(':')) return this.#token('error', text);
    return this.#token(text.startsWith('::') ? 'listParameter' : 'parameter', text);
  }

  #question(): Token {
    this.#at++;
    this.#questions++;
    return this.#token('parameter', `:v${this.#questions}`);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += text.length;
    return text;
  }

  #take(length: number): string {
    const text = this.#text.slice(this.#at, this.#at + length);
    this.#at += text.length;
    return text;
  }

  #token(kind: TokenKind, text: string): Token {
    return { kind, text, start: this.#start, end: this.#at };
  }
}

/** Whether a name needs no back-quotes. */
export function isPlainName(name: string): boolean {
  return /^[A-Za-z_@][A-Za-z_@0-9]*$/.test(name) && !reserved.has(name.toLowerCase());
}
