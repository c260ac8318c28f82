import { expect } from 'vitest';
import type { Scenario } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { enums, millisOf, numbersOf } from '../fields.ts';
import { cancelTimer, sleepFor, twoTimers, waitForCancel, waitWithTimeout } from '../workflows.ts';

/** Timers of workflows, and the timers that end a workflow. */
export const timerScenarios: readonly Scenario[] = [
  {
    name: 'a timer fires',
    async run(stage) {
      const run = await stage.start(sleepFor, [50]);
      expect(await run.handle.result()).toBe('awake');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'TimerStarted',
        'TimerFired',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const started = history.only('timerStartedEventAttributes');
      const fired = history.only('timerFiredEventAttributes');
      expect(started.timerId).toBe('1');
      expect(millisOf(started.startToFireTimeout)).toBe(50);
      expect(fired.timerId).toBe('1');
      expect(numbersOf(started.workflowTaskCompletedEventId, fired.startedEventId)).toEqual([4, 5]);
      const times = [history.event('TimerStarted'), history.event('TimerFired')].map((event) => millisOf(event.eventTime));
      expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(50);
    },
  },
  {
    name: 'two timers fire in the order of their times',
    async run(stage) {
      const run = await stage.start(twoTimers, []);
      expect(await run.handle.result()).toEqual(['early', 'late']);
      const history = await run.history();
      expect(history.types.slice(0, 6)).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'TimerStarted', 'TimerStarted']);
      expect(history.all('timerFiredEventAttributes').map(({ timerId }) => timerId)).toEqual(['2', '1']);
    },
  },
  {
    name: 'a timer is canceled',
    async run(stage) {
      const run = await stage.start(cancelTimer, []);
      expect(await run.handle.result()).toBe('CancelledFailure');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'TimerStarted',
        'TimerStarted',
        'TimerFired',
        ...workflowTask,
        'TimerCanceled',
        'WorkflowExecutionCompleted',
      ]);
      const canceled = history.only('timerCanceledEventAttributes');
      expect(canceled.timerId).toBe('1');
      expect(numbersOf(canceled.startedEventId, canceled.workflowTaskCompletedEventId)).toEqual([5, 10]);
    },
  },
  {
    name: 'a condition gives up after its timeout',
    async run(stage) {
      const run = await stage.start(waitWithTimeout, [20]);
      expect(await run.handle.result()).toBe(false);
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'TimerStarted',
        'TimerFired',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'a condition that comes true cancels its timer',
    async run(stage) {
      const run = await stage.start(waitWithTimeout, [60_000]);
      await run.until('TimerStarted');
      await run.handle.signal('go', 'now');
      expect(await run.handle.result()).toBe(true);
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'TimerStarted',
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'TimerCanceled',
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'the run timeout ends a workflow',
    async run(stage) {
      const run = await stage.start(waitForCancel, [], { workflowRunTimeout: '2s' });
      await expect(run.handle.result()).rejects.toMatchObject({ cause: { name: 'TimeoutFailure' } });
      const history = await run.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionTimedOut']);
      expect(history.only('workflowExecutionTimedOutEventAttributes')).toMatchObject({
        retryState: enums.RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET,
        newExecutionRunId: '',
      });
      const started = history.only('workflowExecutionStartedEventAttributes');
      expect([started.workflowRunTimeout, started.workflowExecutionTimeout].map(millisOf)).toEqual([2000, 0]);
    },
  },
  {
    name: 'the execution timeout ends a workflow and bounds its run timeout',
    async run(stage) {
      const run = await stage.start(waitForCancel, [], { workflowExecutionTimeout: '2s', workflowRunTimeout: '1h' });
      await expect(run.handle.result()).rejects.toMatchObject({ cause: { name: 'TimeoutFailure' } });
      const history = await run.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionTimedOut']);
      const started = history.only('workflowExecutionStartedEventAttributes');
      expect([started.workflowRunTimeout, started.workflowExecutionTimeout].map(millisOf)).toEqual([2000, 2000]);
      // Unlike the run timeout: no policy could have started another run.
      expect(history.only('workflowExecutionTimedOutEventAttributes').retryState).toBe(enums.RetryState.RETRY_STATE_TIMEOUT);
      expect(started.workflowExecutionExpirationTime).not.toBeNull();
    },
  },
  {
    name: 'a start delay holds the first workflow task back',
    async run(stage) {
      const run = await stage.start(sleepFor, [1], { startDelay: 800 });
      expect((await run.history()).types).toEqual(['WorkflowExecutionStarted']);
      expect(await run.handle.result()).toBe('awake');
      const history = await run.history();
      expect(history.types.slice(0, 4)).toEqual(['WorkflowExecutionStarted', ...workflowTask]);
      expect(millisOf(history.only('workflowExecutionStartedEventAttributes').firstWorkflowTaskBackoff)).toBe(800);
      const [started, scheduled] = history.events.map((event) => millisOf(event.eventTime));
      expect((scheduled ?? 0) - (started ?? 0)).toBeGreaterThanOrEqual(799);
    },
  },
];
