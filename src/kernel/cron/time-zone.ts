/** IANA time zones as this Node knows them. Another release may know other rules, so replay works nothing out again: it is written down. */

export type TimeZone = {
  /** Local time less UTC. */
  readonly offsetMs: (utcMs: number) => number;
};

export const utc: TimeZone = { offsetMs: () => 0 };

/** There are some six hundred names, and a formatter takes tens of kilobytes. */
const formattersMax = 32;
/** Formatters by zone, in the order of their last use. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Undefined: there is no such zone. As in Go, no name is UTC; so is `Local`, for a cluster has no place. */
export function timeZone(name: string): TimeZone | undefined {
  if (name === '' || name === 'UTC' || name === 'Local') return utc;
  // Offsets such as +01:00 are zones in JavaScript, and in no other list of them.
  if (!/^[A-Za-z][\w+\-/]*$/.test(name)) return undefined;
  const formatter = formatterOf(name);
  return formatter && { offsetMs: (utcMs) => offsetIn(formatter, utcMs) };
}

function formatterOf(name: string): Intl.DateTimeFormat | undefined {
  // Names differ by more than their case.
  const key = name.toLowerCase();
  const formatter = formatters.get(key) ?? newFormatter(name);
  if (formatter === undefined) return undefined;
  formatters.delete(key);
  formatters.set(key, formatter);
  const [oldest] = formatters.keys();
  if (formatters.size > formattersMax && oldest !== undefined) formatters.delete(oldest);
  return formatter;
}

function newFormatter(timeZoneName: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: timeZoneName, timeZoneName: 'longOffset' });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Out of `11/23/2026, GMT-05:00`; `GMT` alone is UTC. */
function offsetIn(formatter: Intl.DateTimeFormat, utcMs: number): number {
  const [, sign, hours, minutes, seconds] = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(formatter.format(utcMs)) ?? [];
  if (sign === undefined) return 0;
  const offsetMs = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds ?? 0)) * 1000;
  return sign === '-' ? -offsetMs : offsetMs;
}
