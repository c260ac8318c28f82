/**
 * Writes deploy/grafana/perdure-dead-letters.json: `node scripts/dead-letters-dashboard.ts`. A test fails when the file is not what this makes.
 *
 *     how many, how old ── stats on top
 *     what comes in, what goes out ── graphs below, with what operators do (merges, jobs)
 *     why dead letters cannot be written ── failures of hand-over and of the database
 */
import { writeFileSync } from 'node:fs';

const target = new URL('../deploy/grafana/perdure-dead-letters.json', import.meta.url);

type Query = { readonly expr: string; readonly legend: string };

type Panel = {
  readonly title: string;
  readonly description: string;
  readonly kind: 'stat' | 'timeseries';
  readonly unit: 'short' | 's' | 'ops' | 'percentunit';
  readonly queries: readonly Query[];
  /** Red from here on. */
  readonly alarmFrom?: number;
};

const ofJob = 'job=~"$job"';
const byCategory = '{{task_category}}';

const rows: readonly (readonly Panel[])[] = [
  [
    {
      title: 'Dead letters',
      description: 'Waiting dead letters by category, as the owners of the queues report them; at most 15 s old.',
      kind: 'stat',
      unit: 'short',
      alarmFrom: 1,
      queries: [{ expr: `sum by (task_category) (perdure_dlq_messages{${ofJob}})`, legend: byCategory }],
    },
    {
      title: 'Oldest dead letter',
      description: 'How long the oldest open dead letter of a queue has waited.',
      kind: 'stat',
      unit: 's',
      alarmFrom: 86_400,
      queries: [{ expr: `max by (task_category, source_cluster) (perdure_dlq_oldest_age_seconds{${ofJob}})`, legend: byCategory }],
    },
    {
      title: 'Quarantined',
      description: 'Dead letters whose merges failed so often that only a merge with --override-loop-guard tries them again.',
      kind: 'stat',
      unit: 'short',
      alarmFrom: 1,
      queries: [{ expr: `sum by (task_category) (perdure_dlq_messages{${ofJob}, state="quarantined"})`, legend: byCategory }],
    },
    {
      title: 'dlq_message_count',
      description: 'The metric that Temporal has too; it is updated every three hours, and after each job.',
      kind: 'stat',
      unit: 'short',
      queries: [{ expr: `sum by (task_category) (dlq_message_count{${ofJob}})`, legend: byCategory }],
    },
  ],
  [
    {
      title: 'Waiting dead letters',
      description: 'Dead letters by category and state.',
      kind: 'timeseries',
      unit: 'short',
      queries: [{ expr: `sum by (task_category, state) (perdure_dlq_messages{${ofJob}})`, legend: '{{task_category}} {{state}}' }],
    },
    {
      title: 'New dead letters',
      description: 'Tasks that became dead letters, by cause: retries-exhausted, permanent-error, namespace-deleted.',
      kind: 'timeseries',
      unit: 'ops',
      queries: [
        { expr: `sum by (task_category, cause) (rate(dlq_writes{${ofJob}}[$__rate_interval]))`, legend: '{{task_category}} {{cause}}' },
      ],
    },
    {
      title: 'New dead letters by namespace',
      description: 'Tasks that became dead letters within the last hour.',
      kind: 'timeseries',
      unit: 'short',
      queries: [{ expr: `topk(10, sum by (namespace) (increase(dlq_writes{${ofJob}}[1h])))`, legend: '{{namespace}}' }],
    },
  ],
  [
    {
      title: 'Resolved dead letters',
      description: 'Dead letters that were merged, merged with nothing left to do, or purged.',
      kind: 'timeseries',
      unit: 'ops',
      queries: [
        {
          expr: `sum by (task_category, how) (rate(perdure_dlq_resolved{${ofJob}}[$__rate_interval]))`,
          legend: '{{task_category}} {{how}}',
        },
      ],
    },
    {
      title: 'Merges',
      description: 'Outcomes of merges.',
      kind: 'timeseries',
      unit: 'ops',
      queries: [{ expr: `sum by (outcome) (rate(perdure_dlq_merge_outcomes{${ofJob}}[$__rate_interval]))`, legend: '{{outcome}}' }],
    },
    {
      title: 'Duration of merges',
      description: 'Time to merge one dead letter, p99.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        {
          expr: `histogram_quantile(0.99, sum by (outcome, le) (rate(perdure_dlq_merge_latency_bucket{${ofJob}}[$__rate_interval])))`,
          legend: '{{outcome}}',
        },
      ],
    },
    {
      title: 'Jobs',
      description: 'Dead letter jobs by operation and state.',
      kind: 'timeseries',
      unit: 'short',
      queries: [{ expr: `sum by (operation, state) (perdure_dlq_jobs{${ofJob}})`, legend: '{{operation}} {{state}}' }],
    },
  ],
  [
    {
      title: 'Tasks that failed for good',
      description: 'Tasks that are to become dead letters, and those that no queue has accepted yet, which wait in their shards.',
      kind: 'timeseries',
      unit: 'ops',
      queries: [
        { expr: `sum by (task_type) (rate(task_terminal_failures{${ofJob}}[$__rate_interval]))`, legend: '{{task_type}} failed' },
        { expr: `sum by (task_type) (rate(task_dlq_failures{${ofJob}}[$__rate_interval]))`, legend: '{{task_type}} not taken' },
      ],
    },
    {
      title: 'Time until a queue accepts a dead letter',
      description: 'p99 by type of task.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        {
          expr: `histogram_quantile(0.99, sum by (task_type, le) (rate(task_dlq_latency_bucket{${ofJob}}[$__rate_interval])))`,
          legend: '{{task_type}}',
        },
      ],
    },
    {
      title: 'Failed operations on stored dead letters',
      description: 'Share of the operations that fail.',
      kind: 'timeseries',
      unit: 'percentunit',
      queries: [
        {
          expr: [
            `sum by (operation, db_kind) (rate(persistence_errors{${ofJob}, operation=~"Persistence.*DLQ"}[$__rate_interval]))`,
            `sum by (operation, db_kind) (rate(persistence_requests{${ofJob}, operation=~"Persistence.*DLQ"}[$__rate_interval]))`,
          ].join(' / '),
          legend: '{{operation}} {{db_kind}}',
        },
      ],
    },
    {
      title: 'Ignored records of the redrive topic',
      description: 'Records that Kafka tools sent back; only a merge tries a dead letter again.',
      kind: 'timeseries',
      unit: 'short',
      queries: [{ expr: `sum by (job) (increase(perdure_dlq_redrive_ignored{${ofJob}}[1h]))`, legend: '{{job}}' }],
    },
  ],
];

/** Grafana's screen is 24 wide. */
const heightOf = { stat: 5, timeseries: 8 };

export function deadLettersDashboard(): string {
  const datasource = { type: 'prometheus', uid: '${datasource}' };
  let id = 0;
  let y = 0;
  const panels = rows.flatMap((row) => {
    const width = Math.floor(24 / row.length);
    const placed = row.map((panel, index) => {
      id += 1;
      return {
        id,
        type: panel.kind,
        title: panel.title,
        description: panel.description,
        datasource,
        gridPos: { x: index * width, y, w: width, h: heightOf[panel.kind] },
        fieldConfig: { defaults: { unit: panel.unit, min: 0, ...thresholds(panel) }, overrides: [] },
        options: panel.kind === 'stat' ? { reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false } } : {},
        targets: panel.queries.map(({ expr, legend }, at) => ({
          refId: String.fromCodePoint(65 + at),
          datasource,
          expr,
          legendFormat: legend,
          // A stat is about now.
          instant: panel.kind === 'stat',
          range: panel.kind !== 'stat',
        })),
      };
    });
    y += Math.max(...row.map(({ kind }) => heightOf[kind]));
    return placed;
  });
  const dashboard = {
    uid: 'perdure-dead-letters',
    title: 'Perdure: dead letters',
    description: 'For the metric names of the framework tally (docs/operations/metrics.md). What to do: docs/operations/alerts.md.',
    tags: ['perdure', 'temporal'],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' },
        {
          name: 'job',
          type: 'query',
          label: 'Job',
          datasource,
          query: { query: 'label_values(restarts, job)', refId: 'job' },
          definition: 'label_values(restarts, job)',
          refresh: 2,
          includeAll: true,
          multi: true,
          allValue: '.*',
          current: { text: 'All', value: '$__all' },
        },
      ],
    },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function thresholds({ alarmFrom }: Panel): object {
  const green = { color: 'green', value: null };
  return { thresholds: { mode: 'absolute', steps: alarmFrom === undefined ? [green] : [green, { color: 'red', value: alarmFrom }] } };
}

if (import.meta.main) writeFileSync(target, deadLettersDashboard());
