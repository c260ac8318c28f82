import { declarations, type CounterName, type GaugeName, type MetricName, type TagsOf, type TimerName } from './declarations.ts';

export type Role = 'frontend' | 'history' | 'matching' | 'worker';

/** One series that only rises. Whoever counts keeps it: to count is an addition. */
export class Counter {
  value = 0;

  add(by = 1): void {
    this.value += by;
  }
}

export class Gauge {
  value = 0;
}

export class Timer {
  readonly #boundsMs: readonly number[];
  /** How many durations each bound has, and one more for what is beyond the last. */
  readonly counts: Float64Array;
  sumMs = 0;

  constructor(boundsMs: readonly number[]) {
    this.#boundsMs = boundsMs;
    this.counts = new Float64Array(boundsMs.length + 1);
  }

  record(durationMs: number): void {
    let low = 0;
    let high = this.#boundsMs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (durationMs <= (this.#boundsMs[middle] as number)) high = middle;
      else low = middle + 1;
    }
    this.counts[low] = (this.counts[low] as number) + 1;
    this.sumMs += durationMs;
  }
}

export type Series = { readonly tags: Readonly<Record<string, string>>; readonly cell: Counter | Gauge | Timer };

/** Counting for one role: everything that it emits bears its name. */
export interface Metrics {
  counter<Name extends CounterName>(name: Name, tags: TagsOf<Name>): Counter;
  gauge<Name extends GaugeName>(name: Name, tags: TagsOf<Name>): Gauge;
  timer<Name extends TimerName>(name: Name, tags: TagsOf<Name>): Timer;
  /** Nobody here knows it any more: it has no series until somebody sets it again. */
  endGauge<Name extends GaugeName>(name: Name, tags: TagsOf<Name>): void;
  /** Called before each scrape, to set gauges that nobody keeps. */
  beforeScrape(refresh: () => void): void;
}

/** Plain numbers, kept by those who count; prom-client sees them at a scrape only: its counters build a text of tags at each step. */
export class MetricsRegistry {
  readonly timerBoundsMs: readonly number[];
  readonly #series = new Map<MetricName, Map<string, Series>>();
  readonly #refreshes: (() => void)[] = [];

  constructor(timerBoundsMs: readonly number[] = defaultTimerBoundsMs) {
    this.timerBoundsMs = timerBoundsMs;
  }

  of(role: Role): Metrics {
    return {
      counter: (name, tags) => this.#cell(role, name, tags, Counter, () => new Counter()),
      gauge: (name, tags) => this.#cell(role, name, tags, Gauge, () => new Gauge()),
      timer: (name, tags) => this.#cell(role, name, tags, Timer, () => new Timer(this.timerBoundsMs)),
      endGauge: (name, tags) => void this.#series.get(name)?.delete(place(role, name, tags).key),
      beforeScrape: (refresh) => void this.#refreshes.push(refresh),
    };
  }

  /** All series as they are now. A metric without series is left out. */
  scraped(): ReadonlyMap<MetricName, Iterable<Series>> {
    for (const refresh of this.#refreshes) refresh();
    const told = [...this.#series].filter(([, series]) => series.size > 0);
    return new Map(told.map(([name, series]) => [name, series.values()] as const));
  }

  #cell<Cell extends Series['cell']>(
    role: Role,
    name: MetricName,
    tags: Readonly<Record<string, string>>,
    kind: new (...args: never[]) => Cell,
    make: () => Cell,
  ): Cell {
    let ofName = this.#series.get(name);
    if (ofName === undefined) this.#series.set(name, (ofName = new Map()));
    const { key, values } = place(role, name, tags);
    const found = ofName.get(key)?.cell;
    if (found instanceof kind) return found;
    const cell = make();
    ofName.set(key, { tags: { service_name: role, service_role: role, ...Object.fromEntries(values) }, cell });
    return cell;
  }
}

function place(role: Role, name: MetricName, tags: Readonly<Record<string, string>>) {
  const values = declarations[name].tags.map((tag) => [tag, tags[tag] ?? ''] as const);
  return { key: JSON.stringify([role, ...values.map(([, value]) => value)]), values };
}

/** 1, 2, 5 and so on, to 1,000,000. */
const defaultTimerBoundsMs: readonly number[] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]
  .flatMap((step) => [step, 2 * step, 5 * step])
  .filter((bound) => bound <= 1_000_000);
