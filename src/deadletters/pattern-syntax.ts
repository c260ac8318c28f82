/**
 * Reads the part of Go's syntax of regular expressions (RE2) that says whether a text matches:
 *
 *     x  .  [a-z]  [^a-z]  \d \D \w \W \s \S     \t \n \r \f \v \xFF \x{10FFFF}, and a backslash before punctuation
 *     xy  x|y  (x)  (?:x)  (?P<name>x)  (?<name>x)     x* x+ x? x{2} x{2,} x{2,5}, each with a ? behind it
 *     ^ $ \A \z \b \B     (?i) (?s) (?m) (?U), and the same as (?i:x), (?-i)
 *
 * Refused: `\p{…}`, `[[:alpha:]]`, `\Q…\E`, `\C`, back references and look-around, which RE2 has not either.
 */
import { anyCharacter, type CharacterRange, CharacterSet, classes, newline } from './character-set.ts';

export type Assertion = 'textStart' | 'textEnd' | 'lineStart' | 'lineEnd' | 'wordBoundary' | 'noWordBoundary';

export type PatternNode =
  | { readonly kind: 'character'; readonly set: CharacterSet }
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly PatternNode[] }
  /** `max`: Infinity = no end. */
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly min: number; readonly max: number };

/** It cannot be read; the message says why, behind the name of the setting. */
export class PatternProblem extends Error {
  override readonly name = 'PatternProblem';
}

/** In code points. */
const PATTERN_CHARS_MAX = 1_000;
const REPEATS_MAX = 1_000;

export function parsePattern(text: string): PatternNode {
  const characters = Array.from(text);
  if (characters.length > PATTERN_CHARS_MAX) throw new PatternProblem(`it is longer than ${PATTERN_CHARS_MAX} characters`);
  return new Parser(characters).whole();
}

type Flags = { readonly ignoresCase: boolean; readonly dotIsAny: boolean; readonly isMultiline: boolean };

const controls: ReadonlyMap<string, number> = new Map([
  ['a', 7],
  ['t', 9],
  ['n', 10],
  ['v', 11],
  ['f', 12],
  ['r', 13],
]);

class Parser {
  readonly #text: readonly string[];
  #at = 0;
  #flags: Flags = { ignoresCase: false, dotIsAny: false, isMultiline: false };

  constructor(text: readonly string[]) {
    this.#text = text;
  }

  whole(): PatternNode {
    const tree = this.#choice();
    if (this.#at < this.#text.length) this.#refuse('an unexpected )');
    return tree;
  }

  #choice(): PatternNode {
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: 'choice', parts };
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = [];
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek()) parts.push(this.#repeated());
    return { kind: 'sequence', parts };
  }

  #repeated(): PatternNode {
    const part = this.#atom();
    const range = this.#range();
    if (range === undefined) return part;
    // Lazy or not, it matches or does not.
    this.#take('?');
    if (this.#range() !== undefined) this.#refuse('two repetitions in a row');
    return { kind: 'repeat', part, ...range };
  }

  #range(): { readonly min: number; readonly max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: Infinity };
    if (this.#take('+')) return { min: 1, max: Infinity };
    if (this.#take('?')) return { min: 0, max: 1 };
    const counted = /^\{(\d{1,4})(,?)(\d{0,4})\}/.exec(this.#text.slice(this.#at, this.#at + 12).join(''));
    if (counted === null || (counted[2] === '' && counted[3] !== '')) return undefined;
    this.#at += counted[0].length;
    const min = Number(counted[1]);
    const max = counted[3] !== '' ? Number(counted[3]) : counted[2] === '' ? min : Infinity;
    if (min > REPEATS_MAX || min > max || (max !== Infinity && max > REPEATS_MAX)) this.#refuse(`a bad repetition ${counted[0]}`);
    return { min, max };
  }

  #atom(): PatternNode {
    const { ignoresCase, dotIsAny, isMultiline } = this.#flags;
    const character = this.#next();
    switch (character) {
      case '(':
        return this.#group();
      case '[':
        return this.#bracket();
      case '.':
        return this.#set(dotIsAny ? anyCharacter : newline, !dotIsAny);
      case '^':
        return { kind: 'assertion', assertion: isMultiline ? 'lineStart' : 'textStart' };
      case '$':
        return { kind: 'assertion', assertion: isMultiline ? 'lineEnd' : 'textEnd' };
      case '\\':
        return this.#escaped();
      case '*':
      case '+':
      case '?':
        return this.#refuse(`nothing in front of ${character}`);
      default:
        return { kind: 'character', set: new CharacterSet([rangeOf(character)], { isNegated: false, ignoresCase }) };
    }
  }

  /** What flags say inside ends with the group. */
  #group(): PatternNode {
    const flags = this.#flags;
    if (this.#take('?') && !this.#takeName()) {
      const isOpen = this.#readFlags();
      // (?i) holds up to the end of the group around it.
      if (!isOpen) return { kind: 'sequence', parts: [] };
    }
    const tree = this.#choice();
    if (!this.#take(')')) this.#refuse('a ( that is not closed');
    this.#flags = flags;
    return tree;
  }

  /** `P<name>` or `<name>`. */
  #takeName(): boolean {
    const named = /^P?<\w+>/.exec(this.#text.slice(this.#at).join(''));
    if (named === null) return false;
    this.#at += named[0].length;
    return true;
  }

  /** True: `:`, so a group follows. */
  #readFlags(): boolean {
    let sets = true;
    for (;;) {
      const flag = this.#next();
      if (flag === ':') return true;
      if (flag === ')') return false;
      if (flag === '-' && sets) sets = false;
      else if (flag === 'i') this.#flags = { ...this.#flags, ignoresCase: sets };
      else if (flag === 's') this.#flags = { ...this.#flags, dotIsAny: sets };
      else if (flag === 'm') this.#flags = { ...this.#flags, isMultiline: sets };
      else if (flag !== 'U') this.#refuse(`(?${flag}, which is not understood`);
    }
  }

  #bracket(): PatternNode {
    const isNegated = this.#take('^');
    const ranges: CharacterRange[] = [];
    for (let isFirst = true; isFirst || this.#peek() !== ']'; isFirst = false) {
      const from = this.#member();
      if (from.length !== 1 || !this.#isRange()) {
        ranges.push(...from);
        continue;
      }
      this.#at += 1;
      const to = this.#member();
      const [first, last] = [from[0], to[0]];
      if (first === undefined || last === undefined || to.length !== 1 || first.from !== first.to || last.from !== last.to)
        return this.#refuse('a range of more than characters');
      if (first.from > last.to) this.#refuse('a range that goes backwards');
      ranges.push({ from: first.from, to: last.to });
    }
    this.#at += 1;
    return this.#set(ranges, isNegated);
  }

  /** A `-` that is not the last of its set. */
  #isRange(): boolean {
    return this.#peek() === '-' && this.#text[this.#at + 1] !== ']' && this.#text[this.#at + 1] !== undefined;
  }

  #member(): readonly CharacterRange[] {
    const character = this.#next();
    if (character === '[' && this.#peek() === ':') return this.#refuse('[[:…:]], which is not understood');
    if (character !== '\\') return [rangeOf(character)];
    const escaped = this.#next();
    return classes.get(escaped) ?? [this.#escapedCharacter(escaped)];
  }

  #escaped(): PatternNode {
    const character = this.#next();
    switch (character) {
      case 'A':
        return { kind: 'assertion', assertion: 'textStart' };
      case 'z':
        return { kind: 'assertion', assertion: 'textEnd' };
      case 'b':
        return { kind: 'assertion', assertion: 'wordBoundary' };
      case 'B':
        return { kind: 'assertion', assertion: 'noWordBoundary' };
      default:
        return this.#set(classes.get(character) ?? [this.#escapedCharacter(character)], false);
    }
  }

  #escapedCharacter(character: string): CharacterRange {
    const control = controls.get(character);
    if (control !== undefined) return { from: control, to: control };
    if (character === 'x') return this.#hexadecimal();
    if (/^[!-/:-@[-`{-~]$/.test(character)) return rangeOf(character);
    return this.#refuse(`\\${character}, which is not understood`);
  }

  #hexadecimal(): CharacterRange {
    const found = /^(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})/.exec(this.#text.slice(this.#at, this.#at + 8).join(''));
    const code = Number.parseInt(found?.[1] ?? found?.[2] ?? '', 16);
    if (found === null || code > 0x10ffff) return this.#refuse('a bad \\x');
    this.#at += found[0].length;
    return { from: code, to: code };
  }

  #set(ranges: readonly CharacterRange[], isNegated: boolean): PatternNode {
    return { kind: 'character', set: new CharacterSet(ranges, { isNegated, ignoresCase: this.#flags.ignoresCase }) };
  }

  #peek(): string | undefined {
    return this.#text[this.#at];
  }

  #next(): string {
    const character = this.#text[this.#at];
    if (character === undefined) return this.#refuse('an end where more is expected');
    this.#at += 1;
    return character;
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #refuse(what: string): never {
    throw new PatternProblem(`it has ${what}, at character ${this.#at}`);
  }
}

function rangeOf(character: string): CharacterRange {
  const code = character.codePointAt(0) ?? 0;
  return { from: code, to: code };
}
