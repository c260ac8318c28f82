/** Times in output: how long ago for people, RFC 3339 for programs. 0 means that there is none. */
import type { FlagValues } from './command.ts';

/** The range of dates in ECMA-262: 100,000,000 days around 1970. */
const CALENDAR_MS_MAX = 8.64e15;

export type TimeFormat = (ms: number) => string;

export function timeFormat(flags: FlagValues): TimeFormat {
  const format = flags.one('time-format');
  if (format === 'iso') return (ms) => (ms === 0 ? '-' : rfc3339(ms));
  if (format === 'raw') return (ms) => (ms === 0 ? '-' : String(ms));
  return (ms) => (ms === 0 ? '-' : `${span(Date.now() - ms)} ago`);
}

/** Accepts any number from outside: one beyond the calendar is printed as it is, and 0 as an empty text. */
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
