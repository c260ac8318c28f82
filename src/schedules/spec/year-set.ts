/** Which years a calendar means. */
import { type Range, calendarYearMax } from './schedule-spec.ts';

/** A flag per year, at the year less `yearFirst`. Undefined: every year. */
export type YearSet = Uint8Array | undefined;

/** Nothing is due in another year: in UTC it may be one more or less. */
const yearFirst = 1969;
const yearLast = calendarYearMax + 1;

export function yearSet(ranges: readonly Range[]): YearSet {
  if (ranges.length === 0) return undefined;
  const years = new Uint8Array(yearLast - yearFirst + 1);
  for (const { start, end, step } of ranges) {
    const skipped = Math.max(0, Math.ceil((yearFirst - start) / step));
    for (let year = start + skipped * step; year <= Math.min(end, yearLast); year += step) years[year - yearFirst] = 1;
  }
  return years;
}

export function hasYear(years: YearSet, year: number): boolean {
  return years === undefined || years[year - yearFirst] === 1;
}

/** The first that is not below. Beyond any year: there is none. */
export function firstYearFrom(years: YearSet, year: number): number {
  if (years === undefined) return year;
  const found = years.indexOf(1, Math.max(0, year - yearFirst));
  return found < 0 ? Infinity : found + yearFirst;
}
