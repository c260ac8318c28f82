import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { encodePriority } from '../../src/wire/generated/lean/common.ts';
import {
  decodeUpdateWorkflowExecutionOptionsResponse,
  encodePauseWorkflowExecutionRequest,
  encodeUnpauseWorkflowExecutionRequest,
  encodeUpdateWorkflowExecutionOptionsRequest,
  type PauseWorkflowExecutionRequest,
  type UpdateWorkflowExecutionOptionsRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { openBench, type Bench } from './frontend-bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.stub.historyCommands.length = 0;
});

const long = 'x'.repeat(1001);

function pause(change: Partial<PauseWorkflowExecutionRequest> = {}): PauseWorkflowExecutionRequest {
  return { namespace: 'default', workflowId: 'w', runId: '', identity: 'i', reason: 'why', requestId: 'r', ...change };
}

describe.each([
  ['PauseWorkflowExecution', encodePauseWorkflowExecutionRequest, 'pauseWorkflow'],
  ['UnpauseWorkflowExecution', encodeUnpauseWorkflowExecutionRequest, 'unpauseWorkflow'],
] as const)('%s', (method, encode, kind) => {
  test.each([
    ['WorkflowId is not set on request.', { workflowId: '' }],
    ['RunId is not valid UUID.', { runId: 'no' }],
    ['reason is too long.', { reason: long }],
    ['request id is too long.', { requestId: long }],
    ['identity is too long.', { identity: long }],
  ])('%s', async (message, change) => {
    const error = await bench.client.refusal(method, encode(pause(change)));
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, message]);
    expect(bench.stub.historyCommands, 'its shard hears nothing of it').toEqual([]);
  });

  test('is asked of the shard as it came, also without a request id', async () => {
    bench.stub.answers.history = () => ({ kind: 'done' });
    await bench.client.call(method, encode(pause({ requestId: '' })));
    const key = { namespaceId: 'default-id', workflowId: 'w', runId: '' };
    expect(bench.stub.historyCommands).toEqual([{ kind, key, identity: 'i', reason: 'why', requestId: '' }]);
  });
});

describe('UpdateWorkflowExecutionOptions', () => {
  const priority = encodePriority({ priorityKey: 2, fairnessKey: 'f', fairnessWeight: 0.5 });
  const options = { versioningOverride: undefined, priority, timeSkippingConfig: undefined };
  const update = (change: Partial<UpdateWorkflowExecutionOptionsRequest>): Uint8Array =>
    encodeUpdateWorkflowExecutionOptionsRequest({
      namespace: 'default',
      workflowExecution: { workflowId: 'w', runId: '' },
      workflowExecutionOptions: options,
      updateMask: { paths: ['priority'] },
      identity: 'i',
      ...change,
    });
  const invalid = (path: string): string =>
    `error parsing UpdateMask: proto: invalid path "${path}" for message "temporal.api.workflow.v1.WorkflowExecutionOptions"`;

  test.each<[string, Partial<UpdateWorkflowExecutionOptionsRequest>]>([
    ['WorkflowId is not set on request.', { workflowExecution: undefined }],
    ['UpdateMask is required', { updateMask: undefined }],
    ['WorkflowExecutionOptions is required', { workflowExecutionOptions: undefined }],
    [invalid('priorities'), { updateMask: { paths: ['priorities'] } }],
    [invalid('priority.priorityKey'), { updateMask: { paths: ['priority.priorityKey'] } }],
    [invalid('toString'), { updateMask: { paths: ['toString'] } }],
    [invalid(''), { updateMask: { paths: [''] } }],
    [
      "priority key can't be negative",
      { workflowExecutionOptions: { ...options, priority: encodePriority({ priorityKey: -1, fairnessKey: '', fairnessWeight: 0 }) } },
    ],
    [
      'must be greater than zero',
      { workflowExecutionOptions: { ...options, priority: encodePriority({ priorityKey: 1, fairnessKey: '', fairnessWeight: NaN }) } },
    ],
  ])('%s', async (message, change) => {
    const error = await bench.client.refusal('UpdateWorkflowExecutionOptions', update(change));
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, message]);
    expect(bench.stub.historyCommands, 'its shard hears nothing of it').toEqual([]);
  });

  test.each([
    ['versioning_override', 'versioning_override'],
    ['versioning_override.pinned.version', 'versioning_override'],
    ['time_skipping_config', 'time_skipping_config'],
  ])('a mask that names %s is refused by that name', async (path, named) => {
    const error = await bench.client.refusal('UpdateWorkflowExecutionOptions', update({ updateMask: { paths: ['priority', path] } }));
    expect([error.code, error.details]).toEqual([codes.UNIMPLEMENTED, `${named} is not supported by this server yet`]);
    expect(bench.stub.historyCommands).toEqual([]);
  });

  test('each option counts once, and what it comes to is answered', async () => {
    bench.stub.answers.history = () => ({ kind: 'workflowOptionsUpdated', priority });
    const paths = ['priority.priority_key', 'priority.priority_key', 'priority.fairness_weight'];
    const bytes = await bench.client.call('UpdateWorkflowExecutionOptions', update({ updateMask: { paths } }));
    expect(decodeUpdateWorkflowExecutionOptionsResponse(bytes).workflowExecutionOptions).toEqual(options);
    expect(bench.stub.historyCommands).toMatchObject([{ fields: ['priority.priorityKey', 'priority.fairnessWeight'], priority }]);
  });
});
