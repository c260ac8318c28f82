import { expect } from 'vitest';
import type { Scenario } from '../harness.ts';
import { activity, workflowTask } from '../history.ts';
import { enums, valuesOf } from '../fields.ts';
import { callActivity, outcomeOfActivity } from '../workflows.ts';

const { RetryState, TimeoutType } = enums;
const once = { maximumAttempts: 1 } as const;

/**
 * The four timeouts of an activity, and what a heartbeat leaves behind. Where an attempt has to be in time (its successor, a beat), it gets
 * what a busy machine needs; where it never is, the timeout is short.
 */
export const activityTimeoutScenarios: readonly Scenario[] = [
  {
    name: 'schedule to start: nobody polls the queue',
    async run(stage) {
      const options = { taskQueue: `${stage.id}-nobody`, scheduleToStartTimeout: 50 };
      const run = await stage.start(outcomeOfActivity, ['greet', ['nobody'], options]);
      expect(await run.handle.result()).toBe('ActivityFailure < TimeoutFailure');
      const history = await run.history();
      expect(history.types).toEqual([...upTo, 'ActivityTaskScheduled', 'ActivityTaskTimedOut', ...rest]);
      const timedOut = history.only('activityTaskTimedOutEventAttributes');
      expect(timedOut).toMatchObject({
        retryState: RetryState.RETRY_STATE_TIMEOUT,
        failure: {
          message: 'activity ScheduleToStart timeout',
          timeoutFailureInfo: { timeoutType: TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START },
        },
      });
      expect(Number(timedOut.startedEventId)).toBe(0);
    },
  },
  {
    name: 'start to close: an attempt takes too long',
    async run(stage) {
      const run = await stage.start(outcomeOfActivity, ['waitAtGate', ['never'], { startToCloseTimeout: 50, retry: once }]);
      expect(await run.handle.result()).toBe('ActivityFailure < TimeoutFailure');
      run.gate('never').open();
      const history = await run.history();
      expect(history.types).toEqual([...upTo, 'ActivityTaskScheduled', 'ActivityTaskStarted', 'ActivityTaskTimedOut', ...rest]);
      expect(history.only('activityTaskTimedOutEventAttributes')).toMatchObject({
        retryState: RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED,
        failure: { message: 'activity StartToClose timeout', timeoutFailureInfo: { timeoutType: TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE } },
      });
    },
  },
  {
    name: 'start to close is retried',
    async run(stage) {
      const retry = { initialInterval: 10 };
      const run = await stage.start(callActivity, ['waitAtGateOnce', ['once'], { startToCloseTimeout: 600, retry }]);
      expect(await run.handle.result()).toBe('attempt 2 after null');
      run.gate('once').open();
      const history = await run.history();
      expect(history.types).toEqual([...upTo, ...activity, ...rest]);
      expect(history.only('activityTaskStartedEventAttributes')).toMatchObject({
        attempt: 2,
        lastFailure: {
          message: 'activity StartToClose timeout',
          timeoutFailureInfo: { timeoutType: TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE },
        },
      });
    },
  },
  {
    name: 'schedule to close: a running attempt is cut off',
    async run(stage) {
      // The second attempt hangs: its own start to close would end later.
      const options = { scheduleToCloseTimeout: 1_800, startToCloseTimeout: 1_800, retry: { initialInterval: 200 } };
      const run = await stage.start(outcomeOfActivity, ['failOnceThenWait', ['never'], options]);
      expect(await run.handle.result()).toBe('ActivityFailure < TimeoutFailure');
      run.gate('never').open();
      const history = await run.history();
      expect(history.types).toEqual([...upTo, 'ActivityTaskScheduled', 'ActivityTaskStarted', 'ActivityTaskTimedOut', ...rest]);
      expect(history.only('activityTaskStartedEventAttributes').attempt).toBe(2);
      expect(history.only('activityTaskTimedOutEventAttributes')).toMatchObject({
        retryState: RetryState.RETRY_STATE_TIMEOUT,
        failure: {
          message: 'Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying',
          cause: { message: 'attempt 1 failed' },
          timeoutFailureInfo: { timeoutType: TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE },
        },
      });
    },
  },
  {
    name: 'schedule to close leaves no room for another attempt',
    async run(stage) {
      const options = { scheduleToCloseTimeout: '10s' as const, retry: { initialInterval: '1h' as const } };
      const run = await stage.start(outcomeOfActivity, ['flaky', [9], options]);
      expect(await run.handle.result()).toBe('ActivityFailure < ApplicationFailure');
      const history = await run.history();
      expect(history.types).toEqual([...upTo, 'ActivityTaskScheduled', 'ActivityTaskStarted', 'ActivityTaskFailed', ...rest]);
      expect(history.only('activityTaskFailedEventAttributes')).toMatchObject({
        retryState: RetryState.RETRY_STATE_TIMEOUT,
        failure: { message: 'attempt 1 failed' },
      });
    },
  },
  {
    name: 'an attempt timed out with no time left for another reads as schedule to close',
    async run(stage) {
      const options = { startToCloseTimeout: 50, scheduleToCloseTimeout: '5s' as const, retry: { initialInterval: '1h' as const } };
      const run = await stage.start(outcomeOfActivity, ['waitAtGate', ['never'], options]);
      expect(await run.handle.result()).toBe('ActivityFailure < TimeoutFailure');
      run.gate('never').open();
      expect((await run.history()).only('activityTaskTimedOutEventAttributes')).toMatchObject({
        retryState: RetryState.RETRY_STATE_TIMEOUT,
        failure: {
          message: 'Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying',
          timeoutFailureInfo: { timeoutType: TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE },
        },
      });
    },
  },
  {
    name: 'heartbeat: an attempt stops its heartbeats, its last details are in the failure',
    async run(stage) {
      const run = await stage.start(outcomeOfActivity, ['beatThenHang', [{ step: 3 }], { heartbeatTimeout: 600, retry: once }]);
      expect(await run.handle.result()).toBe('ActivityFailure < TimeoutFailure');
      run.gate('hang').open();
      const history = await run.history();
      expect(history.types).toEqual([...upTo, 'ActivityTaskScheduled', 'ActivityTaskStarted', 'ActivityTaskTimedOut', ...rest]);
      const { failure } = history.only('activityTaskTimedOutEventAttributes');
      expect(failure).toMatchObject({
        message: 'activity Heartbeat timeout',
        timeoutFailureInfo: { timeoutType: TimeoutType.TIMEOUT_TYPE_HEARTBEAT },
      });
      expect(valuesOf(failure?.timeoutFailureInfo?.lastHeartbeatDetails)).toEqual([{ step: 3 }]);
    },
  },
  {
    name: 'heartbeat details are carried over a heartbeat timeout',
    async run(stage) {
      const options = { heartbeatTimeout: 600, retry: { initialInterval: 10 } };
      const run = await stage.start(callActivity, ['beatThenHang', [{ step: 4 }], options]);
      expect(await run.handle.result()).toBe('resumed at {"step":4}');
      run.gate('hang').open();
      const history = await run.history();
      expect(history.types).toEqual([...upTo, ...activity, ...rest]);
      expect(history.only('activityTaskStartedEventAttributes')).toMatchObject({
        attempt: 2,
        lastFailure: { message: 'activity Heartbeat timeout' },
      });
    },
  },
  {
    name: 'heartbeat details are carried over a failure',
    async run(stage) {
      const options = { heartbeatTimeout: '5s' as const, retry: { initialInterval: 10 } };
      const run = await stage.start(callActivity, ['beatThenFail', [{ step: 5 }], options]);
      expect(await run.handle.result()).toBe('resumed at {"step":5}');
      const history = await run.history();
      expect(history.types).toEqual([...upTo, ...activity, ...rest]);
      expect(history.only('activityTaskStartedEventAttributes')).toMatchObject({
        attempt: 2,
        lastFailure: { message: 'lost after a beat' },
      });
    },
  },
];

const upTo = ['WorkflowExecutionStarted', ...workflowTask] as const;
const rest = [...workflowTask, 'WorkflowExecutionCompleted'] as const;
