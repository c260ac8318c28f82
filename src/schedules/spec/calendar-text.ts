/**
 * A calendar whose fields are texts, as ranges:
 *
 *     *          every value                       1-5/2      1, 3, 5
 *     5          one value, a name of a month      3/5        3, 8, 13 to the last value
 *     1-5        or of a weekday too               1,3,5-7    any of them
 *
 * Sunday is 0 or 7. A calendar without any field is midnight of every day.
 */
import * as spec from './schedule-spec.ts';
import { trimSpace, wholeNumber } from './go-text.ts';

export function calendarOf(text: spec.CalendarText): spec.StructuredCalendar | spec.Problem {
  const problems: string[] = [];
  const rangesOf = (field: spec.CalendarField): readonly spec.Range[] => {
    const ranges = fieldRanges(text[field], bounds[field]);
    if ('problem' in ranges) problems.push(ranges.problem);
    return 'problem' in ranges ? [] : ranges;
  };
  const calendar = {
    second: rangesOf('second'),
    minute: rangesOf('minute'),
    hour: rangesOf('hour'),
    // Before the others, in problems.
    dayOfWeek: rangesOf('dayOfWeek'),
    dayOfMonth: rangesOf('dayOfMonth'),
    month: rangesOf('month'),
    year: rangesOf('year'),
    comment: text.comment,
  };
  return problems.length === 0 ? calendar : { problem: problems.join(', ') };
}

type TextBounds = spec.FieldBounds & {
  readonly byDefault: string;
  /** Names whose beginnings are values, from that many letters on. */
  readonly names: readonly string[];
  readonly nameCharsMin: number;
  readonly namedFirst: number;
};

const months = 'january february march april may june july august september october november december'.split(' ');
const weekdays = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ');
const unnamed = { names: [], nameCharsMin: 0, namedFirst: 0 };
const [second, minute, hour, dayOfMonth, month, year, dayOfWeek] = spec.fieldBounds;

const bounds: Readonly<Record<spec.CalendarField, TextBounds>> = {
  second: { ...second!, byDefault: '0', ...unnamed },
  minute: { ...minute!, byDefault: '0', ...unnamed },
  hour: { ...hour!, byDefault: '0', ...unnamed },
  dayOfMonth: { ...dayOfMonth!, byDefault: '*', ...unnamed },
  month: { ...month!, byDefault: '*', names: months, nameCharsMin: 3, namedFirst: 1 },
  year: { ...year!, byDefault: '*', ...unnamed },
  dayOfWeek: { ...dayOfWeek!, last: 7, byDefault: '*', names: weekdays, nameCharsMin: 2, namedFirst: 0 },
};

function fieldRanges(given: string, within: TextBounds): readonly spec.Range[] | spec.Problem {
  const text = trimSpace(given) || within.byDefault;
  if (text === '*' && within.field === 'year') return [];
  const ranges: spec.Range[] = [];
  for (const part of text.split(',')) {
    const found = partRanges(part, within);
    if ('problem' in found) return found;
    ranges.push(...found);
  }
  return ranges;
}

function partRanges(part: string, within: TextBounds): readonly spec.Range[] | spec.Problem {
  const { name } = within;
  const [ends = '', stepText, ...moreSteps] = part.split('/');
  if (moreSteps.length > 0) return { problem: `${name} has too many slashes` };
  if (stepText === '') return { problem: `${name} missing step value` };
  const step = stepText === undefined ? 1 : wholeNumber(stepText);
  if (typeof step === 'object') return step;
  if (step < 1) return { problem: `${name} has invalid Step` };
  const range = endsOf(ends, within, stepText !== undefined);
  if ('problem' in range) return range;
  const stored = { ...range, step: asInt32(step) };
  if (within.field !== 'dayOfWeek' || range.end < 7) return [stored];
  // The step that was written, and not the stored one, says whether the Sunday is meant.
  return withoutSeven(stored, (7 - range.start) % step === 0);
}

/** Messages hold no more: a longer step, of which only the first value is meant, is cut. Zero then counts as 1, and what is negative is refused. */
function asInt32(step: number): number {
  return step | 0;
}

/** The Sunday at the end of a range is that at the beginning: in a range of its own, unless the range begins there and leaves out no day. */
function withoutSeven(range: spec.Range, meansSunday: boolean): readonly spec.Range[] {
  const beforeIt = { ...range, end: 6 };
  if (!meansSunday || (range.step === 1 && range.start <= 1)) return [beforeIt];
  const sunday = { start: 0, end: 0, step: 1 };
  return range.start === 7 ? [sunday] : [sunday, beforeIt];
}

function endsOf(text: string, within: TextBounds, isStepped: boolean): { readonly start: number; readonly end: number } | spec.Problem {
  const { name, first, last } = within;
  if (text === '*') return { start: first, end: last };
  const [low = '', high, ...more] = text.split('-');
  if (more.length > 0) return { problem: `${name} has too many dashes` };
  const start = valueOf(low, within);
  const isStart = start !== undefined && start >= first && start <= last;
  if (high === undefined) {
    return isStart ? { start, end: isStepped ? last : start } : { problem: `${name} is not in range [${first}-${last}]` };
  }
  if (!isStart) return { problem: `${name} Start is not in range [${first}-${last}]` };
  const end = valueOf(high, within);
  if (end !== undefined && end >= start && end <= last) return { start, end };
  return { problem: `${name} End is before Start or not in range [${first}-${last}]` };
}

function valueOf(text: string, { names, nameCharsMin, namedFirst }: TextBounds): number | undefined {
  const named = text.length >= nameCharsMin ? names.findIndex((name) => name.startsWith(text.toLowerCase())) : -1;
  if (named >= 0) return named + namedFirst;
  const number = wholeNumber(text);
  return typeof number === 'number' ? number : undefined;
}
