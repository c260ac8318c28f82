/**
 * Regular expressions of operators over texts of errors, in a time that grows with the text alone: a pattern that backtracks would let one error
 * stop its shard.
 *
 *     text ─▶ parse ─▶ tree ─▶ program: a few instructions ─▶ all places in it that the text may stand at, character by character
 *
 * The syntax is Go's, as far as it is understood here (see `parse`); whatever else is refused with the reason, never read as something else.
 */
import type { CharacterSet } from './character-set.ts';
import { parsePattern, PatternProblem, type PatternNode, type Assertion } from './pattern-syntax.ts';

export interface ErrorPattern {
  /** Anywhere in the first 4,096 characters. */
  matches(text: string): boolean;
}

export type CompiledPattern =
  | { readonly kind: 'pattern'; readonly pattern: ErrorPattern }
  | { readonly kind: 'refused'; readonly problem: string };

export const errorPatternLimits = {
  /** In code points. */
  textCharsMax: 4_096,
  /** Instructions, and the ranges in their sets: with the text that bounds the work, to some millions of steps. */
  sizeMax: 1_000,
} as const;

export function errorPattern(text: string): CompiledPattern {
  try {
    return { kind: 'pattern', pattern: new Automaton(programOf(parsePattern(text))) };
  } catch (error) {
    if (error instanceof PatternProblem) return { kind: 'refused', problem: error.message };
    throw error;
  }
}

type Instruction =
  | { readonly kind: 'character'; readonly set: CharacterSet }
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  /** Both ways are open. */
  | { readonly kind: 'split'; readonly also: number }
  | { readonly kind: 'jump'; readonly to: number }
  | { readonly kind: 'match' };

/** Each falls through to the next, but for `jump` and `match`. */
function programOf(tree: PatternNode): readonly Instruction[] {
  const program: Instruction[] = [];
  let size = 0;
  let visits = 0;
  const add = (instruction: Instruction): number => {
    size += instruction.kind === 'character' ? 1 + instruction.set.ranges : 1;
    if (size > errorPatternLimits.sizeMax) throw new PatternProblem('it is too large');
    return program.push(instruction) - 1;
  };
  // Repeats of what is empty add nothing, and would be repeated all the same.
  const emit = (node: PatternNode): void => {
    if (++visits > 10 * errorPatternLimits.sizeMax) throw new PatternProblem('it is too large');
    switch (node.kind) {
      case 'character':
        return void add({ kind: 'character', set: node.set });
      case 'assertion':
        return void add({ kind: 'assertion', assertion: node.assertion });
      case 'sequence':
        return node.parts.forEach(emit);
      case 'choice':
        return emitChoice(node.parts);
      case 'repeat':
        return emitRepeat(node.part, node.min, node.max);
    }
  };
  const emitChoice = (parts: readonly PatternNode[]): void => {
    const ends: number[] = [];
    parts.forEach((part, index) => {
      const isLast = index === parts.length - 1;
      const split = isLast ? -1 : add({ kind: 'split', also: 0 });
      emit(part);
      if (isLast) return;
      ends.push(add({ kind: 'jump', to: 0 }));
      program[split] = { kind: 'split', also: program.length };
    });
    for (const end of ends) program[end] = { kind: 'jump', to: program.length };
  };
  const emitRepeat = (part: PatternNode, min: number, max: number): void => {
    for (let count = 0; count < min; count++) emit(part);
    if (max === Infinity) {
      const split = add({ kind: 'split', also: 0 });
      emit(part);
      add({ kind: 'jump', to: split });
      program[split] = { kind: 'split', also: program.length };
      return;
    }
    const splits: number[] = [];
    for (let count = min; count < max; count++) {
      splits.push(add({ kind: 'split', also: 0 }));
      emit(part);
    }
    for (const split of splits) program[split] = { kind: 'split', also: program.length };
  };
  emit(tree);
  add({ kind: 'match' });
  return program;
}

class Automaton implements ErrorPattern {
  readonly #program: readonly Instruction[];

  constructor(program: readonly Instruction[]) {
    this.#program = program;
  }

  matches(text: string): boolean {
    // One code point may be two units.
    const characters = Array.from(text.slice(0, 2 * errorPatternLimits.textCharsMax)).slice(0, errorPatternLimits.textCharsMax);
    let places: readonly number[] = [];
    for (let at = 0; at <= characters.length; at++) {
      const before = characters[at - 1];
      const here = characters[at];
      // A match may begin at each character.
      const reached = this.#follow([...places, 0], before, here);
      if (reached === 'match') return true;
      if (here === undefined) return false;
      places = this.#step(reached, here);
    }
    return false;
  }

  /** Where the text may stand when it has gone on by one character. */
  #step(places: readonly number[], character: string): readonly number[] {
    const next: number[] = [];
    for (const place of places) {
      const instruction = this.#program[place];
      if (instruction?.kind === 'character' && instruction.set.has(character)) next.push(place + 1);
    }
    return next;
  }

  /** All places that are reached without a character; each once, so that a loop around nothing ends. */
  #follow(places: readonly number[], before: string | undefined, here: string | undefined): readonly number[] | 'match' {
    const seen = new Uint8Array(this.#program.length);
    const waiting = [...places];
    const reached: number[] = [];
    for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
      if (seen[place] === 1) continue;
      seen[place] = 1;
      const instruction = this.#program[place];
      switch (instruction?.kind) {
        case 'character':
          reached.push(place);
          break;
        case 'assertion':
          if (holds(instruction.assertion, before, here)) waiting.push(place + 1);
          break;
        case 'split':
          waiting.push(place + 1, instruction.also);
          break;
        case 'jump':
          waiting.push(instruction.to);
          break;
        case 'match':
          return 'match';
        case undefined:
          break;
      }
    }
    return reached;
  }
}

function holds(assertion: Assertion, before: string | undefined, here: string | undefined): boolean {
  switch (assertion) {
    case 'textStart':
      return before === undefined;
    case 'textEnd':
      return here === undefined;
    case 'lineStart':
      return before === undefined || before === '\n';
    case 'lineEnd':
      return here === undefined || here === '\n';
    case 'wordBoundary':
      return isWord(before) !== isWord(here);
    case 'noWordBoundary':
      return isWord(before) === isWord(here);
  }
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /^\w$/.test(character);
}
