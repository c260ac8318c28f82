import { suggest } from '../config/suggest.ts';
import { usageError } from './cli-error.ts';

const formats = ['text', 'json'] as const;
export type OutputFormat = (typeof formats)[number];

export function outputFormat(given: string | undefined): OutputFormat {
  const wanted = given ?? 'text';
  const format = formats.find((name) => name === wanted);
  if (format !== undefined) return format;
  const meant = suggest(wanted, formats);
  throw usageError(`--output: expected text or json, got "${wanted}"`, { why: meant === undefined ? undefined : `Did you mean ${meant}?` });
}
