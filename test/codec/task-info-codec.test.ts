/** The value of a dead letter: Temporal's decoder reads what its tools show, and our task comes back exactly. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type TaskCategory, taskCategoryOf, taskTypeOf } from '../../src/history/run/task-types.ts';
import type { PendingTask } from '../../src/history/run/tasks.ts';
import { pascalCase } from '../../src/kernel/pascal-case.ts';
import { Undecodable } from '../../src/kernel/undecodable.ts';
import { decodeTaskInfo, decodeTaskOf, encodeTaskInfo } from '../../src/codec/task-info-codec.ts';
import * as info from '../../src/wire/generated/letter/task_info.ts';
import { temporal } from '../../src/wire/generated/services.js';
import { fullTasks, lastMessages, furtherTasks } from './full-state.ts';

const { TransferTaskInfo, TimerTaskInfo } = temporal.server.api.persistence.v1;
const transferType = 'temporal.server.api.persistence.v1.TransferTaskInfo';
const timerType = 'temporal.server.api.persistence.v1.TimerTaskInfo';

const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 });
const count = fc.maxSafeNat();
const runKey = fc.record({ namespaceId: id, workflowId: id, runId: id }, { noNullPrototype: true });
/** A task of each kind, with other ids and numbers. */
const tasks: fc.Arbitrary<PendingTask> = fc
  .tuple(fc.constantFrom<PendingTask[]>(...fullTasks, ...lastMessages, ...furtherTasks), runKey, count, count)
  .map(([task, key, taskId, event]) => ({
    ...task,
    taskId,
    ...('sender' in task && task.sender !== undefined ? { key, sender: { ...task.sender, key } } : { key }),
    ...('fireTimeMs' in task ? { fireTimeMs: Math.min(event, 8e15) } : {}),
    ...('initiatedEventId' in task ? { initiatedEventId: event } : {}),
  }));

test('every task comes back exactly', () => {
  for (const task of [...fullTasks, ...lastMessages, ...furtherTasks]) expect(decodeTaskInfo(encodeTaskInfo(task))).toStrictEqual(task);
  fc.assert(
    fc.property(tasks, (task) => {
      expect(decodeTaskInfo(encodeTaskInfo(task))).toStrictEqual(task);
    }),
  );
});

const forms = { enums: String, longs: Number };
const persistence = temporal.server.api.persistence.v1;
const asTemporalReads: { readonly [category in TaskCategory]: (value: Uint8Array) => object } = {
  transfer: (value) => TransferTaskInfo.toObject(TransferTaskInfo.decode(value), forms),
  timer: (value) => TimerTaskInfo.toObject(TimerTaskInfo.decode(value), forms),
  visibility: (value) => persistence.VisibilityTaskInfo.toObject(persistence.VisibilityTaskInfo.decode(value), forms),
  archival: (value) => persistence.ArchivalTaskInfo.toObject(persistence.ArchivalTaskInfo.decode(value), forms),
  outbound: (value) => persistence.OutboundTaskInfo.toObject(persistence.OutboundTaskInfo.decode(value), forms),
};

test.each<PendingTask>([...fullTasks, ...furtherTasks])('Temporal reads of $kind what it is about', (task) => {
  const { valueType, value } = encodeTaskInfo(task);
  const category = taskCategoryOf(task);
  expect(valueType).toBe(`temporal.server.api.persistence.v1.${pascalCase(category)}TaskInfo`);
  expect(asTemporalReads[category](value)).toMatchObject({
    ...('destination' in task ? { destination: task.destination } : {}),
    ...task.key,
    taskType: taskTypeOf(task),
    taskId: task.taskId,
  });
});

test('Temporal reads whom a child is, which event made it, and when a timer is due', () => {
  const child = fullTasks.find(({ kind }) => kind === 'startChild');
  const timeout = fullTasks.find((task) => task.kind === 'activityTimeout' && task.timeout === 'heartbeat');
  if (child === undefined || timeout === undefined) throw new Error('both are there');
  const read = TransferTaskInfo.toObject(TransferTaskInfo.decode(encodeTaskInfo(child).value), { longs: Number });
  expect(read).toMatchObject({ targetNamespaceId: 'other-ns-id', targetWorkflowId: 'other', scheduledEventId: 7 });
  const readTimer = TimerTaskInfo.toObject(TimerTaskInfo.decode(encodeTaskInfo(timeout).value), { longs: Number });
  const { seconds, nanos } = readTimer['visibilityTime'] as { readonly seconds: number; readonly nanos?: number };
  const { fireTimeMs } = timeout as { readonly fireTimeMs: number };
  expect(seconds * 1_000 + (nanos ?? 0) / 1e6).toBe(fireTimeMs);
  expect(readTimer).toMatchObject({ timeoutType: 4 });
});

describe('a task that another server has written', () => {
  const ids = { namespaceId: 'ns', workflowId: 'wf', runId: 'run', taskId: 7 };
  const key = { namespaceId: 'ns', workflowId: 'wf', runId: 'run' };
  const target = { targetNamespaceId: 'ns', targetWorkflowId: 'other' };
  const transfer = (fields: object) => decodeTaskInfo({ valueType: transferType, value: TransferTaskInfo.encode(fields).finish() });
  const timer = (fields: object) => decodeTaskInfo({ valueType: timerType, value: TimerTaskInfo.encode(fields).finish() });

  test('is ours where it says enough', () => {
    expect(transfer({ ...ids, ...target, taskType: info.TaskType.TRANSFER_START_CHILD_EXECUTION, scheduledEventId: 5 })).toEqual({
      kind: 'startChild',
      taskId: 7,
      version: 0,
      key,
      initiatedEventId: 5,
      target: { namespaceId: 'ns', workflowId: 'other', runId: '' },
    });
    expect(
      transfer({ ...ids, taskType: info.TaskType.TRANSFER_ACTIVITY_TASK, taskQueue: 'q', scheduledEventId: 5, stamp: 2 }),
    ).toMatchObject({
      kind: 'activityTask',
      taskQueue: { name: 'q', kind: 1, normalName: '' },
      scheduledEventId: 5,
      stamp: 2,
    });
    const due = { seconds: 1_770_000_000, nanos: 5_000_000 };
    expect(timer({ ...ids, taskType: info.TaskType.ACTIVITY_TIMEOUT, timeoutType: 4, eventId: 5, visibilityTime: due })).toEqual({
      kind: 'activityTimeout',
      taskId: 7,
      key,
      fireTimeMs: 1_770_000_000_005,
      scheduledEventId: 5,
      stamp: 0,
      timeout: 'heartbeat',
    });
    expect(timer({ ...ids, taskType: info.TaskType.WORKFLOW_RUN_TIMEOUT, visibilityTime: due })).toMatchObject({ kind: 'runTimeout' });
  });

  test.each([
    ['no id', () => transfer({ ...ids, taskId: 0, taskType: 3 }), 'it has no task_id'],
    ['no run', () => timer({ ...ids, runId: '', taskType: info.TaskType.WORKFLOW_RUN_TIMEOUT }), 'it has no run_id'],
    ['no queue', () => transfer({ ...ids, taskType: info.TaskType.TRANSFER_WORKFLOW_TASK, scheduledEventId: 5 }), 'it has no task_queue'],
    [
      'no target',
      () => transfer({ ...ids, taskType: info.TaskType.TRANSFER_SIGNAL_EXECUTION, scheduledEventId: 5 }),
      'it has no target_namespace_id',
    ],
    ['a close', () => transfer({ ...ids, taskType: info.TaskType.TRANSFER_CLOSE_EXECUTION }), 'does not say whom to tell'],
    ['a timer without a name', () => timer({ ...ids, taskType: info.TaskType.USER_TIMER, eventId: 5 }), 'does not say which one'],
    ['no timeout', () => timer({ ...ids, taskType: info.TaskType.ACTIVITY_TIMEOUT, eventId: 5 }), 'its timeout_type 0 is none'],
    [
      'a type of another queue',
      () => transfer({ ...ids, taskType: 21 }),
      'its task_type 21 is none that a history shard has for a transfer',
    ],
  ])('is refused with %s', (_what, decode, reason) => {
    expect(decode).toThrow(Undecodable);
    expect(decode).toThrow(reason);
  });

  test('is refused whatever its bytes are, and never in another way', () => {
    fc.assert(
      fc.property(fc.constantFrom(transferType, timerType, '', 'x.Unknown'), fc.uint8Array({ maxLength: 60 }), (valueType, value) => {
        try {
          decodeTaskInfo({ valueType, value });
        } catch (error) {
          expect(error).toBeInstanceOf(Undecodable);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('a transfer in the place of a timer is refused', () => {
    const [first] = fullTasks;
    if (first === undefined) throw new Error('there are tasks');
    const value = info.encodeTimerTaskInfo({ ...info.emptyTimerTaskInfo(), pendingTask: pendingOf(encodeTaskInfo(first).value) });
    expect(() => decodeTaskInfo({ valueType: timerType, value })).toThrow('it holds a task that is no timer');
  });

  const pendingOf = (value: Uint8Array): Uint8Array => info.decodeTransferTaskInfo(value).pendingTask;
});

test('of one that somebody gives us the part that people see is the part that is executed', () => {
  for (const task of [...fullTasks, ...lastMessages, ...furtherTasks]) {
    expect(decodeTaskOf(taskCategoryOf(task), encodeTaskInfo(task).value)).toStrictEqual(task);
  }
  const child = fullTasks.find(({ kind }) => kind === 'startChild');
  if (child === undefined) throw new Error('there is such a task');
  const shown = info.decodeTransferTaskInfo(encodeTaskInfo(child).value);
  for (const [field, other] of [
    ['targetWorkflowId', 'elsewhere'],
    ['workflowId', 'elsewhere'],
    ['scheduledEventId', 77],
  ] as const) {
    const value = info.encodeTransferTaskInfo({ ...shown, [field]: other });
    expect(() => decodeTaskOf('transfer', value)).toThrow(`its ${field} is ${other}, and ${String(shown[field])} in its pending_task`);
  }
});
