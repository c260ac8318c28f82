/**
 * No command that the contract allows is refused for the size of its record. Each is decided with the largest things that it may find:
 * a full buffer of events, a full set of children with long names, thousands of timers that are due together.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RECORD_BYTES_MAX } from '../../src/actors/partition/commit-window.ts';
import type { OpaqueFailure } from '../../src/history/commands/failure.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import { defaultHistoryLimits } from '../../src/history/run/history-limits.ts';
import type { StartedActivityTask, StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import { historyCodec } from '../../src/codec/history-codec.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { encodePayload } from '../../src/wire/generated/lean/common.ts';
import {
  activityRef,
  continueAsNew,
  key,
  scheduleActivity,
  ShardUnderTest,
  signalAttributes,
  startChild,
  startTimer,
  terminateWorkflow,
} from './shard-under-test.ts';

const mib = 1024 * 1024;
/** One request of a client or a worker, less what surrounds the largest part of it. */
const requestBytes = 4 * mib - 8 * 1024;
const { blobBytesMax, bufferedBytesMax, memoBytesMax, pendingChildrenMax } = defaultHistoryLimits;

function blob(size: number): Uint8Array {
  return new Uint8Array(size);
}

/** A memo of one entry with that much data. */
function memoOf(size: number): Uint8Array | undefined {
  if (size === 0) return undefined;
  return historyWire.encodeFields(new Map([['k', encodePayload({ metadata: new Map(), data: blob(size), externalPayloads: [] })]]));
}

function recordBytes(shard: ShardUnderTest): number {
  const record = shard.records.at(-1);
  return record === undefined ? 0 : historyCodec.encode(record).value.byteLength;
}

function largestRecord(shard: ShardUnderTest): number {
  return Math.max(...shard.records.map((record) => historyCodec.encode(record).value.byteLength));
}

function failure(size: number, nonRetryable = true): OpaqueFailure {
  return { facts: { kind: 'application', type: 'T', nonRetryable, nextRetryDelayMs: 0, message: 'm' }, bytes: blob(size) };
}

function longName(index: number): string {
  return `${index}`.padEnd(1000, 'n');
}

/** Comparing states as texts takes seconds with so many bytes; the small programs do it. */
function unchecked(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.checks = false;
  return shard;
}

type Busy = { readonly shard: ShardUnderTest; readonly activity: StartedActivityTask; readonly task: StartedWorkflowTask };

/** A worker has an activity and the workflow task; `buffered` bytes of signals wait for the end of that task. */
function busy(buffered: number, heartbeatDetails = 0, shard = unchecked()): Busy {
  shard.start();
  const retryPolicy = {
    initialIntervalMs: 1000,
    backoffCoefficient: 1,
    maximumIntervalMs: 0,
    maximumAttempts: 1,
    nonRetryableErrorTypes: [],
  };
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ heartbeatTimeoutMs: 5000, retryPolicy })]);
  const activity = shard.pollActivityTask();
  if (heartbeatDetails > 0) {
    shard.ask({ kind: 'recordActivityHeartbeat', activity: activityRef(activity), details: blob(heartbeatDetails), identity: 'w' });
  }
  shard.signal();
  const task = shard.pollWorkflowTask();
  if (buffered > 0) shard.signal({ input: blob(buffered) });
  return { shard, activity, task };
}

describe('what met the limit before', () => {
  test('a heartbeat of 1.4 MiB, a signal of 1.8 MiB that waits, and the worker dies', () => {
    const { shard } = busy(1.8 * mib, 1.4 * mib);
    shard.advance(6000);
    shard.fireDueTimers();
    expect(shard.history().slice(-5)).toEqual([
      'workflowTaskFailed',
      'workflowExecutionSignaled',
      'activityTaskStarted',
      'activityTaskTimedOut',
      'workflowTaskScheduled',
    ]);
    expect(largestRecord(shard)).toBeLessThan(3.3 * mib);
  });

  test('a result of 1.3 MiB while signals of 1.6 MiB wait', () => {
    const { shard, activity } = busy(1.6 * mib);
    shard.completeActivity(activity, blob(1.3 * mib));
    expect(shard.history()).toContain('activityTaskCompleted');
    expect(recordBytes(shard)).toBeLessThan(3 * mib);
  });

  test('continue as new with an input of 1.3 MiB and a memo of 0.9 MiB', () => {
    const shard = unchecked();
    const first = shard.start();
    shard.complete(shard.pollWorkflowTask(), [continueAsNew({ input: blob(1.3 * mib), memo: memoOf(0.9 * mib) })]);
    expect(shard.describe().key.runId).not.toBe(first);
    expect(recordBytes(shard)).toBeLessThan(RECORD_BYTES_MAX);
  });

  test('the start of a child with 3.9 MiB', () => {
    const shard = unchecked();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startChild({ input: blob(1.95 * mib), memo: memoOf(1.95 * mib) })]);
    shard.pumpOutbox();
    expect(shard.history()).toContain('childWorkflowExecutionStarted');
    expect(largestRecord(shard)).toBeLessThan(RECORD_BYTES_MAX);
  });
});

test('an event that comes and is flushed in one record stands in it once', () => {
  const { shard, activity } = busy(600, 0, new ShardUnderTest({ bufferedBytesMax: 1000 }));
  shard.completeActivity(activity, blob(600));
  const change = shard.records.at(-1)?.runs[0];
  expect(change?.facts.map(({ fact }) => fact.kind)).toEqual(['bufferFlushed']);
  expect(change?.events.map(({ event }) => event.type)).toContain('activityTaskCompleted');
});

const size = (max: number) => fc.constantFrom(0, 1, Math.floor(max / 2), max);

test('property: whatever ends an activity, however full the buffer is', () => {
  const how = fc.constantFrom('complete', 'fail', 'retry', 'cancel', 'timeOut' as const);
  fc.assert(
    fc.property(how, size(bufferedBytesMax - 200), size(blobBytesMax - 200), size(blobBytesMax - 200), (end, buffered, details, result) => {
      const { shard, activity: task } = busy(buffered, details);
      const activity = activityRef(task);
      const identity = longName(1);
      if (end === 'complete') shard.ask({ kind: 'completeActivityTask', activity, result: blob(result), identity });
      if (end === 'fail' || end === 'retry') {
        const lastHeartbeatDetails = blob(Math.min(details, requestBytes - result));
        shard.ask({ kind: 'failActivityTask', activity, failure: failure(result, end === 'fail'), lastHeartbeatDetails, identity });
      }
      if (end === 'cancel') shard.ask({ kind: 'cancelActivityTask', activity, details: blob(result), identity });
      if (end === 'timeOut') {
        shard.advance(20_000);
        shard.fireDueTimers();
      }
      expect(largestRecord(shard)).toBeLessThanOrEqual(RECORD_BYTES_MAX);
    }),
    { numRuns: 60 },
  );
});

test('property: whatever a worker or a client sends, however full the buffer is', () => {
  const close = fc.constantFrom('none', 'complete', 'terminate', 'signal', 'runTimeout' as const);
  fc.assert(
    fc.property(close, size(bufferedBytesMax - 200), size(requestBytes), fc.constantFrom(1, 100), (then, buffered, sent, parts) => {
      const { shard, task } = busy(buffered);
      const part = Math.floor(Math.min(sent, requestBytes) / Math.max(parts, 2));
      const commands: WorkflowCommand[] = Array.from({ length: Math.max(parts, 2) }, (_, index) =>
        scheduleActivity({ activityId: `${index}`, input: blob(Math.min(part, blobBytesMax)) }),
      );
      if (then === 'none') shard.complete(task, commands);
      if (then === 'complete') {
        shard.ask(
          shard.completion(task, [
            { type: 'completeWorkflowExecution', userMetadata: undefined, attributes: { result: blob(Math.min(sent, blobBytesMax)) } },
          ]),
        );
      }
      if (then === 'terminate') {
        shard.expectDone(terminateWorkflow({ details: blob(sent) }));
      }
      if (then === 'signal') {
        const signal = signalAttributes({ input: blob(Math.min(sent, blobBytesMax)), header: blob(Math.max(0, sent - blobBytesMax)) });
        shard.ask({ kind: 'signalWorkflow', key, signal, childOf: undefined });
      }
      expect(largestRecord(shard)).toBeLessThanOrEqual(RECORD_BYTES_MAX);
    }),
    { numRuns: 60 },
  );
});

test('property: one run follows another, or a workflow begins, with all that a request can carry', () => {
  fc.assert(
    fc.property(size(blobBytesMax - 200), size(memoBytesMax - 40 * 1024), size(1.9 * mib), (input, memo, header) => {
      fc.pre(input + memo + header <= requestBytes - 32 * 1024);
      const content = { input: blob(input), memo: memoOf(memo), header: blob(header) };
      const shard = unchecked();
      shard.start({ start: content });
      shard.complete(shard.pollWorkflowTask(), [continueAsNew(content)]);
      expect(largestRecord(shard)).toBeLessThanOrEqual(RECORD_BYTES_MAX);
    }),
    { numRuns: 40 },
  );
});

describe('names of 1,000 bytes', () => {
  test('are written once for each command, not once more for its task', () => {
    const shard = unchecked();
    shard.start();
    // As many as a request holds.
    const commands = Array.from({ length: 3900 }, (_, index) => startTimer(longName(index), 1000));
    shard.complete(shard.pollWorkflowTask(), commands);
    expect(recordBytes(shard)).toBeLessThan(4.5 * mib);
  });

  test('of thousands of timers that are due together: they fire in more than one record, in order', () => {
    const shard = unchecked();
    shard.start();
    const count = 3 * 3900;
    for (let from = 0; from < count; from += 3900) {
      shard.complete(
        shard.pollWorkflowTask(),
        Array.from({ length: 3900 }, (_, index) => startTimer(longName(from + index), 100_000 + index)),
        { forceCreateNewWorkflowTask: true },
      );
    }
    shard.advance(1_000_000);
    shard.fireDueTimers();
    expect(largestRecord(shard)).toBeLessThan(4.5 * mib);
    const fired = shard.events().filter((event) => event.type === 'timerFired');
    expect(fired).toHaveLength(count);
    const times = fired.map(({ attributes }) => Number(attributes.timerId.replaceAll('n', '')) % 3900);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test('of all the children that a run may have, when it is terminated with a full buffer', () => {
    const shard = unchecked();
    shard.start();
    const children = Array.from({ length: pendingChildrenMax }, (_, index) =>
      startChild({ workflowId: longName(index), workflowType: 'T' }),
    );
    shard.complete(shard.pollWorkflowTask(), children);
    shard.pumpOutboxIfPossible();
    const task = shard.pollWorkflowTask();
    expect(task.key.workflowId).toBe('wf');
    shard.signal({ input: blob(bufferedBytesMax - 200) });
    shard.expectDone(terminateWorkflow({ details: blob(2 * mib) }));
    expect(largestRecord(shard)).toBeLessThanOrEqual(RECORD_BYTES_MAX);
  });
});
