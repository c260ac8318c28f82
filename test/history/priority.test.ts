import proto from '@temporalio/proto';
import { expect, test } from 'vitest';
import { mergedPriority } from '../../src/history/commands/priority.ts';
import { stateCodec } from '../../src/codec/state-codec.ts';
import { scheduleActivity, ShardUnderTest, startChild } from './shard-under-test.ts';

const { Priority } = proto.temporal.api.common.v1;
const ofWorkflow = encoded({ priorityKey: 2, fairnessKey: 'fair', fairnessWeight: 1.5 });
const own = encoded({ priorityKey: 3 });
const merged = { priorityKey: 3, fairnessKey: 'fair', fairnessWeight: 1.5 };

test('what is set wins, what is not comes from the workflow', () => {
  expect(decoded(mergedPriority(ofWorkflow, own))).toEqual(merged);
  expect(mergedPriority(ofWorkflow, undefined)).toBe(ofWorkflow);
  expect(mergedPriority(undefined, own)).toBe(own);
  expect(mergedPriority(undefined, undefined)).toBeUndefined();
});

test('an activity task and a child have the merged priority', () => {
  const shard = new ShardUnderTest();
  shard.start({ start: { priority: ofWorkflow } });
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ priority: own }), startChild({ priority: own })]);
  expect(decoded(shard.pollActivityTask().priority)).toEqual(merged);
  const child = shard.outboxMessage(shard.pendingTask('startChild').taskId, 'child-run')?.command;
  if (child?.kind !== 'startWorkflow') throw new Error('no child is started');
  expect(decoded(child.start.priority)).toEqual(merged);
  // Events show what each was given.
  expect(shard.lastEvent('activityTaskScheduled').attributes.priority).toEqual(own);
});

test('what goes to matching has the merged priority, in records and in rows, and nothing where nothing is said', () => {
  const shard = new ShardUnderTest();
  shard.start({ start: { priority: ofWorkflow } });
  expect(shard.pendingTask('workflowTask').priority).toEqual({ priorityKey: 2, fairnessKey: 'fair', fairnessWeight: 1.5 });
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ priority: own })]);
  const task = shard.pendingTask('activityTask');
  expect(task.priority).toEqual(merged);
  expect(stateCodec.decodeTask(stateCodec.encodeTask(task))).toEqual(task);
  const plain = new ShardUnderTest();
  plain.start();
  expect('priority' in plain.pendingTask('workflowTask')).toBe(false);
});

function encoded(priority: { readonly priorityKey: number; readonly fairnessKey?: string; readonly fairnessWeight?: number }): Uint8Array {
  return Uint8Array.from(Priority.encode(priority).finish());
}

function decoded(bytes: Uint8Array | undefined): unknown {
  return Priority.toObject(Priority.decode(bytes ?? new Uint8Array(0)));
}
