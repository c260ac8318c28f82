/**
 * The first time after a moment that a calendar matches, with Temporal's answers for clocks that change:
 *
 *     clocks go forward   a time that does not exist is passed over
 *     clocks go back      a time that comes twice is due twice
 *
 * The search walks the fields from the year inward. A field that does not match moves on and begins all within it again; past its last value it
 * carries into the one around it, and the walk begins anew. What it finds where clocks change by anything but an hour, or at midnight, follows
 * from its steps, which are those of Temporal for that reason.
 */
import type { OffsetPeriods } from '../../kernel/cron/offset-periods.ts';
import { civilOf, utcMsOf } from '../../kernel/cron/civil-time.ts';
import type { CompiledCalendar } from './compiled-spec.ts';
import { calendarYearMax } from './schedule-spec.ts';
import type { SearchSteps } from './search-steps.ts';
import { firstFrom, has } from './value-set.ts';
import { firstYearFrom } from './year-set.ts';

const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** Undefined: there is none to the last year, or the steps have come to their end. */
export function nextInCalendar(
  calendar: CompiledCalendar,
  { clock, afterMs, steps }: { readonly clock: OffsetPeriods; readonly afterMs: number; readonly steps: SearchSteps },
): number | undefined {
  return new Walk(calendar, clock, afterMs).run(steps);
}

class Walk {
  readonly #calendar: CompiledCalendar;
  readonly #clock: OffsetPeriods;
  #year: number;
  #month: number;
  #day: number;
  #hour: number;
  #minute: number;
  #second: number;
  /** In the hour that comes again when clocks go back. */
  #isAgain: boolean;

  constructor(calendar: CompiledCalendar, clock: OffsetPeriods, afterMs: number) {
    const at = civilOf(clock.localMsOf(afterMs));
    this.#calendar = calendar;
    this.#clock = clock;
    this.#year = at.year;
    this.#month = at.month;
    this.#day = at.day;
    this.#hour = at.hour;
    this.#minute = at.minute;
    this.#second = at.second + 1;
    this.#isAgain = this.#hourAt(afterMs - hourMs) === at.hour;
  }

  run(steps: SearchSteps): number | undefined {
    while (steps.take(1)) {
      this.#carry();
      if (this.#year > calendarYearMax) return undefined;
      if (!(this.#toYear() && this.#toMonth() && this.#toDay(steps) && this.#toHour() && this.#toMinute() && this.#toSecond())) continue;
      const foundMs = this.#momentOf(this.#hour);
      if (this.#hourAt(foundMs) === this.#hour) return foundMs + (this.#isAgain ? hourMs : 0);
      // There is no such hour on that day.
      this.#hour++;
      this.#minute = this.#second = 0;
    }
    return undefined;
  }

  #carry(): void {
    if (this.#second >= 60) {
      this.#minute++;
      this.#second = 0;
    }
    if (this.#minute >= 60) this.#carryHour();
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

  /** More than an hour to the next: this one comes again, and is looked through once more. */
  #carryHour(): void {
    this.#minute = 0;
    const comesAgain = !this.#isAgain && this.#momentOf(this.#hour + 1) - this.#momentOf(this.#hour) > hourMs;
    this.#isAgain = comesAgain;
    if (!comesAgain) this.#hour++;
  }

  // Each answers false when it has left the year, month, ... that it looks through.

  #toYear(): boolean {
    const year = firstYearFrom(this.#calendar.years, this.#year);
    if (year !== this.#year) {
      this.#year = year;
      this.#month = 1;
      this.#beginMonth();
    }
    return year <= calendarYearMax;
  }

  #toMonth(): boolean {
    const month = firstFrom(this.#calendar.months, this.#month);
    if (month !== this.#month) {
      this.#month = month < 0 ? 13 : month;
      this.#beginMonth();
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
      if (has(daysOfWeek, this.#weekday())) return true;
      this.#beginDay(this.#day + 1);
    }
  }

  #toHour(): boolean {
    const hour = firstFrom(this.#calendar.hours, this.#hour);
    if (hour !== this.#hour) {
      this.#hour = hour < 0 ? 24 : hour;
      this.#minute = this.#second = 0;
      this.#isAgain = false;
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

  #beginMonth(): void {
    this.#beginDay(1);
  }

  #beginDay(day: number): void {
    this.#day = day;
    this.#hour = this.#minute = this.#second = 0;
    this.#isAgain = false;
  }

  /** Of the moment, and not of the date: on a day without midnight it may be that of the day before. */
  #weekday(): number {
    const localDays = Math.floor(
      this.#clock.localMsOf(this.#clock.momentOf(this.#localMs(this.#hour, this.#minute, this.#second))) / dayMs,
    );
    // 1970 began with a Thursday.
    return (((localDays + 4) % 7) + 7) % 7;
  }

  #momentOf(hour: number): number {
    return this.#clock.momentOf(this.#localMs(hour, this.#minute, this.#second));
  }

  #localMs(hour: number, minute: number, second: number): number {
    return utcMsOf({ year: this.#year, month: this.#month, day: this.#day, hour, minute, second });
  }

  #hourAt(utcMs: number): number {
    const localMs = this.#clock.localMsOf(utcMs);
    return Math.floor((localMs - Math.floor(localMs / dayMs) * dayMs) / hourMs);
  }
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
