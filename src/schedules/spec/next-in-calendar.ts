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
      const found = nextLocal(calendar, localMs, steps);
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

/** The next match from that time on, this included. */
function nextLocal(calendar: CompiledCalendar, localMs: number, steps: SearchSteps): number | undefined {
  return new Walk(calendar, localMs).run(steps);
}

class Walk {
  readonly #calendar: CompiledCalendar;
  #year: number;
  #month: number;
  #day: number;
  #hour: number;
  #minute: number;
  #second: number;

  constructor(calendar: CompiledCalendar, localMs: number) {
    const at = civilOf(localMs);
    this.#calendar = calendar;
    this.#year = at.year;
    this.#month = at.month;
    this.#day = at.day;
    this.#hour = at.hour;
    this.#minute = at.minute;
    this.#second = at.second;
  }

  run(steps: SearchSteps): number | undefined {
    while (steps.take(1)) {
      this.#carry();
      if (this.#year > calendarYearMax) return undefined;
      if (this.#toYear() && this.#toMonth() && this.#toDay(steps) && this.#toHour() && this.#toMinute() && this.#toSecond()) {
        return utcMsOf(this.#civil());
      }
    }
    return undefined;
  }

  #carry(): void {
    if (this.#second >= 60) {
      this.#minute++;
      this.#second = 0;
    }
    if (this.#minute >= 60) {
      this.#hour++;
      this.#minute = 0;
    }
    if (this.#hour >= 24) {
      this.#day++;
      this.#hour = 0;
    }
    if (this.#day > daysIn(this.#year, this.#month)) {
      this.#month++;
      this.#day = 1;
    }
    if (this.#month > 12) {
      this.#year++;
      this.#month = 1;
    }
  }

  // Each answers false when it has left the year, month, ... that it looks through.

  #toYear(): boolean {
    const year = firstYearFrom(this.#calendar.years, this.#year);
    if (year !== this.#year) {
      this.#year = year;
      this.#month = 1;
      this.#beginDay(1);
    }
    return year <= calendarYearMax;
  }

  #toMonth(): boolean {
    const month = firstFrom(this.#calendar.months, this.#month);
    if (month !== this.#month) {
      this.#month = month < 0 ? 13 : month;
      this.#beginDay(1);
    }
    return month >= 0;
  }

  #toDay(steps: SearchSteps): boolean {
    const { daysOfMonth, daysOfWeek } = this.#calendar;
    const dayLast = daysIn(this.#year, this.#month);
    while (true) {
      const day = firstFrom(daysOfMonth, this.#day);
      if (day !== this.#day) this.#beginDay(day < 0 ? dayLast + 1 : day);
      if (this.#day > dayLast || !steps.take(1)) return false;
      if (has(daysOfWeek, weekdayOf(this.#civil()))) return true;
      this.#beginDay(this.#day + 1);
    }
  }

  #toHour(): boolean {
    const hour = firstFrom(this.#calendar.hours, this.#hour);
    if (hour !== this.#hour) {
      this.#hour = hour < 0 ? 24 : hour;
      this.#minute = this.#second = 0;
    }
    return hour >= 0;
  }

  #toMinute(): boolean {
    const minute = firstFrom(this.#calendar.minutes, this.#minute);
    if (minute !== this.#minute) {
      this.#minute = minute < 0 ? 60 : minute;
      this.#second = 0;
    }
    return minute >= 0;
  }

  #toSecond(): boolean {
    const second = firstFrom(this.#calendar.seconds, this.#second);
    this.#second = second < 0 ? 60 : second;
    return second >= 0;
  }

  #beginDay(day: number): void {
    this.#day = day;
    this.#hour = this.#minute = this.#second = 0;
  }

  #civil(): Civil {
    return {
      year: this.#year,
      month: this.#month,
      day: this.#day,
      hour: this.#hour,
      minute: this.#minute,
      second: this.#second,
    };
  }
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
