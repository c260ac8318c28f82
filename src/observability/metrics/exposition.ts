import { createRequire } from 'node:module';
import { declarations, type MetricName } from './declarations.ts';
import { Timer, type MetricsRegistry, type Series } from './metrics.ts';

/** How series are named and told: `global.metrics.prometheus.framework` and `global.metrics.clientConfig` of the server file. */
export type MetricsNaming = {
  readonly framework: 'tally' | 'opentelemetry';
  /** Added to every series; a metric's own tag of the same name wins. */
  readonly tags: Readonly<Record<string, string>>;
  /** Tag → values that are replaced by `_tag_excluded_`. */
  readonly excludeTags: Readonly<Record<string, readonly string[]>>;
  /** Stands before every name; '' = none. */
  readonly prefix: string;
  readonly withoutUnitSuffix: boolean;
  readonly withoutCounterSuffix: boolean;
  /** Always true for tally. */
  readonly recordTimerInSeconds: boolean;
};

type Value = { readonly metricName: string; readonly labels: Readonly<Record<string, string | number>>; readonly value: number };
type Exposed = { readonly name: string; readonly help: string; readonly type: string; readonly values: readonly Value[] };

/** As much of prom-client as writes the text: it escapes, formats and checks that no name comes twice. */
type PromRegistry = { registerMetric(metric: { readonly name: string; get(): Exposed }): void; metrics(): Promise<string> };
let Registry: (new () => PromRegistry) | undefined;

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

/** The text format of Prometheus. prom-client is loaded by the first scrape: no start pays for it. */
export async function exposition(metrics: MetricsRegistry, naming: MetricsNaming): Promise<string> {
  Registry ??= (createRequire(import.meta.url)('prom-client') as { readonly Registry: new () => PromRegistry }).Registry;
  const registry = new Registry();
  for (const [name, series] of metrics.scraped()) {
    const exposed = exposedMetric(name, series, metrics.timerBoundsMs, naming);
    registry.registerMetric({ name: exposed.name, get: () => exposed });
  }
  return await registry.metrics();
}

function exposedMetric(name: MetricName, series: Iterable<Series>, boundsMs: readonly number[], naming: MetricsNaming): Exposed {
  const { kind, help } = declarations[name];
  const fullName = metricName(name, naming);
  const perUnit = naming.framework === 'tally' || naming.recordTimerInSeconds ? 1_000 : 1;
  const values: Value[] = [];
  for (const { tags, cell } of series) {
    const labels = labelsOf(tags, naming);
    if (cell instanceof Timer) values.push(...histogram(fullName, labels, cell, boundsMs, perUnit));
    else values.push({ metricName: fullName, labels, value: cell.value });
  }
  return { name: fullName, help, type: kind === 'timer' ? 'histogram' : kind, values };
}

function* histogram(
  name: string,
  labels: Readonly<Record<string, string>>,
  { counts, sumMs }: Timer,
  boundsMs: readonly number[],
  perUnit: number,
): Iterable<Value> {
  let count = 0;
  for (const [at, inBucket] of counts.entries()) {
    count += inBucket;
    const bound = boundsMs[at];
    yield { metricName: `${name}_bucket`, labels: { ...labels, le: bound === undefined ? '+Inf' : bound / perUnit }, value: count };
  }
  yield { metricName: `${name}_sum`, labels, value: sumMs / perUnit };
  yield { metricName: `${name}_count`, labels, value: count };
}

function metricName(name: MetricName, naming: MetricsNaming): string {
  const { prefix, framework } = naming;
  const separator = prefix === '' || (framework === 'opentelemetry' && prefix.endsWith('_')) ? '' : '_';
  return `${prefix}${separator}${name}${suffix(name, naming)}`;
}

function suffix(name: MetricName, naming: MetricsNaming): string {
  if (naming.framework === 'tally') return '';
  const { kind } = declarations[name];
  switch (kind) {
    case 'counter':
      return naming.withoutCounterSuffix ? '' : '_total';
    case 'gauge':
      return '';
    case 'timer':
      return naming.withoutUnitSuffix ? '' : naming.recordTimerInSeconds ? '_seconds' : '_milliseconds';
  }
}

function labelsOf(own: Readonly<Record<string, string>>, { tags, excludeTags }: MetricsNaming): Readonly<Record<string, string>> {
  const labels: Record<string, string> = { ...tags, ...own };
  for (const [tag, values] of Object.entries(excludeTags)) {
    const value = labels[tag];
    if (value !== undefined && values.includes(value)) labels[tag] = '_tag_excluded_';
  }
  return labels;
}
