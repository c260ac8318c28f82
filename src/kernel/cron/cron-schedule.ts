/**
 * Cron schedules as Temporal reads them, which is the standard form of robfig/cron v3:
 *
 *     [CRON_TZ=<zone> ] minute hour day-of-month month day-of-week       0,30 9-17 ? JAN,feb Mon-FRI
 *     [TZ=<zone> ]      @yearly @annually @monthly @weekly @daily @midnight @hourly
 *                       @every <Go duration>                             whole seconds, one at least
 *
 * A field is a list of values, ranges and steps. `?` is `*`; `3/15` is `3-59/15`. Days match when both fields do if one of them is a star (without a
 * step above 1), and else when either does. Sunday is 0, never 7.
 */
import { goDurationMs } from './go-duration.ts';
import { type OffsetPeriods, offsetPeriods, periodsOfUtc } from './offset-periods.ts';

export type CronSchedule =
  | { readonly kind: 'every'; readonly intervalMs: number }
  | {
      readonly kind: 'fields';
      readonly minutes: CronField;
      readonly hours: CronField;
      readonly daysOfMonth: CronField;
      readonly months: CronField;
      readonly daysOfWeek: CronField;
      readonly zone: OffsetPeriods;
    };

export type CronField = { readonly values: ReadonlySet<number>; readonly isStar: boolean };

/** A limit of Perdure's own. A list of all minutes, hours and days takes a third of it. */
const specCharsMax = 1_000;

/** Undefined: that is no schedule. */
export function parseCron(spec: string): CronSchedule | undefined {
  if (spec.length > specCharsMax) return undefined;
  const zoned = /^(?:CRON_)?TZ=/.exec(spec);
  if (zoned === null) return scheduleIn(periodsOfUtc, spec);
  const space = spec.indexOf(' ');
  if (space < 0) return undefined;
  const zone = offsetPeriods(spec.slice(zoned[0].length, space));
  return zone && scheduleIn(zone, spec.slice(space).trim());
}

function scheduleIn(zone: OffsetPeriods, spec: string): CronSchedule | undefined {
  if (spec.startsWith(everyPrefix)) return every(spec.slice(everyPrefix.length));
  const fields = spec.startsWith('@') ? descriptors.get(spec) : spec.split(/\s+/).filter((field) => field !== '');
  if (fields?.length !== 5) return undefined;
  const [minutes, hours, daysOfMonth, months, daysOfWeek] = fields.map((field, at) => fieldOf(field, bounds[at]!));
  if (!minutes || !hours || !daysOfMonth || !months || !daysOfWeek) return undefined;
  return { kind: 'fields', minutes, hours, daysOfMonth, months, daysOfWeek, zone };
}

const everyPrefix = '@every ';

function every(duration: string): CronSchedule | undefined {
  const durationMs = goDurationMs(duration);
  return durationMs === undefined ? undefined : { kind: 'every', intervalMs: Math.max(1, Math.floor(durationMs / 1000)) * 1000 };
}

const descriptors: ReadonlyMap<string, readonly string[]> = new Map([
  ['@yearly', ['0', '0', '1', '1', '*']],
  ['@annually', ['0', '0', '1', '1', '*']],
  ['@monthly', ['0', '0', '1', '*', '*']],
  ['@weekly', ['0', '0', '*', '*', '0']],
  ['@daily', ['0', '0', '*', '*', '*']],
  ['@midnight', ['0', '0', '*', '*', '*']],
  ['@hourly', ['0', '*', '*', '*', '*']],
]);

type Bounds = { readonly first: number; readonly last: number; readonly names: ReadonlyMap<string, number> };

const bounds: readonly Bounds[] = [
  { first: 0, last: 59, names: named('', 0) },
  { first: 0, last: 23, names: named('', 0) },
  { first: 1, last: 31, names: named('', 0) },
  { first: 1, last: 12, names: named('jan feb mar apr may jun jul aug sep oct nov dec', 1) },
  { first: 0, last: 6, names: named('sun mon tue wed thu fri sat', 0) },
];

function named(names: string, first: number): ReadonlyMap<string, number> {
  return new Map(names.split(' ').map((name, at) => [name, first + at]));
}

/** Commas too many are passed over; of commas alone there is a field that nothing matches. */
function fieldOf(text: string, within: Bounds): CronField | undefined {
  const values = new Set<number>();
  let isStar = false;
  for (const expression of text.split(',')) {
    if (expression === '') continue;
    const range = rangeOf(expression, within);
    if (range === undefined) return undefined;
    for (let value = range.first; value <= range.last; value += range.step) values.add(value);
    isStar ||= range.isStar;
  }
  return { values, isStar };
}

type Range = { readonly first: number; readonly last: number; readonly step: number; readonly isStar: boolean };

/** `*`, `?`, `5`, `5-9`, each with `/3` or without. */
function rangeOf(expression: string, within: Bounds): Range | undefined {
  const [range = '', stepText, ...moreSteps] = expression.split('/');
  const [low = '', high, ...moreEnds] = range.split('-');
  const isAll = low === '*' || low === '?';
  const first = isAll ? within.first : valueOf(low, within);
  const step = stepText === undefined ? 1 : wholeNumber(stepText);
  if (first === undefined || step === undefined || step === 0 || moreSteps.length > 0) return undefined;
  // Of a star, whatever stands behind its hyphen.
  if (isAll) return { first, last: within.last, step, isStar: step === 1 };
  const single = stepText === undefined ? first : within.last;
  const last = high === undefined ? single : valueOf(high, within);
  if (last === undefined || moreEnds.length > 0 || first < within.first || last > within.last || first > last) return undefined;
  return { first, last, step, isStar: false };
}

function valueOf(text: string, { names }: Bounds): number | undefined {
  return (text === '' ? undefined : names.get(text.toLowerCase())) ?? wholeNumber(text);
}

/** A whole number, with a sign as in Go. */
function wholeNumber(text: string): number | undefined {
  return /^\+?\d+$/.test(text) ? Number(text) : undefined;
}
