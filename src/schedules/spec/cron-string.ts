/**
 * Cron strings of schedules, which are not those of workflows (src/kernel/cron): days must match both fields, and there may be seconds and years.
 *
 *     [CRON_TZ=<zone> ]          minute hour day-of-month month day-of-week          [# comment]
 *     [TZ=<zone> ]               minute hour day-of-month month day-of-week year
 *                         second minute hour day-of-month month day-of-week year
 *                         @yearly @annually @monthly @weekly @daily @midnight @hourly
 *                         @every <interval>[/<phase>]
 */
import { calendarOf } from './calendar-text.ts';
import { durationMsOf, trimSpace, wordsOf } from './go-text.ts';
import type { Interval, Problem, StructuredCalendar } from './schedule-spec.ts';

/** Empty: it names no zone. */
export type ParsedCron = { readonly timeZoneName: string } & ({ readonly calendar: StructuredCalendar } | { readonly interval: Interval });

export function parseCronString(given: string): ParsedCron | Problem {
  const zoned = zoneOf(trimSpace(given));
  if ('problem' in zoned) return zoned;
  const [withoutComment, comment] = cut(zoned.rest, '#');
  const text = trimSpace(withoutComment);
  if (text.startsWith('@every')) return every(text);
  const calendar = calendarOfFields(wordsOf(shorthands.get(text) ?? text), trimSpace(comment ?? ''));
  return 'problem' in calendar ? calendar : { calendar, timeZoneName: zoned.timeZoneName };
}

function zoneOf(text: string): { readonly timeZoneName: string; readonly rest: string } | Problem {
  if (!/^(?:CRON_)?TZ=/.test(text)) return { timeZoneName: '', rest: text };
  const [zone, rest] = cut(text, ' ');
  if (rest === undefined) return { problem: 'CronString has time zone but missing fields' };
  return { timeZoneName: zone.slice(zone.indexOf('=') + 1), rest };
}

/** The zone of an interval does not matter. */
function every(text: string): ParsedCron | Problem {
  const [, durations] = cut(text, ' ');
  if (durations === undefined) return { problem: 'CronString does not have interval after @every' };
  const [interval, phase = ''] = cut(durations, '/');
  const intervalMs = durationMsOf(interval);
  if (typeof intervalMs === 'object') return intervalMs;
  const phaseMs = phase === '' ? 0 : durationMsOf(phase);
  return typeof phaseMs === 'object' ? phaseMs : { interval: { intervalMs, phaseMs }, timeZoneName: '' };
}

const shorthands: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

function calendarOfFields(fields: readonly string[], comment: string): StructuredCalendar | Problem {
  if (fields.length < 5 || fields.length > 7) return { problem: 'CronString does not have 5-7 fields' };
  const [second = '', ...withoutSeconds] = fields.length === 7 ? fields : ['', ...fields];
  const [minute = '', hour = '', dayOfMonth = '', month = '', dayOfWeek = '', year = ''] = withoutSeconds;
  return calendarOf({ second, minute, hour, dayOfMonth, month, dayOfWeek, year, comment });
}

/** What is before the first such, and what behind it: undefined, there is none. */
function cut(text: string, separator: string): readonly [before: string, behind: string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}
