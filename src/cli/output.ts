import { suggest } from '../config/suggest.ts';
import { usageError } from './cli-error.ts';

const formats = ['text', 'json'] as const;
export type OutputFormat = (typeof formats)[number];

const listFormats = ['json', 'jsonl', 'text', 'none'] as const;
/** Of a command that may print many things. */
export type ListFormat = (typeof listFormats)[number];

export function outputFormat(given: string | undefined): OutputFormat {
  return formatOf(given ?? 'text', formats);
}

/** `table` and `card` are names that Temporal's command line has for text. */
export function listFormat(given: string | undefined, otherwise: ListFormat): ListFormat {
  if (given === 'table' || given === 'card') return 'text';
  return formatOf(given ?? otherwise, listFormats);
}

function formatOf<Format extends string>(wanted: string, known: readonly Format[]): Format {
  const format = known.find((name) => name === wanted);
  if (format !== undefined) return format;
  const meant = suggest(wanted, known);
  const words = `${known.slice(0, -1).join(', ')} or ${known.at(-1)}`;
  throw usageError(`--output: expected ${words}, got "${wanted}"`, { why: meant === undefined ? undefined : `Did you mean ${meant}?` });
}
