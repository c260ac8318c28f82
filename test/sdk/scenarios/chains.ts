import { TimeoutFailure } from '@temporalio/common';
import { expect } from 'vitest';
import { enums, numbersOf, valuesOf } from '../fields.ts';
import type { Run, Scenario, Stage } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { everySecond, failUntil, retryChild, seen, waitForCancel } from '../workflows.ts';

const { ContinueAsNewInitiator, RetryState } = enums;
const retry = { initialInterval: '1s', maximumAttempts: 3 } as const;
const runThatFails = ['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionFailed'];

/** One run after the other: by a retry policy, and by a cron schedule. */
export const chainScenarios: readonly Scenario[] = [
  {
    name: 'a workflow is retried until it completes, and its client gets the result of the last run',
    async run(stage) {
      const run = await stage.start(failUntil, [3], { retry, memo: { note: 'kept' } });
      expect(await run.handle.result()).toBe('attempt 3, after: attempt 2 failed');
      const history = await run.history();
      expect(history.types).toEqual(runThatFails);
      const failed = history.only('workflowExecutionFailedEventAttributes');
      expect(failed).toMatchObject({ retryState: RetryState.RETRY_STATE_IN_PROGRESS, failure: { message: 'attempt 1 failed' } });
      const third = (await runsOf(stage, run)).at(-1)!;
      const started = (await third.history()).only('workflowExecutionStartedEventAttributes');
      expect(started).toMatchObject({
        ...{ attempt: 3, initiator: ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_RETRY, firstExecutionRunId: run.runId },
        ...{ continuedFailure: { message: 'attempt 2 failed' }, retryPolicy: { backoffCoefficient: 2, maximumAttempts: 3 } },
      });
      expect(numbersOf(started.firstWorkflowTaskBackoff?.seconds)).toEqual([2]);
      expect(valuesOf(started.input)).toEqual([3]);
      const { workflowExecutionInfo: info } = await stage.describe(third)();
      expect([info?.firstRunId, Object.keys(info?.memo?.fields ?? {})]).toEqual([run.runId, ['note']]);
    },
  },
  {
    name: 'a workflow with one attempt is not retried',
    async run(stage) {
      const run = await stage.start(failUntil, [2], { retry: { maximumAttempts: 1 } });
      await expect(run.handle.result()).rejects.toMatchObject({ cause: { message: 'attempt 1 failed' } });
      const failed = (await run.history()).only('workflowExecutionFailedEventAttributes');
      expect(failed).toMatchObject({ retryState: RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED, newExecutionRunId: '' });
    },
  },
  {
    name: 'a non-retryable failure, or one that the policy lists, ends the chain',
    async run(stage) {
      for (const [name, nonRetryable, nonRetryableErrorTypes] of [
        ['said', true, []],
        ['listed', false, ['Passing']],
      ] as const) {
        const options = { workflowId: `${stage.id}-${name}`, retry: { ...retry, nonRetryableErrorTypes: [...nonRetryableErrorTypes] } };
        const run = await stage.start(failUntil, [2, nonRetryable], options);
        await expect(run.handle.result()).rejects.toMatchObject({ cause: { message: 'attempt 1 failed' } });
        const failed = (await run.history()).only('workflowExecutionFailedEventAttributes');
        expect(failed).toMatchObject({ retryState: RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE, newExecutionRunId: '' });
      }
    },
  },
  {
    name: 'a run that times out is retried',
    async run(stage) {
      const run = await stage.start(waitForCancel, [], { workflowRunTimeout: '1s', retry: { maximumAttempts: 2, initialInterval: '1s' } });
      await expect(run.handle.result()).rejects.toMatchObject({ cause: expect.any(TimeoutFailure) as unknown });
      const [first, second] = await runsOf(stage, run);
      const states = [];
      for (const one of [first!, second!]) {
        states.push((await one.history()).only('workflowExecutionTimedOutEventAttributes').retryState);
      }
      expect(states).toEqual([RetryState.RETRY_STATE_IN_PROGRESS, RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED]);
      const started = (await second!.history()).only('workflowExecutionStartedEventAttributes');
      expect(started.continuedFailure).toMatchObject({ message: 'workflow timeout', timeoutFailureInfo: {} });
    },
  },
  {
    name: 'a child is retried, and its parent learns only of the last run',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(retryChild, [workflowId, 2]);
      expect(await run.handle.result()).toBe('ok: "attempt 2, after: attempt 1 failed"');
      const history = await run.history();
      expect(history.types.filter((type) => type.startsWith('Child'))).toEqual([
        'ChildWorkflowExecutionStarted',
        'ChildWorkflowExecutionCompleted',
      ]);
      const { workflowExecution: first } = history.only('childWorkflowExecutionStartedEventAttributes');
      const { workflowExecution: last } = history.only('childWorkflowExecutionCompletedEventAttributes');
      const child = await stage.observe(workflowId, first?.runId ?? '');
      expect((await child.history()).nextRunId).toBe(last?.runId);
    },
  },
  {
    name: 'a cron schedule: one run after another, with the last result and the last failure, until it is canceled',
    async run(stage) {
      const run = await stage.start(everySecond, [], { cronSchedule: '@every 1s' });
      const third = await nthRun(stage, run, 3);
      await third.until('WorkflowTaskCompleted');
      await third.handle.signal('go', 'x');
      expect(await third.handle.query(seen)).toEqual(['7', 'the second fails', '1']);
      await run.handle.cancel();
      await expect(run.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      const runs = await runsOf(stage, run);
      const histories = [];
      for (const one of runs) histories.push(await one.history());
      const startedOf = histories.map((history) => history.only('workflowExecutionStartedEventAttributes'));
      const byCron = ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE;
      expect(startedOf.map(({ initiator, attempt, cronSchedule }) => [initiator, attempt, cronSchedule])).toEqual(
        [1, 2, 3].map(() => [byCron, 1, '@every 1s']),
      );
      expect(startedOf.map(({ lastCompletionResult }) => valuesOf(lastCompletionResult))).toEqual([[], [7], [7]]);
      expect(startedOf.map(({ continuedFailure }) => continuedFailure?.message)).toEqual([undefined, undefined, 'the second fails']);
      expect(histories.map(({ types }) => types.at(-1))).toEqual([
        'WorkflowExecutionCompleted',
        'WorkflowExecutionFailed',
        'WorkflowExecutionCanceled',
      ]);
    },
  },
  {
    name: 'a workflow on a cron schedule is canceled before its time: it runs at once',
    async run(stage) {
      const run = await stage.start(waitForCancel, [], { cronSchedule: '0 0 1 1 *' });
      await run.handle.cancel();
      await expect(run.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        'WorkflowExecutionCancelRequested',
        ...workflowTask,
        'WorkflowExecutionCanceled',
      ]);
    },
  },
];

/** Of the chain, in order. */
async function runsOf(stage: Stage, first: Run): Promise<readonly Run[]> {
  const runs = [first];
  for (let next = (await first.history()).nextRunId; next !== undefined;) {
    const run = await stage.observe(first.workflowId, next);
    runs.push(run);
    next = (await run.history()).nextRunId;
  }
  return runs;
}

/** Waits until that run of the chain has begun. */
async function nthRun(stage: Stage, first: Run, nth: number): Promise<Run> {
  let run = first;
  for (let at = 1; at < nth; at++) {
    const history = await run.until(at === 1 ? 'WorkflowExecutionCompleted' : 'WorkflowExecutionFailed');
    run = await stage.observe(first.workflowId, history.nextRunId);
  }
  return run;
}
