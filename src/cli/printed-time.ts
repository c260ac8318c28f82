/** Times in what commands print: how long ago for people, RFC 3339 for programs. 0 = there is none. */
import { usageError } from './cli-error.ts';
import type { FlagValues } from './command.ts';

/** ECMA-262: 100,000,000 days around 1970. */
const CALENDAR_MS_MAX = 8.64e15;

export type TimeFormat = (ms: number) => string;

export function timeFormat(flags: FlagValues): TimeFormat {
  const format = flags.one('time-format') ?? 'relative';
  switch (format) {
    case 'relative':
      return (ms) => (ms === 0 ? '-' : `${span(Date.now() - ms)} ago`);
    case 'iso':
      return (ms) => (ms === 0 ? '-' : rfc3339(ms));
    case 'raw':
      return (ms) => (ms === 0 ? '-' : String(ms));
    default:
      throw usageError(`--time-format: expected relative, iso or raw, got "${format}"`);
  }
}

/** Of what comes from outside, any: what no calendar has is the number itself. '' = not known. */
export function rfc3339(ms: number): string {
  if (ms === 0) return '';
  return Math.abs(ms) <= CALENDAR_MS_MAX ? new Date(ms).toISOString() : String(ms);
}

/** `45 s`, `7 min`, `3 h`, `12 d` */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}
