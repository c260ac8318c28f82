/** Dates of the Gregorian calendar as milliseconds since 1970, and back, without a time zone. */

/** `month` and `day` count from 1. Each may be beyond its last: it carries. */
export type Civil = Readonly<Record<'year' | 'month' | 'day' | 'hour' | 'minute' | 'second', number>>;

const dayMs = 86_400_000;
/** Days from 1 March of the year 0, with which 400 years begin that end with the leap day, to 1970. */
const daysTo1970 = 719_468;
const daysOf400Years = 146_097;

export function civilOf(ms: number): Civil {
  const days = Math.floor(ms / dayMs) + daysTo1970;
  const era = Math.floor(days / daysOf400Years);
  const dayOfEra = days - era * daysOf400Years;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  // Of a year that begins with March: five months have 153 days.
  const monthOfYear = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthOfYear < 10 ? monthOfYear + 3 : monthOfYear - 9;
  const secondOfDay = Math.floor((ms - Math.floor(ms / dayMs) * dayMs) / 1000);
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthOfYear + 2) / 5) + 1,
    hour: Math.floor(secondOfDay / 3600),
    minute: Math.floor(secondOfDay / 60) % 60,
    second: secondOfDay % 60,
  };
}

export function utcMsOf({ year, month, day, hour, minute, second }: Civil): number {
  return daysBefore(year, month) * dayMs + (((day - 1) * 24 + hour) * 60 + minute) * 60_000 + second * 1000;
}

/** Sunday is 0. */
export function weekdayOf({ year, month, day }: Civil): number {
  const days = daysBefore(year, month) + day - 1;
  // 1970 began with a Thursday.
  return (((days + 4) % 7) + 7) % 7;
}

/** Days from 1970 to the first of that month. */
function daysBefore(calendarYear: number, calendarMonth: number): number {
  const year = calendarYear + Math.floor((calendarMonth - 1) / 12);
  const month = ((((calendarMonth - 1) % 12) + 12) % 12) + 1;
  const yearFromMarch = month <= 2 ? year - 1 : year;
  const era = Math.floor(yearFromMarch / 400);
  const yearOfEra = yearFromMarch - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5);
  return era * daysOf400Years + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - daysTo1970;
}
