import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  emptyUpdateActivityOptionsRequest,
  encodePauseActivityRequest,
  encodeResetActivityRequest,
  encodeUpdateActivityOptionsRequest,
  type UpdateActivityOptionsRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { emptyActivityOptions } from '../../src/wire/generated/lean/activity_options.ts';
import { openBench, type Bench } from './frontend-bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const execution = { workflowId: 'w', runId: '' };
const pause = { namespace: 'default', execution, identity: '', id: undefined, type: 't', reason: '', requestId: '' };
const reset = {
  ...{ namespace: 'default', execution, identity: '', id: undefined, type: undefined, matchAll: true },
  ...{ resetHeartbeat: false, keepPaused: false, restoreOriginalOptions: false, jitterMs: 0 },
};
const options = emptyActivityOptions();

function update(change: Partial<UpdateActivityOptionsRequest>): Uint8Array {
  return encodeUpdateActivityOptionsRequest({
    ...emptyUpdateActivityOptionsRequest(),
    ...{ namespace: 'default', execution, matchAll: true },
    ...{ activityOptions: options, updateMask: { paths: [] } },
    ...change,
  });
}

const long = 'x'.repeat(1001);
const unset = 'Either Activity.Id or Activity.Type should be set on request.';
const queue = { name: '', kind: 0, normalName: '' };

test.each<[string, string, Uint8Array]>([
  [unset, 'PauseActivity', encodePauseActivityRequest({ ...pause, type: undefined })],
  ['WorkflowId is not set on request.', 'PauseActivity', encodePauseActivityRequest({ ...pause, execution: undefined })],
  ['RunId is not valid UUID.', 'PauseActivity', encodePauseActivityRequest({ ...pause, execution: { workflowId: 'w', runId: 'x' } })],
  ['Reason length exceeds limit.', 'PauseActivity', encodePauseActivityRequest({ ...pause, reason: long })],
  ['RequestId length exceeds limit.', 'PauseActivity', encodePauseActivityRequest({ ...pause, requestId: long })],
  ['ActivityType length exceeds limit.', 'PauseActivity', encodePauseActivityRequest({ ...pause, type: long })],
  [unset, 'ResetActivity', encodeResetActivityRequest({ ...reset, matchAll: undefined })],
  ['invalid Jitter: negative duration', 'ResetActivity', encodeResetActivityRequest({ ...reset, jitterMs: -1 })],
  [unset, 'UpdateActivityOptions', update({ matchAll: undefined })],
  ['ActivityOptions are not provided', 'UpdateActivityOptions', update({ activityOptions: undefined })],
  ['UpdateMask is not provided', 'UpdateActivityOptions', update({ updateMask: undefined })],
  ['UpdateMask names no option of an activity: start_delay', 'UpdateActivityOptions', update({ updateMask: { paths: ['start_delay'] } })],
  ['TaskQueue is not provided', 'UpdateActivityOptions', update({ updateMask: { paths: ['task_queue.name'] } })],
  [
    'missing task queue name',
    'UpdateActivityOptions',
    update({ updateMask: { paths: ['taskQueue.name'] }, activityOptions: { ...options, taskQueue: queue } }),
  ],
  [
    'Both UpdateMask and RestoreOriginal are provided',
    'UpdateActivityOptions',
    update({ restoreOriginal: true, updateMask: { paths: ['priority'] } }),
  ],
  [
    'invalid StartToCloseTimeout: negative duration',
    'UpdateActivityOptions',
    update({ updateMask: { paths: ['start_to_close_timeout'] }, activityOptions: { ...options, startToCloseTimeoutMs: -1 } }),
  ],
])('%s (%s)', async (message, method, request) => {
  bench.stub.historyCommands.length = 0;
  const error = await bench.client.refusal(method, request);
  expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, message]);
  expect(bench.stub.historyCommands, 'its shard hears nothing of it').toEqual([]);
});

test('options that the mask does not name are not looked at', async () => {
  bench.stub.historyCommands.length = 0;
  const request = { updateMask: { paths: ['heartbeat_timeout'] }, activityOptions: { ...options, startToCloseTimeoutMs: -1 } };
  await bench.client.refusal('UpdateActivityOptions', update(request));
  expect(bench.stub.historyCommands).toMatchObject([{ kind: 'updateActivityOptions', change: { fields: ['heartbeatTimeout'] } }]);
});

test('a mask names options as protobuf does, or as JSON does; each counts once', async () => {
  bench.stub.historyCommands.length = 0;
  const paths = ['retry_policy.initial_interval', 'retryPolicy.initialInterval', 'heartbeat_timeout'];
  await bench.client.refusal('UpdateActivityOptions', update({ updateMask: { paths } }));
  expect(bench.stub.historyCommands).toMatchObject([{ change: { fields: ['retryPolicy.initialInterval', 'heartbeatTimeout'] } }]);
});
