/** What we ship for Prometheus and Grafana asks for nothing that no server tells, and names only commands that there are. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { deadLettersDashboard } from '../../scripts/dead-letters-dashboard.ts';
import { rootCommand } from '../../src/cli/root-command.ts';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { declarations } from '../../src/observability/metrics/declarations.ts';
import { namedIn } from './queries.ts';

const repository = new URL('../../', import.meta.url);
const textOf = (name: string): string => readFileSync(new URL(name, repository), 'utf8');

const ruleFile = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.strictObject({ severity: z.enum(['warning', 'critical']) }),
          annotations: z.strictObject({ summary: z.string(), command: z.string(), runbook_url: z.string() }),
        }),
      ),
    }),
  ),
});
const rules = ruleFile.parse(parse(textOf('deploy/prometheus/perdure-alerts.yaml'))).groups.flatMap(({ rules: of }) => of);

const dashboard = z
  .object({ panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })) })) })
  .parse(JSON.parse(textOf('deploy/grafana/perdure-dead-letters.json')));

/** Of every series; `job` and `instance` are Prometheus' own. */
const everywhere = ['service_name', 'service_role', 'job', 'instance', 'le'];

type Declared = { readonly kind: string; readonly tags: readonly string[] };

/** In names as the framework tally has them. */
function declarationOf(exposed: string): Declared | undefined {
  // Prometheus' own, of each scrape.
  if (exposed === 'up') return { kind: 'gauge', tags: [] };
  const all: Readonly<Record<string, Declared>> = declarations;
  const timer = all[exposed.replace(/_(bucket|sum|count)$/, '')];
  return timer?.kind === 'timer' && /_(bucket|sum|count)$/.test(exposed) ? timer : all[exposed];
}

function unknownIn(expr: string): readonly string[] {
  const { metrics, labels } = namedIn(expr);
  const declared = metrics.map((name) => ({ name, found: declarationOf(name) }));
  const tags = new Set([...everywhere, ...declared.flatMap(({ found }) => found?.tags ?? [])]);
  return [
    ...(metrics.length === 0 ? ['no metric'] : []),
    ...declared.filter(({ found }) => found === undefined).map(({ name }) => name),
    ...labels.filter((label) => !tags.has(label)),
  ];
}

test('the names in a query are found', () => {
  expect(
    namedIn('histogram_quantile(0.99, sum by (job, le) (rate(a_bucket{x=~"b|c", y!="d"}[5m]))) / on (z) e offset 5m > 1 or f'),
  ).toEqual({
    metrics: ['a_bucket', 'e', 'f'],
    labels: ['x', 'y', 'job', 'le', 'z'],
  });
  expect(unknownIn('sum by (nonsense) (dlq_message_count) + dlq_mesage_count')).toEqual(['dlq_mesage_count', 'nonsense']);
});

describe.each(rules)('the alert $alert', ({ alert, expr, annotations }) => {
  test('asks for metrics and tags that are declared', () => {
    expect(unknownIn(expr)).toEqual([]);
  });

  test('speaks of labels that its query leaves', () => {
    const { labels } = namedIn(expr);
    const said = [
      ...Object.values(annotations)
        .join('\n')
        .matchAll(/\$labels\.(\w+)/g),
    ].map(([, label = '']) => label);
    expect(said.filter((label) => !labels.includes(label))).toEqual([]);
  });

  test('names a runbook that there is, and the command that it begins with', () => {
    const [page = '', anchor] = annotations.runbook_url.split('#');
    expect(anchor).toBe(alert.toLowerCase());
    const section = textOf(page).split(`\n## ${alert}\n`)[1]?.split('\n## ')[0] ?? '';
    expect(section).toContain(annotations.command.replaceAll(/\{\{ \$labels\.\w+ \}\}/g, 'transfer'));
  });

  test('has a test for promtool', () => {
    expect(textOf('deploy/prometheus/perdure-alerts.test.yaml')).toMatch(new RegExp(`alertname: ${alert}\\b`));
  });
});

describe('the dashboard of dead letters', () => {
  test('is what scripts/dead-letters-dashboard.ts makes', () => {
    expect(textOf('deploy/grafana/perdure-dead-letters.json')).toBe(deadLettersDashboard());
  });

  test.each(dashboard.panels)('$title: asks for metrics and tags that are declared', ({ targets }) => {
    for (const { expr, legendFormat } of targets) {
      expect(unknownIn(expr)).toEqual([]);
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      expect(shown.filter((label) => !namedIn(expr).labels.includes(label))).toEqual([]);
    }
  });
});

test('every command of docs/operations/alerts.md is understood', () => {
  const lines = [...textOf('docs/operations/alerts.md').matchAll(/^perdure (.+?)(?: +#.*)?$/gm)].map(([, line = '']) => line);
  expect(lines.length).toBeGreaterThan(10);
  for (const line of lines) expect(() => parseCommandLine(rootCommand, line.trim().split(/\s+/)), line).not.toThrow();
});
