import Long from 'long';
import { expect, vi } from 'vitest';
import type { Run, Scenario, Stage } from '../harness.ts';
import { activity, workflowTask } from '../history.ts';
import { enums } from '../fields.ts';
import { callActivity, callTwoActivities, collectSignals, go, runChild, sleepFor, waitInSecondRun } from '../workflows.ts';

const { EventType, ResetReapplyExcludeType, WorkflowExecutionStatus, WorkflowTaskFailedCause } = enums;

/** Up to the first task of a run that goes on from the first task of another one. */
const goesOn = ['WorkflowExecutionStarted', 'WorkflowTaskScheduled', 'WorkflowTaskStarted', 'WorkflowTaskFailed'];
/** The event that ends the first task of every workflow here. */
const firstTask = 4;

export const resetScenarios: readonly Scenario[] = [
  {
    name: 'a closed workflow is reset to its first task, and gets its signals again',
    async run(stage) {
      const run = await stage.start(collectSignals, [2]);
      await run.until('WorkflowTaskCompleted');
      await run.handle.signal(go, 'one');
      await run.handle.signal(go, 'two');
      expect(await run.handle.result()).toEqual(['one', 'two']);
      const before = await run.history();
      const next = await reset(stage, run, firstTask, { reason: 'once more' });
      expect(await next.handle.result()).toEqual(['one', 'two']);
      const history = await next.history();
      expect(history.types.slice(0, 7)).toEqual([
        ...goesOn,
        'WorkflowExecutionSignaled',
        'WorkflowExecutionSignaled',
        'WorkflowTaskScheduled',
      ]);
      expect(history.events.slice(0, 3)).toEqual(before.events.slice(0, 3));
      expect(history.only('workflowTaskFailedEventAttributes')).toMatchObject({
        cause: WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
        failure: { message: 'once more', resetWorkflowFailureInfo: {} },
        baseRunId: run.runId,
        newRunId: next.runId,
      });
      expect((await run.history()).events).toEqual(before.events);
      const { workflowExtendedInfo: base } = await stage.describe(run)();
      expect(base?.resetRunId).toBe(next.runId);
      const { workflowExtendedInfo, workflowExecutionInfo } = await stage.describe(next)();
      expect(workflowExecutionInfo?.firstRunId).toBe(run.runId);
      expect(workflowExtendedInfo?.originalStartTime).toEqual(before.events[0]?.eventTime);
      expect(workflowExtendedInfo?.lastResetTime).toEqual(workflowExecutionInfo?.startTime);
    },
  },
  {
    name: 'a running workflow is reset without its signals, and continues in a new run',
    async run(stage) {
      const run = await stage.start(collectSignals, [2]);
      await run.until('WorkflowTaskCompleted');
      await run.handle.signal(go, 'lost');
      await run.until('WorkflowTaskCompleted', 2);
      const exclude = [ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL];
      const next = await reset(stage, run, firstTask, { resetReapplyExcludeTypes: exclude });
      const ended = await run.history();
      expect(ended.types.at(-1)).toBe('WorkflowExecutionTerminated');
      expect(ended.only('workflowExecutionTerminatedEventAttributes').identity).toBe('history-resetter');
      await run.handle.signal(go, 'one');
      await run.handle.signal(go, 'two');
      expect(await next.handle.result()).toEqual(['one', 'two']);
    },
  },
  {
    name: 'a completed activity is run again',
    async run(stage) {
      const run = await stage.start(callActivity, ['waitAtGate', ['work'], {}]);
      run.gate('work').open('done');
      expect(await run.handle.result()).toBe('done');
      const next = await reset(stage, run, firstTask);
      expect(await next.handle.result()).toBe('done');
      const again = [...goesOn, ...workflowTask, ...activity, ...workflowTask, 'WorkflowExecutionCompleted'];
      expect((await next.history()).types).toEqual(again);
    },
  },
  {
    name: 'a running activity is started again for the new run',
    async run(stage) {
      const run = await stage.start(callTwoActivities, []);
      run.gate('second').open('2');
      const history = await run.until('WorkflowTaskCompleted', 2);
      await run.gate('first').arrived;
      const next = await reset(stage, run, history.events.length);
      await pending(stage, next, { activityId: '1', attempt: 1 });
      run.gate('first').open('1');
      expect(await next.handle.result()).toEqual(['1', '2']);
    },
  },
  {
    name: 'a timer that had fired fires again',
    async run(stage) {
      const run = await stage.start(sleepFor, [50]);
      const result = await run.handle.result();
      const fired = await run.history();
      const finish = fired.types.lastIndexOf('WorkflowTaskCompleted') + 1;
      // The last task alone is repeated: what the timer did stays.
      const last = await reset(stage, run, finish);
      expect(await last.handle.result()).toEqual(result);
      expect((await last.history()).types.filter((type) => type === 'TimerFired')).toHaveLength(1);
      const first = await reset(stage, run, firstTask);
      expect(await first.handle.result()).toEqual(result);
    },
  },
  {
    name: 'a running child stays with the new run',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(runChild, [{ workflowId, mode: 'gate' }]);
      const history = await run.until('WorkflowTaskCompleted', 2);
      const child = await stage.observe(workflowId);
      await child.gate('child').arrived;
      const next = await reset(stage, run, history.types.lastIndexOf('WorkflowTaskCompleted') + 1);
      child.gate('child').open('still here');
      expect(await next.handle.result()).toBe('ok: "still here"');
      const completed = (await next.history()).only('childWorkflowExecutionCompletedEventAttributes');
      expect(completed.workflowExecution).toMatchObject({ workflowId, runId: child.runId });
    },
  },
  {
    name: 'a closed run is reset twice: each reset makes its own run',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      await run.handle.signal(go, 'one');
      await run.handle.result();
      const one = await reset(stage, run, firstTask);
      expect(await one.handle.result()).toEqual(['one']);
      const other = await reset(stage, run, firstTask);
      expect(other.runId).not.toBe(one.runId);
      expect(await other.handle.result()).toEqual(['one']);
    },
  },
  {
    name: 'an impossible reset is refused with its reason',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      await run.until('WorkflowTaskCompleted');
      const refusal = (finish: number, change: object = {}): Promise<unknown> =>
        reset(stage, run, finish, change).catch((error: unknown) => error);
      const outside = 'Workflow task finish ID must be > 1 && <= workflow last event ID.';
      expect(await refusal(1)).toMatchObject({ code: 3, details: outside });
      expect(await refusal(9)).toMatchObject({ code: 3, details: outside });
      expect(await refusal(2)).toMatchObject({ code: 3 });
      expect(await refusal(4, { requestId: '' })).toMatchObject({ code: 3, details: 'RequestId is not set on request.' });
      const workflowExecution = { workflowId: `${stage.id}-nobody` };
      expect(await refusal(4, { workflowExecution })).toMatchObject({
        code: 5,
        details: `workflow not found for ID: ${workflowExecution.workflowId}`,
      });
      const { workflowExecutionInfo } = await stage.describe(run)();
      expect(workflowExecutionInfo?.status).toBe(WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING);
      await run.handle.signal(go, 'one');
      expect(await run.handle.result()).toEqual(['one']);
    },
  },
  {
    name: 'a workflow that continued as new is reset to an earlier run, and gets the signals of the later ones',
    async run(stage) {
      const run = await stage.start(waitInSecondRun, [1]);
      await run.until('WorkflowExecutionContinuedAsNew');
      const last = await stage.observe(run.workflowId);
      await last.until('WorkflowTaskCompleted');
      await stage.client.workflow.getHandle(run.workflowId).signal(go, 'to the second');
      await last.handle.result();
      const next = await reset(stage, run, firstTask);
      const history = await next.until('WorkflowExecutionSignaled');
      const [signal] = history.events.filter(({ eventType }) => eventType === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED);
      expect(signal?.workflowExecutionSignaledEventAttributes?.signalName).toBe('go');
      const current = await stage.observe(run.workflowId);
      await current.until('WorkflowTaskCompleted');
      await stage.client.workflow.getHandle(run.workflowId).terminate();
    },
  },
];

type Change = {
  readonly reason?: string;
  readonly requestId?: string;
  readonly resetReapplyType?: number;
  readonly resetReapplyExcludeTypes?: number[];
  readonly workflowExecution?: { readonly workflowId: string };
};

export async function reset(stage: Stage, run: Run, finishEventId: number, change: Change = {}): Promise<Run> {
  const { workflowId, runId } = run;
  const { runId: next } = await stage.service.resetWorkflowExecution({
    namespace: stage.namespace,
    workflowExecution: { workflowId, runId },
    reason: 'a reason',
    requestId: crypto.randomUUID(),
    workflowTaskFinishEventId: Long.fromNumber(finishEventId),
    ...change,
  });
  return stage.observe(workflowId, next);
}

async function pending(stage: Stage, run: Run, expected: object): Promise<void> {
  const isSo = async (): Promise<void> => {
    const { pendingActivities } = await stage.describe(run)();
    expect(pendingActivities?.[0]).toMatchObject(expected);
  };
  await vi.waitFor(isSo, { timeout: 60_000, interval: 50 });
}
