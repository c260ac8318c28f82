import { suggest } from '../config/suggest.ts';
import { usageError } from './cli-error.ts';

const listFormats = ['json', 'jsonl', 'text', 'none'] as const;
/** Of every command that prints what it was asked for. */
export type ListFormat = (typeof listFormats)[number];

/** `table` and `card` are names that Temporal's command line has for text. */
export function listFormat(given: string | undefined, otherwise: ListFormat): ListFormat {
  if (given === 'table' || given === 'card') return 'text';
  const wanted = given ?? otherwise;
  const format = listFormats.find((name) => name === wanted);
  if (format !== undefined) return format;
  const meant = suggest(wanted, listFormats);
  const words = `${listFormats.slice(0, -1).join(', ')} or ${listFormats.at(-1)}`;
  throw usageError(`--output: expected ${words}, got "${wanted}"`, { why: meant === undefined ? undefined : `Did you mean ${meant}?` });
}
