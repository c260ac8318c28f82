/**
 * A time zone as periods of one offset each, looked up as they are needed and kept: what asks a zone thousands of times, as a search through a
 * hundred years does, pays for a few dozen questions a year, once for each zone.
 *
 *     probes       |     |     |     |     |        equal neighbours: nothing has changed between them
 *     offset  -08:00 ----------+ -07:00 -------     else the second of the change is bisected
 */
import { type TimeZone, timeZone, utc } from './time-zone.ts';

export type OffsetPeriod = {
  /** The first moment of it, and the first after it, as far as is known here: a period of years comes in pieces. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** Local time less UTC. */
  readonly offsetMs: number;
};

/** The shortest that any zone left an offset for, and came back to it, is a day longer (Boa Vista in the year 2000, Gaza to come). */
const probeMs = 6 * 86_400_000;
const probesOfYear = 61;
const yearMs = probesOfYear * probeMs;
/** The latest moment of which JavaScript knows the offset. */
const momentMsMax = 8.64e15;

export class OffsetPeriods {
  readonly #zone: TimeZone;
  /** Periods by the number of their year, which is none of a calendar. */
  readonly #years = new Map<number, readonly OffsetPeriod[]>();
  #latest: OffsetPeriod = { fromMs: 0, untilMs: 0, offsetMs: 0 };

  constructor(zone: TimeZone) {
    this.#zone = zone;
  }

  periodAt(utcMs: number): OffsetPeriod {
    const latest = this.#latest;
    if (utcMs >= latest.fromMs && utcMs < latest.untilMs) return latest;
    const year = Math.floor(utcMs / yearMs);
    let periods = this.#years.get(year);
    if (periods === undefined) this.#years.set(year, (periods = this.#periodsOf(year)));
    const period = periods.find(({ untilMs }) => utcMs < untilMs) ?? latest;
    return (this.#latest = period);
  }

  localMsOf(utcMs: number): number {
    return utcMs + this.periodAt(utcMs).offsetMs;
  }

  /** The moment at which clocks show that time, as in Go: by the right offset if there is one; of two, or none, by its two guesses. */
  momentOf(localMs: number): number {
    const guess = this.periodAt(localMs);
    const utcMs = localMs - guess.offsetMs;
    if (utcMs >= guess.fromMs && utcMs < guess.untilMs) return utcMs;
    return localMs - this.periodAt(utcMs).offsetMs;
  }

  #periodsOf(year: number): readonly OffsetPeriod[] {
    const periods: OffsetPeriod[] = [];
    let fromMs = year * yearMs;
    let offsetMs = this.#offsetAt(fromMs);
    for (let probe = 1; probe <= probesOfYear; probe++) {
      const probedMs = year * yearMs + probe * probeMs;
      // More than one change between two probes: each is found from the one before it.
      while (offsetMs !== this.#offsetAt(probedMs)) {
        const untilMs = this.#endOf(offsetMs, Math.max(fromMs, probedMs - probeMs), probedMs);
        periods.push({ fromMs, untilMs, offsetMs });
        fromMs = untilMs;
        offsetMs = this.#offsetAt(fromMs);
      }
    }
    return [...periods, { fromMs, untilMs: (year + 1) * yearMs, offsetMs }];
  }

  /** The first second with another offset, one of which is at `untilMs`. */
  #endOf(offsetMs: number, fromMs: number, untilMs: number): number {
    let [before, after] = [fromMs / 1000, untilMs / 1000];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.#offsetAt(middle * 1000) === offsetMs) before = middle;
      else after = middle;
    }
    return after * 1000;
  }

  #offsetAt(utcMs: number): number {
    return this.#zone.offsetMs(Math.max(-momentMsMax, Math.min(utcMs, momentMsMax)));
  }
}

export const periodsOfUtc = new OffsetPeriods(utc);
/** Periods by the lower-case name of the zone: as many as there are zones, some six hundred. */
const periodsOfZones = new Map<string, OffsetPeriods>();

/** Undefined: there is no such zone. */
export function offsetPeriods(name: string): OffsetPeriods | undefined {
  const zone = timeZone(name);
  if (zone === undefined || zone === utc) return zone && periodsOfUtc;
  const key = name.toLowerCase();
  const known = periodsOfZones.get(key) ?? new OffsetPeriods({ offsetMs: (utcMs) => timeZone(name)?.offsetMs(utcMs) ?? 0 });
  periodsOfZones.set(key, known);
  return known;
}
