import type { MetricsNaming } from '../observability/metrics/exposition.ts';
import { defaults } from './defaults.ts';
import type { FileConfig } from './file-schema.ts';
import type { Report } from './problem.ts';

export type MetricsOptions = {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Begins with a slash. */
  readonly path: string;
  readonly naming: MetricsNaming;
  /** Rising; undefined: 1, 2, 5 and so on to 1,000,000. */
  readonly timerBoundsMs: readonly number[] | undefined;
};

export const defaultNaming: MetricsNaming = {
  framework: 'tally',
  tags: {},
  excludeTags: {},
  prefix: '',
  withoutUnitSuffix: false,
  withoutCounterSuffix: false,
  recordTimerInSeconds: false,
};

/** undefined: nothing asks for a listener. */
export function metricsOptions(config: FileConfig, report: Report): MetricsOptions | undefined {
  const { prometheus, clientConfig } = config.global?.metrics ?? {};
  if (prometheus === undefined) return undefined;
  const framework = prometheus.framework ?? defaultNaming.framework;
  for (const key of ['withoutUnitSuffix', 'withoutCounterSuffix'] as const) {
    if (framework === 'opentelemetry' || clientConfig?.[key] !== true) continue;
    report(['global', 'metrics', 'clientConfig', key], 'has no effect: names of the framework tally have no suffixes', 'warning');
  }
  const colon = prometheus.listenAddress.lastIndexOf(':');
  return {
    host: prometheus.listenAddress.slice(0, colon).replace(/^\[(.*)\]$/, '$1'),
    port: Number(prometheus.listenAddress.slice(colon + 1)),
    path: prometheus.handlerPath ?? defaults.metricsPath,
    naming: {
      framework,
      tags: clientConfig?.tags ?? defaultNaming.tags,
      excludeTags: clientConfig?.excludeTags ?? defaultNaming.excludeTags,
      prefix: clientConfig?.prefix ?? defaultNaming.prefix,
      withoutUnitSuffix: clientConfig?.withoutUnitSuffix ?? defaultNaming.withoutUnitSuffix,
      withoutCounterSuffix: clientConfig?.withoutCounterSuffix ?? defaultNaming.withoutCounterSuffix,
      recordTimerInSeconds: clientConfig?.recordTimerInSeconds ?? defaultNaming.recordTimerInSeconds,
    },
    timerBoundsMs: clientConfig?.perUnitHistogramBoundaries?.milliseconds,
  };
}
