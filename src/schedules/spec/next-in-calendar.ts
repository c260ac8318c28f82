/**
 * The first time after a moment that a calendar matches: clocks show it then.
 *
 *     clocks go forward   a time that they pass over is not due
 *     clocks go back      a time that comes twice is due twice
 *
 * Between two changes of the clocks a search is one of dates and times of day alone. It walks the fields from the year inward: a field that does
 * not match moves on and begins all within it again; past its last value it carries into the one around it, and the walk begins anew. What it finds
 * holds beyond the next change, too, unless clocks show then what they had shown before, or pass over it.
 */
import type { OffsetPeriods } from '../../kernel/cron/offset-periods.ts';
import { type Civil, civilOf, utcMsOf, weekdayOf } from '../../kernel/cron/civil-time.ts';
import type { CompiledCalendar } from './compiled-spec.ts';
import { calendarYearMax } from './schedule-spec.ts';
import type { SearchSteps } from './search-steps.ts';
import { firstFrom, has } from './value-set.ts';
import { firstYearFrom } from './year-set.ts';

/** More than the offsets of any zone lie apart, and more than any of them is. */
const settledMs = 2 * 86_400_000;

/** Undefined: there is none to the last year, or the steps have come to their end. */
export function nextInCalendar(
  calendar: CompiledCalendar,
  { clock, afterMs, steps }: { readonly clock: OffsetPeriods; readonly afterMs: number; readonly steps: SearchSteps },
): number | undefined {
  let fromMs = Math.floor(afterMs / 1000) * 1000 + 1000;
  /** Local times, as clocks show them; between these two none matches. */
  let walkedFromMs = Infinity;
  let foundMs = -Infinity;
  for (;;) {
    const { offsetMs, untilMs } = clock.periodAt(fromMs);
    const localMs = fromMs + offsetMs;
    if (localMs < walkedFromMs || localMs > foundMs) {
      // The next match from that time on, this included.
      const found = new Walk(calendar, localMs).run(steps);
      if (found === undefined) return undefined;
      [walkedFromMs, foundMs] = [localMs, found];
    }
    if (foundMs - offsetMs < untilMs) return foundMs - offsetMs;
    // From then on no clocks show what they had shown before the walk; so nothing can be due until shortly before what it found.
    const isSettled = untilMs + offsetMs > walkedFromMs + settledMs;
    fromMs = isSettled ? Math.max(untilMs, foundMs - settledMs) : untilMs;
    if (!steps.take(1)) return undefined;
  }
}

class Walk {
  readonly #calendar: CompiledCalendar;
  readonly #at: { -readonly [Field in keyof Civil]: Civil[Field] };

  constructor(calendar: CompiledCalendar, localMs: number) {
    this.#calendar = calendar;
    this.#at = civilOf(localMs);
  }

  run(steps: SearchSteps): number | undefined {
    while (steps.take(1)) {
      this.#carry();
      if (this.#at.year > calendarYearMax) return undefined;
      if (this.#toYear() && this.#toMonth() && this.#toDay(steps) && this.#toHour() && this.#toMinute() && this.#toSecond()) {
        return utcMsOf(this.#at);
      }
    }
    return undefined;
  }

  #carry(): void {
    if (this.#at.second >= 60) {
      this.#at.minute++;
      this.#at.second = 0;
    }
    if (this.#at.minute >= 60) {
      this.#at.hour++;
      this.#at.minute = 0;
    }
    if (this.#at.hour >= 24) {
      this.#at.day++;
      this.#at.hour = 0;
    }
    if (this.#at.day > daysIn(this.#at.year, this.#at.month)) {
      this.#at.month++;
      this.#at.day = 1;
    }
    if (this.#at.month > 12) {
      this.#at.year++;
      this.#at.month = 1;
    }
  }

  // Each answers false when it has left the year, month, ... that it looks through.

  #toYear(): boolean {
    const year = firstYearFrom(this.#calendar.years, this.#at.year);
    if (year !== this.#at.year) {
      this.#at.year = year;
      this.#at.month = 1;
      this.#beginDay(1);
    }
    return year <= calendarYearMax;
  }

  #toMonth(): boolean {
    const month = firstFrom(this.#calendar.months, this.#at.month);
    if (month !== this.#at.month) {
      this.#at.month = month < 0 ? 13 : month;
      this.#beginDay(1);
    }
    return month >= 0;
  }

  #toDay(steps: SearchSteps): boolean {
    const { daysOfMonth, daysOfWeek } = this.#calendar;
    const dayLast = daysIn(this.#at.year, this.#at.month);
    while (true) {
      const day = firstFrom(daysOfMonth, this.#at.day);
      if (day !== this.#at.day) this.#beginDay(day < 0 ? dayLast + 1 : day);
      if (this.#at.day > dayLast || !steps.take(1)) return false;
      if (has(daysOfWeek, weekdayOf(this.#at))) return true;
      this.#beginDay(this.#at.day + 1);
    }
  }

  #toHour(): boolean {
    const hour = firstFrom(this.#calendar.hours, this.#at.hour);
    if (hour !== this.#at.hour) {
      this.#at.hour = hour < 0 ? 24 : hour;
      this.#at.minute = this.#at.second = 0;
    }
    return hour >= 0;
  }

  #toMinute(): boolean {
    const minute = firstFrom(this.#calendar.minutes, this.#at.minute);
    if (minute !== this.#at.minute) {
      this.#at.minute = minute < 0 ? 60 : minute;
      this.#at.second = 0;
    }
    return minute >= 0;
  }

  #toSecond(): boolean {
    const second = firstFrom(this.#calendar.seconds, this.#at.second);
    this.#at.second = second < 0 ? 60 : second;
    return second >= 0;
  }

  #beginDay(day: number): void {
    this.#at.day = day;
    this.#at.hour = this.#at.minute = this.#at.second = 0;
  }
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
