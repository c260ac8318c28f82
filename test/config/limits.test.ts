/** Limits have one source: what an operator lowers holds at the edge, in the core and in what clients are told. */
import { afterEach, expect, test } from 'vitest';
import { DynamicConfig } from '../../src/config/dynamic-config.ts';
import { constantEntries } from '../../src/config/dynamic-settings.ts';
import { limitSettings } from '../../src/config/limit-settings.ts';
import { defaultHistoryLimits } from '../../src/history/run/history-limits.ts';
import {
  decodeDescribeNamespaceResponse,
  emptyDescribeNamespaceRequest,
  encodeDescribeNamespaceRequest,
} from '../../src/wire/generated/lean/namespace_service.ts';
import {
  emptySignalWorkflowExecutionRequest,
  emptyStartWorkflowExecutionRequest,
  encodeSignalWorkflowExecutionRequest,
  encodeStartWorkflowExecutionRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { payloadsOf } from '../grpc/started-tasks.ts';
import { RawClient } from '../grpc/raw-client.ts';
import { memoryServer } from '../support/memory-server.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

test('every key names a limit of the core, and its default', () => {
  const defaults: Readonly<Record<string, number>> = defaultHistoryLimits;
  expect(Object.entries(limitSettings).map(([limit, setting]) => [limit, setting.default])).toEqual(
    Object.keys(limitSettings).map((limit) => [limit, defaults[limit]]),
  );
});

test('values are checked, and none raises a limit above its maximum', () => {
  for (const value of [0, -1, 1.5, Number.NaN, '2048', null]) {
    const { entries, problems } = constantEntries(new Map([['limit.blobSize.error', value]]));
    expect(problems).toEqual([
      { key: 'limit.blobSize.error', message: expect.stringContaining('not used: expected a whole number from 1024 to 2097152') },
    ]);
    expect(new DynamicConfig(entries).values(limitSettings).blobBytesMax).toBe(2 * 1024 * 1024);
  }
  const { entries, problems } = constantEntries(
    new Map<string, unknown>([
      ['limit.blobSize.error', 2 ** 30],
      ['History.MaximumSignalsPerExecution', 3],
      ['history.maxBufferedQueryCount', 1_000],
      ['matching.rps', 7],
      ['constructor', 7],
    ]),
  );
  expect(problems).toEqual([
    { key: 'limit.blobSize.error', message: 'this limit can be lowered, not raised: the default applies' },
    { key: 'history.maxBufferedQueryCount', message: 'this limit can be at most 100: that applies' },
  ]);
  const limits = new DynamicConfig(entries).values(limitSettings);
  expect(limits).toMatchObject({ blobBytesMax: 2 * 1024 * 1024, signalsPerRunMax: 3, bufferedQueriesMax: 100, idBytesMax: 1_000 });
});

test('a lowered limit holds everywhere', async () => {
  const server = await memoryServer({
    dynamicConfig: new Map([
      ['limit.blobSize.error', 2048],
      ['limit.maxIDLength', 40],
      ['history.maximumSignalsPerExecution', 2],
    ]),
  });
  cleanups.push(() => server.stop());
  const client = new RawClient(server.address);
  cleanups.push(() => client.close());
  const start = (workflowId: string, bytes: number): Uint8Array =>
    encodeStartWorkflowExecutionRequest({
      ...emptyStartWorkflowExecutionRequest(),
      namespace: 'default',
      workflowId,
      workflowType: { name: 't' },
      taskQueue: { name: 'q', kind: 1, normalName: '' },
      input: payloadsOf(bytes),
    });
  expect((await client.refusal('StartWorkflowExecution', start('w', 2048))).details).toBe('Blob data size exceeds limit.');
  const longId = 'w'.repeat(41);
  expect((await client.refusal('StartWorkflowExecution', start(longId, 10))).details).toBe(
    'WorkflowId exceeds maximum allowed length (41/40)',
  );
  await client.call('StartWorkflowExecution', start('w', 10));
  const signal = encodeSignalWorkflowExecutionRequest({
    ...emptySignalWorkflowExecutionRequest(),
    namespace: 'default',
    workflowExecution: { workflowId: 'w', runId: '' },
    signalName: 's',
  });
  for (let sent = 0; sent < 2; sent++) await client.call('SignalWorkflowExecution', signal);
  expect((await client.refusal('SignalWorkflowExecution', signal)).details).toBe('exceeded workflow execution limit for signal events');
  const described = decodeDescribeNamespaceResponse(
    await client.call('DescribeNamespace', encodeDescribeNamespaceRequest({ ...emptyDescribeNamespaceRequest(), namespace: 'default' })),
  );
  expect(described.namespaceInfo?.limits?.blobSizeLimitError).toBe(2048);
});
