import { expect } from 'vitest';
import proto from '@temporalio/proto';
import type { Scenario } from '../harness.ts';
import { activity, workflowTask } from '../history.ts';
import { callActivity, callTwoActivities, outcomeOfActivity } from '../workflows.ts';

const { RetryState } = proto.temporal.api.enums.v1;

/** Scenarios of one activity attempt after another: results, retries, failures. */
export const activityScenarios: readonly Scenario[] = [
  {
    name: 'an activity completes',
    async run(stage) {
      const run = await stage.start(callActivity, ['greet', ['Perdure'], {}], { workflowRunTimeout: '60s' });
      expect(await run.handle.result()).toBe('Hello, Perdure!');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      expect(history.events.map((event) => Number(event.eventId))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);

      const scheduled = history.only('activityTaskScheduledEventAttributes');
      expect(scheduled).toMatchObject({ activityType: { name: 'greet' }, taskQueue: { name: stage.taskQueue } });
      expect(Number(scheduled.workflowTaskCompletedEventId)).toBe(4);
      // Only start-to-close was given: the rest is derived from the run timeout, and the retry policy is always written out.
      expect(secondsOf(scheduled.startToCloseTimeout)).toBe(10);
      expect(secondsOf(scheduled.scheduleToCloseTimeout)).toBe(60);
      expect(secondsOf(scheduled.scheduleToStartTimeout)).toBe(60);
      expect(scheduled.retryPolicy).toMatchObject({ backoffCoefficient: 2 });
      expect(secondsOf(scheduled.retryPolicy?.initialInterval)).toBe(1);
      expect(secondsOf(scheduled.retryPolicy?.maximumInterval)).toBe(100);

      const started = history.only('activityTaskStartedEventAttributes');
      expect(started).toMatchObject({ attempt: 1, lastFailure: null });
      expect(Number(started.scheduledEventId)).toBe(5);
      const completed = history.only('activityTaskCompletedEventAttributes');
      expect([completed.scheduledEventId, completed.startedEventId].map(Number)).toEqual([5, 6]);
      expect(history.all('workflowTaskScheduledEventAttributes').map((task) => task.attempt)).toEqual([1, 1]);
    },
  },
  {
    name: 'an activity is retried without a trace until it completes',
    async run(stage) {
      const retry = { initialInterval: 10, backoffCoefficient: 1 };
      const run = await stage.start(callActivity, ['flaky', [3], { retry }]);
      expect(await run.handle.result()).toBe('attempt 3');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const started = history.only('activityTaskStartedEventAttributes');
      expect(started).toMatchObject({
        attempt: 3,
        lastFailure: { message: 'attempt 2 failed', applicationFailureInfo: { type: 'Flaky' } },
      });
    },
  },
  {
    name: 'an activity fails when its attempts are used up',
    async run(stage) {
      const retry = { initialInterval: 10, maximumAttempts: 2 };
      const run = await stage.start(outcomeOfActivity, ['flaky', [9], { retry }]);
      expect(await run.handle.result()).toBe('ActivityFailure < ApplicationFailure');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...activityFailed,
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      expect(history.only('activityTaskStartedEventAttributes')).toMatchObject({
        attempt: 2,
        lastFailure: { message: 'attempt 1 failed' },
      });
      expect(history.only('activityTaskFailedEventAttributes')).toMatchObject({
        retryState: RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED,
        failure: { message: 'attempt 2 failed', applicationFailureInfo: { type: 'Flaky', nonRetryable: false } },
      });
    },
  },
  {
    name: 'a non-retryable failure is not retried',
    async run(stage) {
      const run = await stage.start(callActivity, ['failFor', ['no use', 'Fatal', true], {}]);
      await expect(run.handle.result()).rejects.toThrow('Workflow execution failed');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...activityFailed,
        ...workflowTask,
        'WorkflowExecutionFailed',
      ]);
      expect(history.only('activityTaskFailedEventAttributes')).toMatchObject({
        retryState: RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE,
        failure: { message: 'no use', applicationFailureInfo: { type: 'Fatal', nonRetryable: true } },
      });
      expect(history.only('workflowExecutionFailedEventAttributes')).toMatchObject({
        retryState: RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET,
        failure: {
          activityFailureInfo: { activityType: { name: 'failFor' }, retryState: RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE },
          cause: { message: 'no use' },
        },
      });
    },
  },
  {
    name: 'a failure type that the policy lists is not retried',
    async run(stage) {
      const retry = { nonRetryableErrorTypes: ['Listed'] };
      const run = await stage.start(outcomeOfActivity, ['failFor', ['listed', 'Listed', false], { retry }]);
      expect(await run.handle.result()).toBe('ActivityFailure < ApplicationFailure');
      const history = await run.history();
      expect(history.only('activityTaskStartedEventAttributes').attempt).toBe(1);
      expect(history.only('activityTaskFailedEventAttributes').retryState).toBe(RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE);
    },
  },
  {
    name: 'a failure may ask for its own delay before the next attempt',
    async run(stage) {
      const retry = { initialInterval: '1h' as const };
      const run = await stage.start(callActivity, ['failOnceWithDelay', [20], { retry }]);
      expect(await run.handle.result()).toBe('attempt 2');
      expect((await run.history()).only('activityTaskStartedEventAttributes')).toMatchObject({
        attempt: 2,
        lastFailure: { message: 'not yet' },
      });
    },
  },
  {
    name: 'two activities at once close in the order of their results',
    async run(stage) {
      const run = await stage.start(callTwoActivities, []);
      await Promise.all([run.gate('first').arrived, run.gate('second').arrived]);
      run.gate('second').open('b');
      await run.until('WorkflowTaskCompleted', 2);
      run.gate('first').open('a');
      expect(await run.handle.result()).toEqual(['a', 'b']);
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'ActivityTaskScheduled',
        'ActivityTaskScheduled',
        'ActivityTaskStarted',
        'ActivityTaskCompleted',
        ...workflowTask,
        'ActivityTaskStarted',
        'ActivityTaskCompleted',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const completed = history.all('activityTaskCompletedEventAttributes');
      expect(completed.map(({ scheduledEventId, startedEventId }) => [Number(scheduledEventId), Number(startedEventId)])).toEqual([
        [6, 7],
        [5, 12],
      ]);
    },
  },
];

const activityFailed = ['ActivityTaskScheduled', 'ActivityTaskStarted', 'ActivityTaskFailed'] as const;

function secondsOf(duration: { readonly seconds?: unknown } | null | undefined): number {
  return Number(duration?.seconds ?? 0);
}
