import { WorkflowContinuedAsNewError } from '@temporalio/client';
import { expect } from 'vitest';
import { enums, millisOf, payloadOf, valueOf } from '../fields.ts';
import type { Scenario } from '../harness.ts';
import { workflowTask } from '../history.ts';
import {
  cancelLocalActivity,
  childAgain,
  continueBesideChild,
  failingChildren,
  generations,
  handOn,
  nestedScopes,
  race,
  scopeWithTimeout,
  severalPatches,
  startTellingChild,
} from '../structured-workflows.ts';
import { cancelOther, collectSignals, countDown, signalOther, waitForCancel } from '../workflows.ts';

/** How work is put together: scopes, patches, children and their ids, runs that follow each other. */
export const structureScenarios: readonly Scenario[] = [
  {
    name: 'a canceled scope ends its timer and its activity, but not what is shielded',
    async run(stage) {
      const run = await stage.start(nestedScopes, []);
      await run.gate('inner').arrived;
      await run.handle.signal('go', 'x');
      expect(await run.handle.result()).toEqual(['CancelledFailure', 'ActivityFailure', 'ok: "Hello, shielded!"']);
      const { types } = await run.history();
      expect(types.filter((type) => /Timer|CancelRequested/.test(type)).toSorted()).toEqual([
        'ActivityTaskCancelRequested',
        'TimerCanceled',
        'TimerStarted',
      ]);
    },
  },
  {
    name: 'a scope with a time limit gives up its activity',
    async run(stage) {
      const run = await stage.start(scopeWithTimeout, []);
      expect(await run.handle.result()).toBe('ActivityFailure');
      expect((await run.history()).types.filter((type) => /^(Timer|Activity)/.test(type) && !type.endsWith('Started'))).toEqual([
        'ActivityTaskScheduled',
        'TimerFired',
        'ActivityTaskCancelRequested',
      ]);
    },
  },
  {
    name: 'a local activity is canceled with its scope',
    async run(stage) {
      const run = await stage.start(cancelLocalActivity, [], { workflowTaskTimeout: '2s' });
      await run.gate('local').arrived;
      await run.handle.signal('go', 'x');
      expect(await run.handle.result()).toBe('ActivityFailure');
      const { failure } = (await run.history()).only('markerRecordedEventAttributes');
      expect(failure).toMatchObject({ message: 'Activity cancelled', canceledFailureInfo: expect.anything() });
    },
  },
  {
    name: 'a signal wins against a timer, which is canceled while the workflow goes on',
    async run(stage) {
      const run = await stage.start(race, []);
      await run.until('TimerStarted');
      await run.handle.signal('go', 'first');
      expect(await run.handle.result()).toBe('Hello, first!');
      const { types } = await run.history();
      expect(types.slice(4, 9)).toEqual(['TimerStarted', 'WorkflowExecutionSignaled', ...workflowTask]);
      expect(types.filter((type) => type.startsWith('Timer'))).toEqual(['TimerStarted', 'TimerCanceled']);
    },
  },
  {
    name: 'a patch that is used twice leaves one marker, and all patches are in the search attribute',
    async run(stage) {
      const run = await stage.start(severalPatches, []);
      expect(await run.handle.result()).toEqual([true, true, true]);
      const history = await run.history();
      expect(history.types.filter((type) => type === 'MarkerRecorded')).toHaveLength(2);
      const changes = history.all('upsertWorkflowSearchAttributesEventAttributes').at(-1);
      expect(valueOf(changes?.searchAttributes?.indexedFields?.['TemporalChangeVersion'])).toEqual(['one', 'two']);
      expect((await run.handle.describe()).searchAttributes).toMatchObject({ TemporalChangeVersion: ['one', 'two'] });
    },
  },
  {
    name: 'a child may have the id of one that has ended, unless its policy forbids that',
    async run(stage) {
      const free = await stage.start(childAgain, [{ workflowId: `${stage.id}-free` }]);
      expect(await free.handle.result()).toEqual(['ok: "from the child"', 'ok: "from the child"']);
      const options = { workflowId: `${stage.id}-once`, workflowIdReusePolicy: 'REJECT_DUPLICATE' } as const;
      const once = await stage.start(childAgain, [options], { workflowId: `${stage.id}-second` });
      expect(await once.handle.result()).toEqual(['ok: "from the child"', 'WorkflowExecutionAlreadyStartedError']);
      const { cause } = (await once.history()).only('startChildWorkflowExecutionFailedEventAttributes');
      expect(cause).toBe(enums.StartChildWorkflowExecutionFailedCause.START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS);
    },
  },
  {
    name: 'a child knows its memo, attributes, timeouts, parent and root',
    async run(stage) {
      const options = {
        workflowId: `${stage.id}-child`,
        memo: { note: 'for the child' },
        searchAttributes: { SdkInt: [5] },
        workflowRunTimeout: '30s',
        workflowTaskTimeout: '7s',
      } as const;
      const run = await stage.start(startTellingChild, [options]);
      expect(await run.handle.result()).toEqual({
        ...{ memo: { note: 'for the child' }, searchAttributes: { SdkInt: [5] }, runTimeoutMs: 30_000, taskTimeoutMs: 7_000 },
        ...{ parent: run.workflowId, root: run.workflowId },
      });
      const initiated = (await run.history()).only('startChildWorkflowExecutionInitiatedEventAttributes');
      expect([millisOf(initiated.workflowRunTimeout), millisOf(initiated.workflowTaskTimeout)]).toEqual([30_000, 7_000]);
    },
  },
  {
    name: 'a parent continues while one of its children fails and another completes',
    async run(stage) {
      const run = await stage.start(failingChildren, [stage.id]);
      expect(await run.handle.result()).toEqual(['ChildWorkflowFailure', 'ok: "attempt 1, after: nothing"']);
      const { types } = await run.history();
      expect(types.filter((type) => type.startsWith('Child') && !type.endsWith('Started')).toSorted()).toEqual([
        'ChildWorkflowExecutionCompleted',
        'ChildWorkflowExecutionFailed',
      ]);
    },
  },
  {
    name: 'the end of a workflow ends its child, and the child of that',
    async run(stage) {
      const ids = [`${stage.id}-child`, `${stage.id}-grandchild`];
      const run = await stage.start(generations, [ids]);
      await run.until('ChildWorkflowExecutionStarted');
      const child = await stage.observe(ids[0]!);
      await child.until('ChildWorkflowExecutionStarted');
      const grandchild = await stage.observe(ids[1]!);
      const started = (await grandchild.history()).only('workflowExecutionStartedEventAttributes');
      expect(started).toMatchObject({
        parentWorkflowExecution: { workflowId: ids[0] },
        rootWorkflowExecution: { workflowId: run.workflowId },
      });
      await run.handle.terminate('enough');
      await grandchild.until('WorkflowExecutionTerminated');
      for (const each of [child, grandchild]) {
        expect((await each.history()).only('workflowExecutionTerminatedEventAttributes').reason).toBe('by parent close policy');
      }
    },
  },
  {
    name: 'an abandoned child continues beside the next run of its parent',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(continueBesideChild, [workflowId, 1]);
      expect(await run.handle.result()).toBe('run 2');
      const child = await stage.observe(workflowId);
      expect((await child.handle.describe()).status.name).toBe('RUNNING');
      await child.handle.signal('finish');
      await child.handle.result();
    },
  },
  {
    name: 'the next run has memo, attributes and timeouts of the last one, unless it sets its own',
    async run(stage) {
      const options = { memo: { note: 'kept' }, searchAttributes: { SdkInt: [1] }, workflowRunTimeout: '50s' } as const;
      const same = await stage.start(handOn, [1, 'nothing'], options);
      const { taskQueue } = stage;
      const told = { taskQueue, continued: true };
      expect(await same.handle.result()).toEqual({
        memo: { note: 'kept' },
        searchAttributes: { SdkInt: [1] },
        runTimeoutMs: 50_000,
        ...told,
      });
      const other = await stage.start(handOn, [1, 'everything'], { ...options, workflowId: `${stage.id}-other` });
      expect(await other.handle.result()).toEqual({
        memo: { note: 'changed' },
        searchAttributes: { SdkInt: [2] },
        runTimeoutMs: 40_000,
        ...told,
      });
    },
  },
  {
    name: 'a caller that waits for one run learns that it continued as new',
    async run(stage) {
      const run = await stage.start(countDown, [2]);
      await run.handle.result();
      const first = stage.client.workflow.getHandle(run.workflowId, run.runId);
      const alone = stage.client.workflow.result(run.workflowId, run.runId, { followRuns: false });
      await expect(alone).rejects.toBeInstanceOf(WorkflowContinuedAsNewError);
      expect((await first.describe()).status.name).toBe('CONTINUED_AS_NEW');
    },
  },
  {
    name: 'a workflow can neither cancel nor signal itself through the server',
    async run(stage) {
      const signals = await stage.start(signalOther, [stage.id, 'to myself']);
      const cancels = await stage.start(cancelOther, [`${stage.id}-self`], { workflowId: `${stage.id}-self` });
      expect([await signals.handle.result(), await cancels.handle.result()]).toEqual(['ApplicationFailure', 'ApplicationFailure']);
      expect((await signals.history()).types).toContain('SignalExternalWorkflowExecutionFailed');
      expect((await cancels.history()).types).toContain('RequestCancelExternalWorkflowExecutionFailed');
    },
  },
  {
    name: 'the reasons of a cancel and of a termination can be read',
    async run(stage) {
      const run = await stage.start(waitForCancel, []);
      await stage.service.terminateWorkflowExecution({
        namespace: stage.namespace,
        workflowExecution: { workflowId: run.workflowId },
        reason: 'no longer needed',
        details: { payloads: [payloadOf({ ticket: 7 })] },
        identity: 'me',
      });
      const error = await run.handle.result().catch((caught: unknown) => caught);
      expect(error).toMatchObject({ cause: { name: 'TerminatedFailure', message: 'no longer needed' } });
      const terminated = (await run.history()).only('workflowExecutionTerminatedEventAttributes');
      expect(valueOf(terminated.details?.payloads?.[0])).toEqual({ ticket: 7 });
      const canceled = await stage.start(collectSignals, [1], { workflowId: `${stage.id}-canceled` });
      await stage.service.requestCancelWorkflowExecution({
        namespace: stage.namespace,
        workflowExecution: { workflowId: canceled.workflowId },
        reason: 'changed my mind',
        identity: 'me',
      });
      await canceled.handle.result().catch(() => undefined);
      expect((await canceled.history()).only('workflowExecutionCancelRequestedEventAttributes')).toMatchObject({
        cause: 'changed my mind',
        identity: 'me',
      });
    },
  },
];
