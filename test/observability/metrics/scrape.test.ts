/** A real server, real calls, and what a scrape then says. */
import { createRequire } from 'node:module';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Connection } from '@temporalio/client';
import { afterEach, describe, expect, test } from 'vitest';
import { defaultNaming } from '../../../src/config/metrics-options.ts';
import type { RunningServer } from '../../../src/config/server-options.ts';
import { alreadyStarted, exhaustedCause, exhaustedScope, resourceExhausted } from '../../../src/grpc/errors/details.ts';
import type { Rpc } from '../../../src/grpc/rpcs/rpc.ts';
import { workflowRpcs } from '../../../src/grpc/rpcs/workflow-rpcs.ts';
import { serviceMetrics } from '../../../src/grpc/interceptors/service-metrics.ts';
import type { MetricName } from '../../../src/observability/metrics/declarations.ts';
import { MetricsRegistry } from '../../../src/observability/metrics/metrics.ts';
import { memoryServer } from '../../support/memory-server.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

type Sample = { readonly name: string; readonly labels: ReadonlyMap<string, string>; readonly value: number };

/** Strict: each line is a comment that announces a family, or a sample of the family that was announced last. */
function parsed(text: string): readonly Sample[] {
  expect(text.endsWith('\n')).toBe(true);
  let family = '';
  const seen = new Set<string>();
  return text.split('\n').flatMap((line) => {
    if (line === '') return [];
    const announced = /^# (HELP|TYPE) ([a-zA-Z_]\w*) (.+)$/.exec(line);
    if (announced !== null) {
      family = announced[2] ?? '';
      if (announced[1] === 'TYPE') expect(['counter', 'gauge', 'histogram']).toContain(announced[3]);
      return [];
    }
    const sample = /^([a-zA-Z_]\w*)(?:\{(.*)\})? (\S+)$/.exec(line);
    expect(sample, line).not.toBeNull();
    const [, name = '', labels = '', value] = sample ?? [];
    expect([family, `${family}_bucket`, `${family}_sum`, `${family}_count`]).toContain(name);
    expect(labels).toMatch(/^(?:[a-zA-Z_]\w*="(?:[^"\\]|\\.)*"(?:,(?!$)|$))*$/);
    expect(seen, line).not.toContain(`${name}{${labels}}`);
    seen.add(`${name}{${labels}}`);
    expect(Number(value), line).not.toBeNaN();
    const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)];
    return [{ name, labels: new Map(pairs.map(([, tag = '', said = '']) => [tag, said])), value: Number(value) }];
  });
}

async function served(naming: Partial<typeof defaultNaming> = {}): Promise<{ server: RunningServer; connection: Connection; url: string }> {
  const metrics = { host: '127.0.0.1', port: 0, path: '/metrics', naming: { ...defaultNaming, ...naming }, timerBoundsMs: [10, 1_000] };
  const server = await memoryServer({ metrics });
  closing.push(() => server.stop());
  const connection = await Connection.connect({ address: server.address });
  closing.push(() => connection.close());
  return { server, connection, url: `http://127.0.0.1:${server.metricsPort}/metrics` };
}

async function scrape(url: string): Promise<readonly Sample[]> {
  const response = await fetch(url);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  return parsed(await response.text());
}

function valueOf(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>>): number | undefined {
  const wanted = Object.entries(labels);
  const found = samples.filter((sample) => sample.name === name && wanted.every(([tag, value]) => sample.labels.get(tag) === value));
  expect(found.length, name).toBeLessThanOrEqual(1);
  return found[0]?.value;
}

async function call({ workflowService }: Connection): Promise<void> {
  await workflowService.describeNamespace({ namespace: 'default' });
  await expect(workflowService.countWorkflowExecutions({ namespace: 'nobody-made-me' })).rejects.toThrow('nobody-made-me');
  const execution = { workflowId: 'none' };
  await expect(workflowService.describeWorkflowExecution({ namespace: 'default', execution })).rejects.toThrow();
}

/** Before any other test here scrapes. */
test('prom-client is loaded by the first scrape, not by a start', async () => {
  const { cache } = createRequire(import.meta.url);
  const isLoaded = (): boolean => Object.keys(cache).some((file) => file.includes('prom-client'));
  const { connection, url } = await served();
  await call(connection);
  expect(isLoaded()).toBe(false);
  await scrape(url);
  expect(isLoaded()).toBe(true);
});

test('where metrics are scraped nothing else is served: a connection of HTTP/2 is closed, and counted nowhere', async () => {
  const { connection, url } = await served();
  await call(connection);
  const before = valueOf(await scrape(url), 'service_grpc_conn_accepted', { service_name: 'frontend', service_role: 'frontend' });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.resume();
  await once(socket, 'close');
  expect(before).toBeGreaterThan(0);
  expect(valueOf(await scrape(url), 'service_grpc_conn_accepted', { service_name: 'frontend', service_role: 'frontend' })).toBe(before);
});

const framework = ['tally', 'opentelemetry'] as const;

describe.each(framework)('a scrape of a server that names metrics as %s', (mode) => {
  const counter = mode === 'tally' ? '' : '_total';
  const timer = mode === 'tally' ? '' : '_milliseconds';
  const role = { service_name: 'frontend', service_role: 'frontend' };

  test('tells of calls by operation and namespace', async () => {
    const { connection, url } = await served({ framework: mode });
    await call(connection);
    const samples = await scrape(url);
    const ofDescribe = { operation: 'DescribeNamespace', namespace: 'default', ...role };
    expect(valueOf(samples, `service_requests${counter}`, ofDescribe)).toBe(1);
    expect(valueOf(samples, `service_errors${counter}`, ofDescribe)).toBe(0);
    expect(valueOf(samples, 'service_pending_requests', ofDescribe)).toBe(0);
    for (const name of [`service_latency${timer}`, `service_latency_nouserlatency${timer}`]) {
      expect(valueOf(samples, `${name}_count`, ofDescribe)).toBe(1);
      expect(valueOf(samples, `${name}_bucket`, { ...ofDescribe, le: '+Inf' })).toBe(1);
      expect(valueOf(samples, `${name}_bucket`, { ...ofDescribe, le: mode === 'tally' ? '0.01' : '10' })).toBeDefined();
    }
    const missed = { operation: 'DescribeWorkflowExecution', namespace: 'default', ...role };
    expect(valueOf(samples, `service_errors_entity_not_found${counter}`, missed)).toBe(1);
    expect(valueOf(samples, `service_error_with_type${counter}`, { ...missed, error_type: 'serviceerror_NotFound' })).toBe(1);
    expect(valueOf(samples, `service_grpc_conn_accepted${counter}`, role)).toBe(1);
    expect(valueOf(samples, 'service_grpc_conn_active', role)).toBe(1);
    expect(valueOf(samples, `restarts${counter}`, { temporal_service_type: 'history' })).toBe(1);
  });

  test('never names a namespace that does not exist', async () => {
    const { connection, url } = await served({ framework: mode });
    await call(connection);
    const samples = await scrape(url);
    expect(samples.flatMap(({ labels }) => [...labels.values()])).not.toContain('nobody-made-me');
    const unknown = { operation: 'CountWorkflowExecutions', namespace: '_unknown_' };
    expect(valueOf(samples, `service_requests${counter}`, unknown)).toBe(1);
  });
});

test('prefix, tags and tags that are excluded', async () => {
  const tags = { region: 'eu "1"\\', operation: 'mine' };
  const excludeTags = { namespace: ['default'], region: [] };
  const { connection, url } = await served({ prefix: 'acme', tags, excludeTags });
  await call(connection);
  const samples = await scrape(url);
  const labels = { operation: 'DescribeNamespace', namespace: '_tag_excluded_', region: String.raw`eu \"1\"\\` };
  expect(valueOf(samples, 'acme_service_requests', labels)).toBe(1);
});

test('a call that waits is pending, and a history that is waited for is an operation of its own', async () => {
  const { connection, url } = await served();
  const { workflowService } = connection;
  const started = await workflowService.startWorkflowExecution({
    namespace: 'default',
    workflowId: 'waited-for',
    workflowType: { name: 'any' },
    taskQueue: { name: 'nobody-polls' },
    requestId: 'once',
  });
  const execution = { workflowId: 'waited-for', runId: started.runId };
  const ask = { namespace: 'default', execution, waitNewEvent: true };
  const { nextPageToken } = await workflowService.getWorkflowExecutionHistory(ask);
  const abort = new AbortController();
  const waits = connection.withAbortSignal(abort.signal, () => workflowService.getWorkflowExecutionHistory({ ...ask, nextPageToken }));
  const ended = expect(waits).rejects.toThrow();
  const operation = { operation: 'PollWorkflowExecutionHistory', namespace: 'default' };
  await expect.poll(async () => valueOf(await scrape(url), 'service_pending_requests', operation), { timeout: 60_000 }).toBe(1);
  abort.abort();
  await ended;
  await expect.poll(async () => valueOf(await scrape(url), 'service_requests', operation), { timeout: 60_000 }).toBe(2);
  const samples = await scrape(url);
  expect(valueOf(samples, 'service_pending_requests', operation)).toBe(0);
  expect(valueOf(samples, 'service_latency_nouserlatency_count', operation)).toBeUndefined();
});

test('a second start and a busy limit are counted as the client was answered', () => {
  const registry = new MetricsRegistry();
  const interceptor = serviceMetrics(registry.of('frontend'));
  const rpc = workflowRpcs.rpcs.get('StartWorkflowExecution') as Rpc;
  const notes = { namespace: 'default', taskQueue: '', oversized: '', waitsForEvents: false };
  const call = { rpc, notes, peer: '127.0.0.1:4711', deadlineMs: Infinity, cancelled: false, principal: undefined };
  const errors = [
    alreadyStarted('started', { startRequestId: 'a', runId: 'b', firstExecutionRunId: 'b' }),
    resourceExhausted('busy', exhaustedCause.busyWorkflow, exhaustedScope.namespace),
    resourceExhausted('full', exhaustedCause.systemOverloaded, exhaustedScope.system),
  ];
  for (const error of errors) {
    const { code, message } = error;
    interceptor.after?.({ ...call, header: () => '', onCancel: () => {}, admit: () => undefined }, { code, message, error, durationMs: 1 });
  }
  const series = registry.scraped();
  const told = (name: MetricName) => [...(series.get(name) ?? [])].map(({ tags, cell }) => [tags['resource_exhausted_cause'], cell]);
  const once = expect.objectContaining({ value: 1 });
  expect(told('service_errors_execution_already_started')).toEqual([[undefined, once]]);
  expect(told('service_errors_resource_exhausted')).toEqual([
    ['BusyWorkflow', once],
    ['SystemOverloaded', once],
  ]);
  expect(told('service_errors')).toEqual([[undefined, once]]);
});

test('a page that is not there, and a method that is not GET', async () => {
  const { url } = await served();
  expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404);
  expect((await fetch(url, { method: 'POST' })).status).toBe(405);
});

test('a port that is taken is named, and the start fails', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise((resolve) => void taken.close(() => resolve())));
  const address = taken.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const metrics = { host: '127.0.0.1', port, path: '/metrics', naming: defaultNaming, timerBoundsMs: undefined };
  await expect(memoryServer({ metrics })).rejects.toThrow(`metrics: cannot listen on 127.0.0.1:${port}: the port is in use`);
});

test('without configuration nothing listens', async () => {
  const server = await memoryServer();
  closing.push(() => server.stop());
  expect(server.metricsPort).toBeUndefined();
});
