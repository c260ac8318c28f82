/** What Go's libraries take for white space, whole numbers and durations, with their words for what is none. */
import { goDurationMs } from '../../kernel/cron/go-duration.ts';
import type { Problem } from './schedule-spec.ts';

const space = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const spacesAround = new RegExp(`^${space}+|${space}+$`, 'g');
const spaces = new RegExp(`${space}+`);

export function trimSpace(text: string): string {
  return text.replace(spacesAround, '');
}

export function wordsOf(text: string): readonly string[] {
  return text.split(spaces).filter((word) => word !== '');
}

/** Beyond 2^53 it is about that number. */
export function wholeNumber(text: string): number | Problem {
  if (!/^[+-]?\d+$/.test(text)) return { problem: `strconv.Atoi: parsing ${quoted(text)}: invalid syntax` };
  const number = Number(text);
  return Math.abs(number) < 2 ** 63 ? number : { problem: `strconv.Atoi: parsing ${quoted(text)}: value out of range` };
}

/** Reads a duration as Temporal takes them: with days, of 24 hours each. */
export function durationMsOf(text: string): number | Problem {
  // To a millionth of an hour, and of a nanosecond the nearest.
  const inHours = text.replaceAll(/(\d+(?:\.\d*)?|\.\d+)d/g, (_, days: string) => `${(24 * Number(days)).toFixed(6)}h`);
  const durationMs = goDurationMs(inHours);
  return durationMs === undefined ? { problem: durationProblem(inHours) } : Math.round(durationMs * 1e6) / 1e6;
}

const units: ReadonlySet<string> = new Set(['ns', 'us', '\u00b5s', '\u03bcs', 'ms', 's', 'm', 'h']);

function durationProblem(text: string): string {
  const parts = text.replace(/^[+-]/, '').matchAll(/(\d+\.?\d*|\.\d+|)([^.\d]*)/g);
  for (const [, number, unit = ''] of parts) {
    if (number === '') break;
    if (unit === '') return `time: missing unit in duration ${quoted(text)}`;
    if (!units.has(unit)) return `time: unknown unit ${quoted(unit)} in duration ${quoted(text)}`;
  }
  return `time: invalid duration ${quoted(text)}`;
}

function quoted(text: string): string {
  const escaped = text.replaceAll(/["\\\p{Cc}]/gu, (character) => escapes.get(character) ?? `\\x${hex(character)}`);
  return `"${escaped}"`;
}

const escapes = new Map(Object.entries({ '"': '\\"', '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }));

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, '0');
}
