/** Characters that a place of a pattern accepts. */
export type CharacterRange = { readonly from: number; readonly to: number };

export class CharacterSet {
  readonly #ranges: readonly CharacterRange[];
  readonly #isNegated: boolean;
  readonly #ignoresCase: boolean;

  constructor(ranges: readonly CharacterRange[], how: { readonly isNegated: boolean; readonly ignoresCase: boolean }) {
    this.#ranges = ranges;
    this.#isNegated = how.isNegated;
    this.#ignoresCase = how.ignoresCase;
  }

  /** How much work a look may be. */
  get ranges(): number {
    return this.#ranges.length;
  }

  has(character: string): boolean {
    const found =
      this.#includes(character) ||
      (this.#ignoresCase && (this.#includes(character.toLowerCase()) || this.#includes(character.toUpperCase())));
    return found !== this.#isNegated;
  }

  /** What becomes two characters in the other case (`ß`) has no other case here. */
  #includes(character: string): boolean {
    const code = character.codePointAt(0) ?? -1;
    if (character.length > (code > 0xffff ? 2 : 1)) return false;
    return this.#ranges.some(({ from, to }) => code >= from && code <= to);
  }
}

const max = 0x10ffff;

export const anyCharacter: readonly CharacterRange[] = [{ from: 0, to: max }];
export const newline: readonly CharacterRange[] = [{ from: 10, to: 10 }];
const digits = [{ from: 48, to: 57 }];
const words = [...digits, { from: 65, to: 90 }, { from: 95, to: 95 }, { from: 97, to: 122 }];
/** As Go has it: tab, newline, form feed, carriage return, blank. */
const spaces = [
  { from: 9, to: 10 },
  { from: 12, to: 13 },
  { from: 32, to: 32 },
];

/** `\d`, `\S`, … by their letter. */
export const classes: ReadonlyMap<string, readonly CharacterRange[]> = new Map([
  ['d', digits],
  ['w', words],
  ['s', spaces],
  ['D', allBut(digits)],
  ['W', allBut(words)],
  ['S', allBut(spaces)],
]);

/** Of ranges in their order that do not touch. */
function allBut(ranges: readonly CharacterRange[]): readonly CharacterRange[] {
  const others: CharacterRange[] = [];
  let from = 0;
  for (const range of ranges) {
    others.push({ from, to: range.from - 1 });
    from = range.to + 1;
  }
  return [...others, { from, to: max }];
}
