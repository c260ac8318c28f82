import { expect } from 'vitest';
import type { Scenario } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { numbersOf, valuesOf } from '../fields.ts';
import { cancelActivityOnSignal, callActivity } from '../workflows.ts';

const beating = { heartbeatTimeout: '2s', cancellationType: 'WAIT_CANCELLATION_COMPLETED' } as const;

/** Cancelling an activity, by each cancellation type and in each state. */
export const activityCancellationScenarios: readonly Scenario[] = [
  {
    name: 'wait for cancellation: the activity reports what it cleaned up',
    async run(stage) {
      const run = await stage.start(cancelActivityOnSignal, ['beatUntilCancelled', beating, false]);
      await run.gate('beating').arrived;
      await run.handle.signal('go', 'now');
      expect(await run.handle.result()).toBe('ActivityFailure < CancelledFailure');
      const history = await run.history();
      expect(history.types).toEqual([
        ...scheduledAndSignalled,
        'ActivityTaskCancelRequested',
        'ActivityTaskStarted',
        'ActivityTaskCanceled',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      expect(Number(history.only('activityTaskCancelRequestedEventAttributes').scheduledEventId)).toBe(5);
      const canceled = history.only('activityTaskCanceledEventAttributes');
      expect(valuesOf(canceled.details)).toEqual(['rolled back']);
      const requestedId = history.idOf('ActivityTaskCancelRequested');
      expect(numbersOf(canceled.scheduledEventId, canceled.startedEventId, canceled.latestCancelRequestedEventId)).toEqual([
        5,
        history.idOf('ActivityTaskStarted'),
        requestedId,
      ]);
    },
  },
  {
    name: 'wait for cancellation: the activity may complete all the same',
    async run(stage) {
      const run = await stage.start(cancelActivityOnSignal, ['ignoreCancellation', beating, false]);
      await run.gate('beating').arrived;
      await run.handle.signal('go', 'now');
      expect(await run.handle.result()).toBe('ok: "finished anyway"');
      expect((await run.history()).types).toEqual([
        ...scheduledAndSignalled,
        'ActivityTaskCancelRequested',
        'ActivityTaskStarted',
        'ActivityTaskCompleted',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'try cancel: the workflow does not wait, the request stands',
    async run(stage) {
      const options = { heartbeatTimeout: '2s', cancellationType: 'TRY_CANCEL' } as const;
      const run = await stage.start(cancelActivityOnSignal, ['beatUntilCancelled', options, true]);
      await run.gate('beating').arrived;
      await run.handle.signal('go', 'now');
      await run.until('ActivityTaskCanceled');
      await run.until('WorkflowTaskCompleted', 3);
      await run.handle.signal('finish');
      expect(await run.handle.result()).toBe('ActivityFailure < CancelledFailure');
      expect((await run.history()).types).toEqual([
        ...scheduledAndSignalled,
        'ActivityTaskCancelRequested',
        'ActivityTaskStarted',
        'ActivityTaskCanceled',
        ...workflowTask,
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'abandon: the activity does not learn of it',
    async run(stage) {
      const options = { heartbeatTimeout: '2s', cancellationType: 'ABANDON' } as const;
      const run = await stage.start(cancelActivityOnSignal, ['beatUntilCancelled', options, false]);
      await run.gate('beating').arrived;
      await run.handle.signal('go', 'now');
      expect(await run.handle.result()).toBe('ActivityFailure < CancelledFailure');
      // Its heartbeat now learns that the workflow is gone: an activity that was never cancelled ends by "not found".
      expect(JSON.parse(await run.gate('stopped').opened)).toMatchObject({ notFound: true, cancelRequested: false });
      expect((await run.history()).types).toEqual([...scheduledAndSignalled, 'WorkflowExecutionCompleted']);
    },
  },
  {
    name: 'an activity that has not started is canceled at once',
    async run(stage) {
      const options = { taskQueue: `${stage.id}-nobody`, cancellationType: 'WAIT_CANCELLATION_COMPLETED' } as const;
      const run = await stage.start(cancelActivityOnSignal, ['greet', options, false]);
      await run.until('ActivityTaskScheduled');
      await run.handle.signal('go', 'now');
      expect(await run.handle.result()).toBe('ActivityFailure < CancelledFailure');
      const history = await run.history();
      expect(history.types).toEqual([
        ...scheduledAndSignalled,
        'ActivityTaskCancelRequested',
        'ActivityTaskCanceled',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const canceled = history.only('activityTaskCanceledEventAttributes');
      expect(valuesOf(canceled.details)).toEqual(['ACTIVITY_ID_NOT_STARTED']);
      expect(Number(canceled.startedEventId)).toBe(0);
    },
  },
  {
    name: 'an activity learns by its heartbeat that the workflow was terminated',
    async run(stage) {
      const run = await stage.start(callActivity, ['beatUntilCancelled', [], { heartbeatTimeout: '2s' }]);
      await run.gate('beating').arrived;
      await run.handle.terminate('enough');
      expect(JSON.parse(await run.gate('stopped').opened)).toMatchObject({ notFound: true });
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'ActivityTaskScheduled',
        'WorkflowExecutionTerminated',
      ]);
    },
  },
];

const scheduledAndSignalled = [
  'WorkflowExecutionStarted',
  ...workflowTask,
  'ActivityTaskScheduled',
  'WorkflowExecutionSignaled',
  ...workflowTask,
] as const;
