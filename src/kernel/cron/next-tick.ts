/**
 * When a cron schedule is due next, with robfig/cron's answers for clocks that change:
 *
 *     clocks go forward   an hour that does not exist is passed over: `30 2 * * *` is not due on that day
 *     clocks go back      in an hour that comes twice it is due twice
 *
 * The search is robfig's own (month, day, hour, minute; whatever is too early moves on to the next, and a carry begins again), for what it finds around
 * a change follows from its steps.
 */
import type { CronSchedule } from './cron-schedule.ts';
import { type Civil, civilOf, utcMsOf, weekdayOf } from './civil-time.ts';

/** A schedule that is not due so long is due never. */
const yearsMax = 5;
/** Five years of days take a tenth of it. A zone that once left out a day would hold the search there for ever. */
const stepsMax = 20_000;

const secondMs = 1_000;
const minuteMs = 60_000;
const hourMs = 3_600_000;

type Fields = Extract<CronSchedule, { readonly kind: 'fields' }>;

/** The first whole second after `afterMs` at which it is due. Undefined: never. */
export function nextTick(schedule: CronSchedule, afterMs: number): number | undefined {
  const secondStartMs = Math.floor(afterMs / secondMs) * secondMs;
  if (schedule.kind === 'every') return secondStartMs + schedule.intervalMs;
  const { minutes, hours, daysOfMonth, months, daysOfWeek } = schedule;
  if ([minutes, hours, daysOfMonth, months, daysOfWeek].some(({ values }) => values.size === 0)) return undefined;
  return new Search(schedule, secondStartMs + secondMs).run();
}

/** One that stands at a moment of its zone, and only moves on. */
class Search {
  readonly #schedule: Fields;
  #atMs: number;
  /** The moment was moved: what is below the unit that moves begins at its first value. */
  #moved = false;
  #steps = 0;

  constructor(schedule: Fields, fromMs: number) {
    this.#schedule = schedule;
    this.#atMs = fromMs;
  }

  run(): number | undefined {
    const yearLast = this.#local().year + yearsMax;
    while (this.#local().year <= yearLast && this.#steps < stepsMax) {
      if (this.#toMonth() && this.#toDay() && this.#toHour() && this.#toMinute() && this.#toFullMinute()) return this.#atMs;
    }
    return undefined;
  }

  #local(): Civil {
    return civilOf(this.#schedule.zone.localMsOf(this.#atMs));
  }

  #momentOf(local: Civil): number {
    return this.#schedule.zone.momentOf(utcMsOf(local));
  }

  // Each answers false when it has carried into the unit above, whose turn it is then.

  #toMonth(): boolean {
    for (let at = this.#local(); !this.#schedule.months.values.has(at.month); at = this.#local()) {
      const from = this.#begin() ? { ...at, day: 1, hour: 0, minute: 0, second: 0 } : at;
      this.#atMs = this.#momentOf(this.#again(from, { month: from.month + 1 }));
      if (this.#local().month === 1 || this.#isLost()) return false;
    }
    return true;
  }

  #toDay(): boolean {
    for (let at = this.#local(); !isDay(this.#schedule, at); at = this.#local()) {
      const from = this.#begin() ? { ...at, hour: 0, minute: 0, second: 0 } : at;
      this.#atMs = this.#momentOf(this.#again(from, { day: from.day + 1 }));
      // That day has no midnight.
      const { hour } = this.#local();
      if (hour !== 0) this.#atMs += (hour > 12 ? 24 - hour : -hour) * hourMs;
      if (this.#local().day === 1 || this.#isLost()) return false;
    }
    return true;
  }

  #toHour(): boolean {
    for (let at = this.#local(); !this.#schedule.hours.values.has(at.hour); at = this.#local()) {
      if (this.#begin()) this.#atMs = this.#momentOf({ ...at, minute: 0, second: 0 });
      this.#atMs += hourMs;
      if (this.#local().hour === 0) return false;
    }
    return true;
  }

  #toMinute(): boolean {
    for (let at = this.#local(); !this.#schedule.minutes.values.has(at.minute); at = this.#local()) {
      if (this.#begin()) this.#atMs -= this.#atMs % minuteMs;
      this.#atMs += minuteMs;
      if (this.#local().minute === 0) return false;
    }
    return true;
  }

  #toFullMinute(): boolean {
    const { second } = this.#local();
    if (second === 0) return true;
    this.#moved = true;
    this.#atMs += (60 - second) * secondMs;
    return false;
  }

  #isLost(): boolean {
    return ++this.#steps >= stepsMax;
  }

  /** True the first time. */
  #begin(): boolean {
    const first = !this.#moved;
    this.#moved = true;
    return first;
  }

  /** A moment that does not exist becomes one that does before anything is added to it. */
  #again(from: Civil, later: Partial<Civil>): Civil {
    return { ...civilOf(this.#schedule.zone.localMsOf(this.#momentOf(from))), ...later };
  }
}

function isDay({ daysOfMonth, daysOfWeek }: Fields, at: Civil): boolean {
  const ofMonth = daysOfMonth.values.has(at.day);
  const ofWeek = daysOfWeek.values.has(weekdayOf(at));
  return daysOfMonth.isStar || daysOfWeek.isStar ? ofMonth && ofWeek : ofMonth || ofWeek;
}
