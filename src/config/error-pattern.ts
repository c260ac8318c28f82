/** Operators' patterns over texts of errors, in Go's syntax. RE2's time grows with the text alone: nothing backtracks. */
import { createRequire } from 'node:module';
import type * as re2 from 're2js';

export interface ErrorPattern {
  /** Anywhere in the first 4,096 characters. */
  matches(text: string): boolean;
}

export type CompiledPattern =
  | { readonly kind: 'pattern'; readonly pattern: ErrorPattern }
  | { readonly kind: 'refused'; readonly problem: string };

export const errorPatternLimits = {
  /** Code points of a text that is matched. */
  textCharsMax: 4_096,
  patternCharsMax: 1_000,
  /** Instructions: with the text that bounds the work, to some millions of steps. */
  programSizeMax: 1_000,
} as const;

export function errorPattern(text: string): CompiledPattern {
  const { textCharsMax, patternCharsMax, programSizeMax } = errorPatternLimits;
  if (text.length > patternCharsMax) return { kind: 'refused', problem: `it is longer than ${patternCharsMax} characters` };
  // Loaded with the first pattern: a start without one does not wait for it.
  const { RE2JS, RE2JSException } = createRequire(import.meta.url)('re2js') as typeof re2;
  try {
    const compiled = RE2JS.compile(text);
    if (compiled.programSize() > programSizeMax) return { kind: 'refused', problem: 'it is too large' };
    return { kind: 'pattern', pattern: { matches: (text) => compiled.test(firstCharacters(text, textCharsMax)) } };
  } catch (error) {
    if (error instanceof RE2JSException) return { kind: 'refused', problem: error.message };
    throw error;
  }
}

function firstCharacters(text: string, max: number): string {
  if (text.length <= max) return text;
  // One code point may be two units.
  return Array.from(text.slice(0, 2 * max))
    .slice(0, max)
    .join('');
}
