/** The language of queries about workers. What is refused, and what is met by nobody, is as in Temporal's `worker_query_engine.go` (1.32). */
import { expect, test } from 'vitest';
import { parseWorkerFilter } from '../../src/workers/worker-filter.ts';
import type { WorkerFields } from '../../src/workers/worker.ts';

const worker: WorkerFields = {
  instanceKey: 'key-1',
  identity: '7@host',
  hostName: 'host',
  taskQueue: 'orders',
  deploymentName: '',
  buildId: 'b1',
  sdkName: 'temporal-typescript',
  sdkVersion: '1.13.0',
  status: 'Running',
  startTimeMs: Date.parse('2026-01-31T12:00:00Z'),
  heartbeatTimeMs: undefined,
};

function meets(query: string): boolean {
  const parsed = parseWorkerFilter(query);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.filter(worker);
}

test.each([
  '',
  `WorkerInstanceKey = 'key-1'`,
  `WorkerIdentity = '7@host' AND HostName = "host"`,
  `TaskQueue != 'other'`,
  `TaskQueue STARTS_WITH 'ord'`,
  `TaskQueue NOT STARTS_WITH 'x'`,
  `DeploymentName IS NULL and BuildId IS NOT NULL`,
  `SdkName = 'temporal-typescript' AND (SdkVersion = '2' OR SdkVersion = '1.13.0')`,
  `WorkerStatus = 'Running'`,
  `Status = 'Running'`,
  `StartTime = '2026-01-31T12:00:00Z'`,
  `StartTime = '2026-01-31T13:00:00+01:00'`,
  `StartTime > '2026-01-31T11:59:59.999Z' AND StartTime <= 1769860800000000000`,
  `StartTime BETWEEN '2026-01-01T00:00:00Z' AND '2026-02-01T00:00:00Z'`,
  `StartTime NOT BETWEEN '2025-01-01T00:00:00Z' AND '2025-02-01T00:00:00Z'`,
  `HeartbeatTime IS NULL`,
  `HeartbeatTime < '2026-01-01T00:00:00Z'`,
  `TaskQueue = 'orders' OR Nothing = 'x'`,
])('is met by the worker: %s', (query) => expect(meets(query)).toBe(true));

test.each([
  `TaskQueue = 'Orders'`,
  `StartTime < '2026-01-31T12:00:00Z'`,
  `HeartbeatTime BETWEEN '1900-01-01T00:00:00Z' AND '2100-01-01T00:00:00Z'`,
  `DeploymentName IS NOT NULL`,
  // What means nothing is met by nobody, and so is what is joined to it.
  `Nothing = 'x'`,
  `taskqueue = 'orders'`,
  `Nothing = 'x' OR TaskQueue = 'orders'`,
  `Nothing != 'x'`,
  `TaskQueue = ''`,
  `TaskQueue != ''`,
  `TaskQueue = 7`,
  `TaskQueue > 'a'`,
  `TaskQueue IN ('orders')`,
  `TaskQueue LIKE 'ord%'`,
  `TaskQueue IS TRUE`,
  `TaskQueue BETWEEN 'a' AND 'z'`,
  `StartTime = 'yesterday'`,
  `StartTime IN ('2026-01-31T12:00:00Z')`,
  `NOT TaskQueue = 'x'`,
  `TaskQueue`,
  `7 = 7`,
])('is met by nobody: %s', (query) => expect(meets(query)).toBe(false));

test.each([
  [`TaskQueue =`, `malformed query: syntax error at position 39`],
  [`   `, 'malformed query: syntax error at position 1'],
  [`TaskQueue = 'x' LIMIT 7`, `operation is not supported: 'limit' clause`],
  [`where TaskQueue = 'x'`, `invalid filter: where TaskQueue = 'x'`],
  [`SELECT * from x`, `invalid filter: SELECT * from x`],
])('is refused: %s', (query, problem) => expect(parseWorkerFilter(query)).toEqual({ problem }));

test('a query is no longer than its limits', () => {
  const conditions = Array.from({ length: 201 }, () => `TaskQueue = 'x'`);
  expect(parseWorkerFilter(conditions.join(' OR '))).toEqual({ problem: 'operation is not supported: more than 200 conditions' });
  expect(parseWorkerFilter(`TaskQueue = '${'x'.repeat(8 * 1024)}'`)).toEqual({
    problem: 'operation is not supported: more than 8192 bytes',
  });
});
